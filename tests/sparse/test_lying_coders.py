"""Coders with wrong results: they are refused, or solved again with a warning."""

import warnings
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.base.errors import FlyannotError
from flyannot.sparse.coders import CODERS, find_coder, verified
from flyannot.sparse.coders.blocks import Codes
from flyannot.sparse.coders.verified import Coder, WrongCodesWarning, choose_checked_rows
from flyannot.sparse.objective import duality_gap
from tests.planted_samples import planted, unit_rows
from tests.sparse.optimality import relative_gap

LAM, TOL = 0.2, 1e-3


def coder_that(answers, **options):
    """Return a coder that answers(samples, Z) defines: from right codes Z, it returns the coder's result."""

    def liar(samples, lam, **rules):
        return answers(samples, CODERS["cd"].solve(samples, lam, **rules).Z)

    return Coder(liar, **options)


def no_gaps(Z):
    return np.zeros(Z.shape[0])


def with_entries(Z, value):
    """Return the codes with another value for every fifth non-zero code."""
    Z = Z.copy()
    Z.data[::5] = value
    return Z


def grown(samples, Z):
    """Overwrite the norms of the samples, so that any gap seems small."""
    samples.squares[:], samples.norms[:] = 1e9, 0
    return Codes(0 * Z, no_gaps(Z))


def split(Z):
    """Return the codes with each atom twice in a row, with half the value, the last atom first."""
    order = np.concatenate([np.repeat(np.arange(a, b)[::-1], 2) for a, b in zip(Z.indptr, Z.indptr[1:])])
    return sp.csr_matrix((0.5 * Z.data[order], Z.indices[order], 2 * Z.indptr), shape=Z.shape)


LIES = {  # what a coder answers, and the words that say what was wrong
    "zeros": (lambda samples, Z: Codes(0 * Z, no_gaps(Z)), "wrong duality gaps"),
    "each atom twice": (lambda samples, Z: Codes(2 * split(Z), no_gaps(Z)), "wrong duality gaps"),
    "gaps of 0": (lambda samples, Z: Codes(0.98 * Z, no_gaps(Z)), "wrong duality gaps"),
    "gaps below 0": (lambda samples, Z: Codes(0 * Z, no_gaps(Z) - np.inf), "wrong duality gaps"),
    "huge": (lambda samples, Z: Codes(with_entries(Z, 1e20), no_gaps(Z)), "wrong duality gaps"),
    "NaN": (lambda samples, Z: Codes(with_entries(Z, np.nan), no_gaps(Z)), "codes that are not finite"),
    "infinite": (lambda samples, Z: Codes(with_entries(Z, -np.inf), None), "codes that are not finite"),
    "samples made long": (grown, "wrong duality gaps"),
}
# What is mended without a word: the coder did not say that it was good.
HONEST = {
    "right": lambda samples, Z: Codes(Z, None),
    "zeros": lambda samples, Z: Codes(0 * Z, None),
    "huge": lambda samples, Z: Codes(with_entries(Z, 1e20), None),
    "near": lambda samples, Z: Codes(Z + sp.csr_matrix(np.full(Z.shape, 1e-3, Z.dtype)), None),
    "gaps of nan": lambda samples, Z: Codes(0 * Z, no_gaps(Z) + np.nan),
    "infinite gaps": lambda samples, Z: Codes(0 * Z, no_gaps(Z) + np.inf),
    "each atom twice": lambda samples, Z: Codes(split(Z), None),
}
NONSENSE = {  # what is refused
    "atoms out of range": lambda Z: Codes(changed(Z, "indices", Z.indices + Z.shape[1]), no_gaps(Z)),
    "atoms below 0": lambda Z: Codes(changed(Z, "indices", Z.indices - Z.shape[1]), no_gaps(Z)),
    "rows that overlap": lambda Z: Codes(changed(Z, "indptr", Z.indptr[::-1]), no_gaps(Z)),
    "rows beyond the end": lambda Z: Codes(changed(Z, "indptr", 2 * Z.indptr), no_gaps(Z)),
    "other samples": lambda Z: Codes(Z[1:], no_gaps(Z)),
    "other atoms": lambda Z: Codes(Z[:, 1:], no_gaps(Z)),
    "a dense array": lambda Z: Codes(Z.toarray(), no_gaps(Z)),
    "integers": lambda Z: Codes(Z.astype(int), no_gaps(Z)),
    "another type": lambda Z: Codes(Z.astype(np.longdouble), None),
    "too few gaps": lambda Z: Codes(Z, no_gaps(Z)[1:]),
    "a matrix alone": lambda Z: Z,
    "nothing": lambda Z: None,
    "gaps of text": lambda Z: Codes(Z, np.full(Z.shape[0], "good")),
}


