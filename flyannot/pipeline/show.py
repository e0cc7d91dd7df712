"""The terms of a model, or of its predictions, with what stands behind each: for people to judge them by."""

from dataclasses import asdict
from textwrap import wrap

from flyannot.base.text import pluralise
from flyannot.files.hdf5.description import describe_file, file_summary, first_line, skipped_lines
from flyannot.files.hdf5.model import read_train_genes
from flyannot.files.hdf5.reading import open_stored
from flyannot.terms.answers import learned_terms
from flyannot.terms.model import FEW_GENES, LEAST_GENES

_LEGEND = """\
genes: with the term, that it was learned from.  threshold: the probability above which the answer is yes;
each term has its own.  AUC: chance that a gene with the term gets a larger value than one without (0.5 is
guessing), cross-validated, with its 95 % interval; best first.  untested: fewer than {least} genes have the
term, or lack it.  nothing learned: every gene gets the probability of the threshold."""
_WIDTH = 100  # of prose
_INDENT = " " * 7
_LEAST_WIDTH = 40  # of the terms


def weak_terms(learned):
    """What of the LearnedTerms of a stage range is little to be trusted, in words; "" if nothing."""
    few = sum(term.n_genes < FEW_GENES for term in learned)
    untested = sum(term.auc is None for term in learned)
    unlearned = sum(not term.is_learned for term in learned)
    parts = []
    if few:
        parts.append(f"{few} of {pluralise(len(learned), 'term')} learned from fewer than {FEW_GENES} genes")
    if untested:
        parts.append(
            f"{untested} untested, for want of {LEAST_GENES} genes with and {LEAST_GENES} without the term"
        )
    if unlearned:
        parts.append(f"nothing was learned of {unlearned}: every gene gets the same probability")
    return "; ".join(parts)


def file_in_words(path, *, header=False):
    """A file in words: of a model and of predictions the terms, else, or with `header`, what
    `flyannot.files.hdf5.description.describe_file` says."""
    with open_stored(path) as stored:
        parts = {} if header else _read_terms(stored)
        if not parts:
            return describe_file(path)
        top = [first_line(stored), *skipped_lines(stored), *_format_top(stored, parts)]
    blocks = ["\n".join(top), *(_format_table(s, learned) for s, learned in parts.items() if learned)]
    legend = wrap(" ".join(_LEGEND.format(least=LEAST_GENES).split()), _WIDTH)
    return "\n\n".join(
        [*blocks, "\n".join([*legend, f"What it was made from: flyannot show {path} --header"])]
    )


def contents(path):
    """The same for programs: all that `file_summary` has, and the terms."""
    with open_stored(path) as stored:
        terms = {s: [asdict(term) for term in learned] for s, learned in _read_terms(stored).items()}
    return file_summary(path) | ({"terms": terms} if terms else {})


def _read_terms(stored):
    """Stage range -> its LearnedTerms; {} of a file of another kind."""
    has_terms = stored.kind in ("model", "predictions")
    return {s: learned_terms(stored, s) for s in stored.stage_ranges} if has_terms else {}


def _format_top(stored, parts):
    for stage_range, learned in parts.items():
        yield f"{stage_range:>5}: {_format_counts(stored, stage_range, learned)}"
        if weak := weak_terms(learned):
            yield from wrap(f"warning: {weak}", _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _format_counts(stored, stage_range, learned):
    terms = pluralise(len(learned), "term")
    if stored.kind == "model":
        return f"{terms}, learned from {pluralise(len(read_train_genes(stored, stage_range)), 'gene')}"
    seen_in_training, warnings = (stored.array(stage_range, n) for n in ("in_training", "quality_warnings"))
    n_groups, n_seen = len(seen_in_training), int(seen_in_training.sum())
    n_images, n_doubtful = len(warnings), sum(map(bool, warnings))
    seen = f", {n_seen} of them of genes that the model learned from" if n_seen else ""
    doubtful = f", {n_doubtful} with a quality warning" if n_doubtful else ""
    return f"{terms}; {pluralise(n_groups, 'group')}{seen}; {pluralise(n_images, 'image')}{doubtful}"


def _format_table(stage_range, learned):
    width = max(_LEAST_WIDTH, *(len(term.term) for term in learned))
    yes = f"{'yes':>7}" if learned[0].n_yes is not None else ""
    head = f"{stage_range:<{width}}{'genes':>7}{'threshold':>11}{'AUC':>10}{'95 % interval':>18}{yes}"
    ordered = sorted(learned, key=lambda term: (term.auc is None, -(term.auc or 0), term.term))
    return "\n".join([head, "-" * len(head), *(_format_term(term, width) for term in ordered)])


def _format_term(term, width):
    area = "untested" if term.auc is None else f"{term.auc:.3f}"
    interval = "" if term.auc is None else f"{term.auc_low:.3f} to {term.auc_high:.3f}"
    yes = "" if term.n_yes is None else f"{term.n_yes:>7}"
    line = f"{term.term:<{width}}{term.n_genes:>7}{term.threshold:>11.3f}{area:>10}{interval:>18}{yes}"
    return (line + ("" if term.is_learned else "  nothing learned")).rstrip()
