"""The terms of a model or of predictions in words, with the evidence for each."""

from dataclasses import asdict
from textwrap import wrap

from flyannot.base.text import pluralise
from flyannot.files.hdf5.description import (
    describe_file,
    describe_file_as_json,
    format_skipped_images,
    format_title,
)
from flyannot.files.hdf5.model import BASE_MODEL, read_train_genes
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.supplied import measured_on
from flyannot.terms.answers import describe_weak_terms, learned_terms
from flyannot.terms.model import LEAST_GENES

_LEGEND = """\
genes: number of genes with the term that it was learned from.{threshold}  AUC: chance that a gene
with the term gets a larger value than a gene without it (0.5 is guessing), from cross-validation{measured},
with its 95% interval; best terms first.  untested: fewer than {least} genes have the term, or lack
it.  nothing learned: every gene gets the same probability."""
_THRESHOLD_LEGEND = "  threshold: the probability above which the answer is yes, for each term its own."
_WIDTH = 100  # characters of a line of prose
_INDENT = " " * 7
_LEAST_WIDTH = 40  # characters of the column of terms


def format_file(path, *, header=False):
    """Format a file: the terms of a model or of predictions, otherwise its header.

    With `header` the header is shown in any case; see `describe_file`.
    """
    stored = open_stored_file(path)
    parts = {} if header else _read_terms(stored)
    if not parts:
        return describe_file(path)
    top = [format_title(stored), *format_skipped_images(stored), *_format_top(stored, parts)]
    blocks = ["\n".join(top), *(_format_table(s, learned) for s, learned in parts.items() if learned)]
    has_thresholds = any(term.threshold is not None for learned in parts.values() for term in learned)
    more = {"measured": measured_on(stored), "threshold": _THRESHOLD_LEGEND if has_thresholds else ""}
    text = _LEGEND.format(least=LEAST_GENES, **more)
    legend = wrap(" ".join(text.split()), _WIDTH)
    return "\n\n".join(
        [*blocks, "\n".join([*legend, f"What it was made from: flyannot show {path} --header"])]
    )


def file_contents_as_json(path):
    """Return the summary of a file, and the terms of a model or of predictions, as a dict for JSON."""
    stored = open_stored_file(path)
    terms = {s: [asdict(term) for term in learned] for s, learned in _read_terms(stored).items()}
    return describe_file_as_json(path) | ({"terms": terms} if terms else {})


def _read_terms(stored):
    """Return a dict, stage range -> list of LearnedTerm, of an open file; {} if its kind has no terms."""
    has_terms = stored.kind in ("model", "predictions")
    return {s: learned_terms(stored, s) for s in stored.stage_ranges} if has_terms else {}


def _format_top(stored, parts):
    """Yield the lines on every stage range that stand above the tables of terms.

    parts : dict, stage range -> list of LearnedTerm
    """
    for stage_range, learned in parts.items():
        yield f"{stage_range:>5}: {_format_counts(stored, stage_range, learned)}"
        if weak := describe_weak_terms(learned):
            yield from wrap(f"warning: {weak}", _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _format_counts(stored, stage_range, learned):
    """Format the numbers of terms, genes and images of a stage range."""
    terms = pluralise(len(learned), "term")
    if stored.kind == "model":
        base = "".join(f"; adapted from the model {of[:12]}" for of in stored.inputs.get(BASE_MODEL, ()))
        genes = pluralise(len(read_train_genes(stored, stage_range)), "gene")
        return f"{terms}, learned from {genes}{base}"
    seen_in_training, warnings = (
        stored.read_array(stage_range, n) for n in ("in_training", "quality_warnings")
    )
    n_groups, n_seen = len(seen_in_training), int(seen_in_training.sum())
    n_images, n_doubtful = len(warnings), sum(map(bool, warnings))
    seen = f", {n_seen} of them of genes that the model learned from" if n_seen else ""
    doubtful = f", {n_doubtful} with a quality warning" if n_doubtful else ""
    return f"{terms}; {pluralise(n_groups, 'group')}{seen}; {pluralise(n_images, 'image')}{doubtful}"


def _format_table(stage_range, learned):
    """Format the table of the terms of a stage range."""
    width = max(_LEAST_WIDTH, *(len(term.term) for term in learned))
    yes = f"{'yes':>7}" if learned[0].n_yes is not None else ""
    threshold = "" if learned[0].threshold is None else f"{'threshold':>11}"
    head = f"{stage_range:<{width}}{'genes':>7}{threshold}{'AUC':>10}{'95% interval':>18}{yes}"
    ordered = sorted(learned, key=lambda term: (term.auc is None, -(term.auc or 0), term.term))
    return "\n".join([head, "-" * len(head), *(_format_term(term, width) for term in ordered)])


def _format_term(term, width):
    """Return the row of a LearnedTerm in the table of terms.

    width : number of characters of the column of names
    """
    area = "untested" if term.auc is None else f"{term.auc:.3f}"
    interval = "" if term.auc_low is None else f"{term.auc_low:.3f} to {term.auc_high:.3f}"
    yes = "" if term.n_yes is None else f"{term.n_yes:>7}"
    threshold = "" if term.threshold is None else f"{term.threshold:>11.3f}"
    line = f"{term.term:<{width}}{term.n_genes:>7}{threshold}{area:>10}{interval:>18}{yes}"
    return (line + ("" if term.is_learned else "  nothing learned")).rstrip()