def changed(Z, name, array):
    """Return the codes with another array of the CSR matrix."""
    Z = Z.copy()
    setattr(Z, name, array)
    return Z


@pytest.fixture(params=[(9, np.float64), (300, np.float32)], ids=["9", "300"])
def samples(request, rng):
    n, dtype = request.param
    X, _ = planted(n, 30, 16, 3, rng)
    return X.astype(dtype), unit_rows(rng.normal(size=(30, 16))).astype(dtype)


def assert_within_tol(X, D, Z, gaps):
    exact = relative_gap(X, D, Z, LAM)
    assert (exact <= TOL).all() and (gaps >= exact - 1e-6).all()
    assert Z.has_canonical_format and Z.dtype == X.dtype


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_mended_and_said(lie, samples):
    answers, words = LIES[lie]
    with pytest.warns(WrongCodesWarning, match=f"the coder coder_that.*liar returned {words}") as said:
        Z, gaps = coder_that(answers).codes(*samples, LAM, tol=TOL)
    assert len(said) == 1
    assert_within_tol(*samples, Z, gaps)


@pytest.mark.parametrize("answer", HONEST)
def test_what_a_coder_does_not_vouch_for_is_mended_without_a_word(answer, samples):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z, gaps = coder_that(HONEST[answer]).codes(*samples, LAM, tol=TOL)
    assert_within_tol(*samples, Z, gaps)


@pytest.mark.parametrize("answer", NONSENSE)
def test_what_cannot_be_read_as_codes_is_refused(answer, samples):
    with pytest.raises(FlyannotError, match="the coder .*liar returned .*\nFix: "):
        coder_that(lambda _, Z: NONSENSE[answer](Z)).codes(*samples, LAM)


def test_codes_below_zero_are_mended_where_they_may_not_be(samples):
    X, D = samples
    for answer in (lambda _, Z: Codes(Z, no_gaps(Z)), lambda _, Z: Codes(-abs(Z), None)):
        with pytest.warns(WrongCodesWarning, match="or are negative"):
            Z, gaps = coder_that(answer, positive=True).codes(X, D, LAM, tol=TOL)
        exact = 2 * duality_gap(X, D, Z, LAM, positive=True) / np.square(X, dtype=np.float64).sum(axis=1)
        assert Z.data.min() > 0 and (exact <= TOL).all() and (gaps >= exact - 1e-6).all()


def test_a_coder_cannot_write_to_samples_and_its_own_errors_are_its_own(samples):
    def write(checked, Z):
        checked.X[0] = 0

    def fail(checked, Z):
        raise ZeroDivisionError("it is late")

    with pytest.raises(ValueError, match="read-only"):
        coder_that(write).codes(*samples, LAM)
    with pytest.raises(ZeroDivisionError, match="it is late"):
        coder_that(fail).codes(*samples, LAM)


