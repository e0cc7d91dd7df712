"""Corrections of several curators to one table, and how far the curators agree."""

from collections import defaultdict
from dataclasses import dataclass

from flyannot.dataset.corrections import last_of_curators, read_corrections, settle, write_corrections
from flyannot.runtime.wording import pluralise
from flyannot.scores.curation import agreements_of_curators
from flyannot.stage_ranges import STAGE_RANGES


@dataclass(frozen=True)
class Curated:
    """What several tables of corrections come to.

    settled : dict, key -> Settled; said : dict, key -> {curator: their last Correction}
    agreements : as `flyannot.scores.curation.agreements_of_curators` returns
    """

    settled: dict
    said: dict
    agreements: list

    @property
    def curators(self):
        """Curator -> how many terms they looked at."""
        counts = defaultdict(int)
        for last in self.said.values():
            for curator in last:
                counts[curator] += 1
        return dict(sorted(counts.items()))

    @property
    def disagreements(self):
        """The keys on which curators do not agree, by stage range, gene and term."""
        keys = (k for k, last in self.said.items() if len({one.verdict for one in last.values()}) > 1)
        return sorted(keys, key=lambda key: (STAGE_RANGES.index(key[1]), *key))


def curate(paths):
    """Read tables of corrections, and settle them: the latest verdict counts, of the same day none.

    Raises
    ------
    InputError
        As `flyannot.dataset.corrections.read_corrections`.
    """
    by_key = defaultdict(list)
    corrections = read_corrections(paths)
    for one in corrections:
        by_key[one.key].append(one)
    said = {key: last_of_curators(rows) for key, rows in by_key.items()}
    verdicts = defaultdict(dict)
    for key, last in said.items():
        for curator, one in last.items():
            verdicts[curator][key] = one.verdict
    return Curated(settle(corrections), said, agreements_of_curators(verdicts))


def write_curated(path, curated):
    """Write the table of what the curators come to: it teaches the same as all their tables."""
    write_corrections(path, [one.correction for one in curated.settled.values()])


def in_words(curated):
    """The agreement and every disagreement, as text."""
    who = ", ".join(f"{c} ({pluralise(n, 'term')})" for c, n in curated.curators.items())
    lines = [f"{pluralise(len(curated.curators), 'curator')}: {who}; {len(curated.settled):,} in all"]
    if curated.agreements:
        lines += ["", *_kappas(curated.agreements)]
    elif len(curated.curators) > 1:
        lines += ["no term of a gene was looked at by two curators: how far they agree is not known"]
    found = curated.disagreements
    if curated.agreements:
        lines += ["", pluralise(len(found), "disagreement")]
        lines += [f"  {_disagreement(curated, key)}" for key in found]
    return "\n".join(lines)


def _kappas(found):
    names = [one.term or "all terms" for one in found]
    pairs = [" and ".join(one.curators) for one in found]
    width, width_of_pairs = max(map(len, [*names, "term"])), max(map(len, [*pairs, "curators"]))
    yield f"{'term':<{width}}  {'curators':<{width_of_pairs}}  both  agree  kappa"
    for one, name, pair in zip(found, names, pairs):
        kappa = one.why if one.kappa is None else f"{one.kappa:5.2f}"
        yield f"{name:<{width}}  {pair:<{width_of_pairs}}  {one.n:>4}  {one.n_agree:>5}  {kappa}"


def _disagreement(curated, key):
    settled, last = curated.settled[key], curated.said[key]
    said = ", ".join(f"{curator}: {one.verdict} ({one.date})" for curator, one in sorted(last.items()))
    becomes = "unsure, for it is of the same day" if settled.is_contested else settled.correction.verdict
    return f"{settled.correction.what}: {said}; becomes {becomes}"
