"""The banners at the top of the report page: how far to trust it, and what is missing."""

from flyannot.base.fates import LEFT_OUT
from flyannot.base.text import pluralise
from flyannot.pipeline.engine.inputs import has_synthetic_images
from flyannot.pipeline.models.stage_model import LOOKS_LIKE
from flyannot.report.scores_section import to_sentence
from flyannot.terms.answers import describe_weak_terms

_N_NAMED = 5  # skipped pictures that the top of the page names
_SYNTHETIC = (
    "SYNTHETIC embryos: drawn by a program, not photographed. Their terms are known, and nothing here "
    "says anything about real genes."
)


def list_banners(run, learned):
    """Return the list of the banners of a `Run`, each a text of one or two sentences.

    learned : dict from stage range to its LearnedTerms
    """
    scores = run.scores or {}
    of_images = [shown.columns for shown in run.shown_groups]
    is_drawn = has_synthetic_images(of_images) or scores.get("synthetic")
    banners = [
        _SYNTHETIC if is_drawn else "",
        describe_reliability([term for of_range in learned.values() for term in of_range]),
        _describe_other_stage_ranges([one for columns in of_images for one in columns["quality_warnings"]]),
        _describe_skipped([fate for fate in run.fates if fate.is_fault or fate.fate == LEFT_OUT]),
    ]
    warnings = [to_sentence(note) for note in scores.get("notes", ()) if note.startswith("warning")]
    return [banner for banner in banners if banner] + warnings


def describe_missing_pictures(run):
    """Return a list with a sentence on the pictures of a `Run` that its files lack; [] if they lack none."""
    missing = [
        shown.columns["image"][i]
        for shown in run.shown_groups
        for rows in shown.groups.rows
        for i in rows
        if not run.pictures.has(shown.stage_range, shown.columns, i)
    ]
    if not missing:
        return []
    have = pluralise(len(missing), "picture is", "pictures are")
    return [f"{have} missing, such as {missing[0]}: keep the files NAME-pictures.h5 beside the others."]


def describe_reliability(learned):
    """Say which terms are unreliable, or "" if none is.

    learned : list of LearnedTerms
    """
    weak = describe_weak_terms(learned)
    if not weak:
        return ""
    is_tested = any(term.auc is not None for term in learned)
    trust = "How far to trust each term stands beside its probability."
    return f"{to_sentence(weak)} {trust if is_tested else 'Take every answer as a guess.'}"


def _describe_other_stage_ranges(warnings):
    """Say how many pictures look like another stage range than their own, or "" if none does.

    warnings : list with the QualityWarnings of each picture
    """
    n = sum(any(warning.kind == LOOKS_LIKE for warning in of_image) for of_image in warnings)
    if not n:
        return ""
    look = f"{n:,} of {pluralise(len(warnings), 'picture')} {'looks' if n == 1 else 'look'}"
    return f"{look} like another stage range than the given one, for which the terms were predicted."


def _describe_skipped(skipped):
    """Say which pictures got no terms, and why, or "" if there is none.

    skipped : list of PictureFate
    """
    if not skipped:
        return ""
    named = [f"{fate.image} ({fate.reason})" for fate in skipped[:_N_NAMED]]
    got = pluralise(len(skipped), "picture was skipped and has", "pictures were skipped and have")
    rest = f", and {len(skipped) - _N_NAMED:,} more under How it was made" if len(skipped) > _N_NAMED else ""
    return f"{got} no terms: {', '.join(named)}{rest}."