LIARS = {  # the samples whose codes are zeros with a gap of 0, among n; the others are right
    "all but the share of a trusted coder": lambda n: np.setdiff1d(np.arange(n), choose_checked_rows(n)),
    "every second": lambda n: np.arange(0, n, 2),
    "one": lambda n: np.array([n // 3]),
}


@pytest.mark.parametrize("n", [1, 63, 2432])
@pytest.mark.parametrize("liar", LIARS)
def test_no_lie_of_an_unknown_coder_is_believed(liar, n, rng):
    X, D = planted(n, 30, 16, 3, rng)[0], unit_rows(rng.normal(size=(30, 16)))
    rows = LIARS[liar](n)
    if not len(rows):
        return

    def answer(_, Z):
        is_kept = np.ones(n)
        is_kept[rows] = 0
        return Codes(sp.csr_matrix(sp.diags(is_kept) @ Z), relative_gap(X, D, Z, LAM) * is_kept)

    with pytest.warns(WrongCodesWarning):
        Z, gaps = coder_that(answer).codes(X, D, LAM, tol=TOL)
    assert_within_tol(X, D, Z.tocsr(), gaps)


def test_an_unknown_coder_changes_neither_what_it_was_given_nor_what_it_returned(samples):
    X, D = samples
    kept = []

    def reuse(samples, lam, *, start, gram, **rules):
        start.data[:] = 7
        with pytest.raises(ValueError, match="read-only"):
            gram[0] = 7
        kept.append(CODERS["cd"].solve(samples, lam, start=None, gram=None, **rules).Z)
        kept[0].data[:] = kept[-1].data  # the first answer's own arrays, again and again
        return Codes(kept[0], None)

    coder = Coder(reuse)
    start = sp.csr_matrix(np.eye(len(X), len(D), dtype=X.dtype))
    first, _ = coder.codes(X, D, LAM, start=start, gram=D @ D.T)
    before = first.copy()
    kept[0].data[:] = 7
    assert (start.data == 1).all() and (first != before).nnz == 0


@pytest.mark.parametrize("n", [0, 1, 2, 3, 64, 2432, 100_000])
def test_the_share_is_spread_evenly_and_always_the_same(n):
    rows = np.array(choose_checked_rows(n), int)
    assert len(set(rows)) == len(rows) == min(n, 2 + n // 256)
    assert not len(rows) or (rows.min() >= 0 and rows.max() < n)
    assert (np.diff(np.sort([-1, *rows, n])) <= 3 * (n + 1) / (1 + len(rows))).all()
    assert list(choose_checked_rows(n)) == list(rows)


def test_short_calls_are_checked_from_time_to_time_and_each_after_a_lie(samples, monkeypatch):
    X, D = samples
    checked, is_honest, lies = [], verified._is_contradicted, []
    monkeypatch.setattr(verified, "_is_contradicted", lambda *a, **k: checked.append(1) or is_honest(*a, **k))
    monkeypatch.setattr(verified, "TRUSTED_MODULES", {__name__})
    honest = coder_that(lambda one, Z: Codes(0 * Z if lies else Z, relative_gap(one.X, D, Z, LAM)))
    for _ in range(64):
        honest.codes(X[:1], D, LAM)
    assert len(checked) == 1
    lies.append("from now on")
    with pytest.warns(WrongCodesWarning):
        honest.codes(X[:1], D, LAM)
    with pytest.warns(WrongCodesWarning):
        honest.codes(X[1:2], D, LAM)


def lie(samples, lam, **rules):
    return Codes(0 * CODERS["cd"].solve(samples, lam, **rules).Z, np.zeros(len(samples.X)))


zeros = Coder(lie)


class Liar:
    """A coder as an instance; its attributes have the names of attributes of a `Coder`."""

    def __init__(self):
        self.codes = self.solve = self._positive = self._name = None

    def __call__(self, *samples_and_lam, **rules):
        return lie(*samples_and_lam, **rules)


LYING_CALLABLES = {
    "a function": (lie, "lie"),
    "a partial": (partial(lie), "lie"),
    "an instance": (Liar(), ".*Liar.*"),
    "a lambda": (lambda *samples_and_lam, **rules: lie(*samples_and_lam, **rules), "<lambda>"),
    "a wrapper of a trusted coder": (wraps(CODERS["cd"].solve)(lambda *a, **k: lie(*a, **k)), "encode"),
}


@pytest.mark.parametrize("kind", LYING_CALLABLES)
def test_every_callable_that_lies_is_named_and_none_is_trusted(samples, kind):
    solve, name = LYING_CALLABLES[kind]
    with pytest.warns(WrongCodesWarning, match=f"the coder {name} returned wrong duality gaps"):
        Z, _ = Coder(solve).codes(*samples, LAM, tol=TOL)
    assert Z.nnz and not Coder(solve)._is_trusted
    with pytest.raises(FlyannotError, match=r"lambda>.* returned no Codes of a CSR matrix"):
        Coder(partial(lambda *_, **rules: solve)).codes(*samples, LAM)


def test_what_would_not_be_verified_or_would_be_ignored_is_refused(monkeypatch):
    monkeypatch.setitem(CODERS.import_paths, "mine", f"{__name__}:lie")
    with pytest.raises(FlyannotError, match="lie is not a Coder"):
        find_coder("mine")
    with pytest.raises(ValueError, match="a partial cannot set gram, tol of a coder"):
        Coder(partial(lie, tol=TOL, gram=None, other=1))


@pytest.mark.parametrize("name", sorted(verified.TRUSTED_MODULES))
def test_a_copy_of_the_file_of_a_trusted_coder_is_not_trusted(name):
    original = import_module(name)
    copied = ModuleType(f"{name}_of_mine")
    exec(Path(original.__file__).read_text(encoding="utf-8"), vars(copied))
    assert original.encode._is_trusted and not copied.encode._is_trusted
