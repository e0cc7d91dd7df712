"""The mean of the atoms over the last part of all visits, which is less noisy than long steps leave them."""

from flyannot.sparse.kernels import kernel

RISE = 3.0  # visit t counts t^(RISE - 1) times: about the last half of all visits


@kernel
def follow_mean(atoms, rules, n_visits, n_last):
    """Let the mean of D follow after the `n_last` of `n_visits` visits."""
    D, mean = atoms.D, atoms.mean
    visits = rules.n_before + rules.stands_for * n_visits
    part = D.dtype.type(min(1.0, RISE * rules.stands_for * n_last / visits))
    for j in range(len(D)):
        for k in range(D.shape[1]):
            mean[j, k] += part * (D[j, k] - mean[j, k])
