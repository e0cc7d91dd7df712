"""The task that writes the report page of a run, and the functions that assemble the page."""

from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain
from shlex import quote

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.supplied import supplied_digests
from flyannot.jobs.resources import limit_blas_threads
from flyannot.pipeline.engine.failures import split_failure
from flyannot.pipeline.engine.inputs import has_synthetic_images
from flyannot.pipeline.engine.task import Outcome, Task
from flyannot.pipeline.models.stage_model import LOOKS_LIKE
from flyannot.pipeline.options import ReportOptions
from flyannot.pipeline.runs.configuration import RECORD
from flyannot.report.atoms import render_dictionary
from flyannot.report.groups import ReviewSelector, RunGroups
from flyannot.report.maps import ContributionMapper
from flyannot.report.page import PATTERNS, Page, build_review, read_page_digest, write_page
from flyannot.report.run_folder import open_run, render_origin
from flyannot.report.scores_section import render_scores, to_sentence
from flyannot.report.templates import read_all_templates, render
from flyannot.report.term_ids import find_term_ids
from flyannot.terms.answers import describe_weak_terms, expected_precision

_N_NAMED = 5  # skipped pictures that the top of the page names
_SYNTHETIC = (
    "SYNTHETIC embryos: drawn by a program, not photographed. Their terms are known, and nothing here "
    "says anything about real genes."
)


def build_task(request):
    """Build the ReportTask that writes the report page of a run, for a `StepRequest`."""
    return ReportTask(request.out.parent, request.out, None, request.options)


def build_prediction_page_task(request, task):
    """Build the ReportTask that writes NAME.html beside the predictions file NAME.h5.

    `request` is the `StepRequest` of the annotate step; its output is NAME.h5, which `task` makes.
    """
    out = request.out
    options = ReportOptions(ontology=request.options.ontology)
    banners = list(map(to_sentence, task.notes))
    model = request.inputs["model"][0]
    return ReportTask(out, out.with_suffix(".html"), None, options, model=model, banners=banners)


class ReportTask(Task):
    """The task that writes an HTML report page on a run or on a predictions file, from its files alone.

    Parameters
    ----------
    folder : Path of the output folder of the run, or of the predictions file
    out : Path of the page to write
    data_set : Path of a data set folder with curated terms, for files that no run made; None otherwise
    options : ReportOptions
    model : Path of the model that made the predictions file, if it is known
    banners : list of sentences that the top of the page has besides its own
    """

    is_replaced = True

    def __init__(self, folder, out, data_set, options, *, model=None, banners=()):
        super().__init__(out)
        self._folder = folder
        self._data_set = data_set
        self._options = options
        self._model = model
        self._banners = banners

    def _open(self, stack):
        """Open the run. Returns the Run, its TermIds, and the digest of everything that its page depends on.

        The ExitStack `stack` closes the files. Raises InputError if the folder has no file of a run.
        """
        run = open_run(stack, self._folder, self._data_set, self._model)
        ids = find_term_ids(run, self._options.ontology)
        return run, ids, json_digest([run.digest(), read_all_templates(), asdict(ids), *self._banners])

    def stale_reason(self, *, is_verified=True):
        """Return the reason why the page must be written, or "" if it is up to date.

        The digest stored in the page is compared with the digest of the run; `is_verified` is not used.
        Raises InputError if the output file exists and is not a report.
        """
        with ExitStack() as stack:
            *_, wanted = self._open(stack)
        made = read_page_digest(self.path)
        if made == "":
            raise InputError(f"{self.path} exists and is not a report", fix="name another file with -o")
        return "it is not there yet" if made is None else "" if made == wanted else "the run has changed"

    def make(self, execution):
        """Write the page. Returns an Outcome whose message says how many pictures were found.

        `execution` receives the progress, counted in groups.
        """
        with ExitStack() as stack:
            run, ids, wanted = self._open(stack)
            shown = {s: run.shown_groups(s) for s in run.stage_ranges}
            missing = describe_missing_pictures(run, shown)
            with limit_blas_threads(), execution.workers.threads():  # stage ranges side by side
                page = _build_page(run, ids, shown, wanted)
                groups = RunGroups(run, shown, ReviewSelector(run.scores))
            page.banners.extend([*missing, *self._banners])
            reads = [file.path for file in run.files.values()]
            beside = write_page(self.path, page, groups, execution=execution, reads=reads)
        said = [f"its images are in {beside}: keep this folder beside the page"] if beside else []
        return Outcome(self.path, True, "\n".join([*missing, *said]))


def describe_missing_pictures(run, shown):
    """Return a list with a sentence on the pictures of a `Run` that its files lack; [] if they lack none.

    shown : dict from stage range to the list that `Run.shown_groups` returns
    """
    missing = [
        columns["image"][i]
        for s, parts in shown.items()
        for columns, groups, _ in parts
        for rows in groups.rows
        for i in rows
        if not run.pictures.has(s, columns, i)
    ]
    if not missing:
        return []
    have = pluralise(len(missing), "picture is", "pictures are")
    return [f"{have} missing, such as {missing[0]}: keep the files NAME-pictures.h5 beside the others."]


def _build_page(run, ids, shown, wanted):
    """Assemble the Page of a run: heading, banners and sections, but not the groups.

    Parameters
    ----------
    run : Run
    ids : TermIds
    shown : dict from stage range to the list that `Run.shown_groups` returns
    wanted : str, digest of everything that the page depends on
    """
    scores = run.scores or {}
    ranges = list(shown)
    parts = [part for of_range in shown.values() for part in of_range]
    learned = {s: part[-1].learned for s, of_range in shown.items() for part in of_range if part[-1]}
    failures = [(file.path.name, *failure) for file in run.files.values() for failure in file.failures]
    drawn = has_synthetic_images(columns for columns, _, _ in parts)
    banners = [_SYNTHETIC] if drawn or scores.get("synthetic") else []
    banners += describe_reliability(learned)
    banners += describe_other_stage_ranges([columns["quality_warnings"] for columns, _, _ in parts])
    skipped = (run.files[kind].failures for kind in ("descriptors", "predictions") if kind in run.files)
    banners += describe_skipped(list(chain.from_iterable(skipped)))
    banners += [to_sentence(note) for note in scores.get("notes", ()) if note.startswith("warning")]
    answers = run.files.get("predictions")
    return Page(
        f"Expression patterns: {answers.path.stem if run.is_single else run.folder.absolute().name}",
        facts=_render_facts(ranges, [groups for _, groups, _ in parts], scores, learned),
        sections=[
            ("groups", "Genes", _render_groups(run, ranges, list(learned))),
            (PATTERNS, "Map of patterns", render("patterns.html") if ranges else ""),
            ("scores", "Scores", render_scores(run.scores, ids)),
            ("dictionary", "Dictionary", render_dictionary(run)),
            ("origin", "How it was made", render_origin(run, failures, [*run.notes, *ids.notes])),
        ],
        banners=banners,
        made_from=wanted,
        ids=ids,
        review=build_review(run),
    )


def describe_other_stage_ranges(warnings):
    """Say how many pictures look like another stage range than their own.

    `warnings` has a list for each stage range, the quality warnings of its pictures. Returns a list with one
    text, or [] if no picture does.
    """
    of_images = [of_image for of_range in warnings for of_image in of_range]
    n = sum(any(warning.kind == LOOKS_LIKE for warning in of_image) for of_image in of_images)
    if not n:
        return []
    look = f"{n:,} of {pluralise(len(of_images), 'picture')} {'looks' if n == 1 else 'look'}"
    return [f"{look} like another stage range than the given one, for which the terms were predicted."]


def describe_skipped(skipped):
    """Describe which pictures got no terms, and why.

    `skipped` has (name, reason) of each. Returns a list with one text, or [] if there is none.
    """
    if not skipped:
        return []
    named = [f"{image} ({split_failure(reason)[0]})" for image, reason in skipped[:_N_NAMED]]
    got = pluralise(len(skipped), "picture was skipped and has", "pictures were skipped and have")
    rest = f", and {len(skipped) - _N_NAMED:,} more under How it was made" if len(skipped) > _N_NAMED else ""
    return [f"{got} no terms: {', '.join(named)}{rest}."]


def describe_reliability(learned):
    """Describe which terms are unreliable.

    `learned` is a dict from stage range to its LearnedTerms. Returns a list with one text, or [] if no term
    is.
    """
    terms = [term for of_range in learned.values() for term in of_range]
    weak = describe_weak_terms(terms)
    if not weak:
        return []
    is_tested = any(term.auc is not None for term in terms)
    trust = "How far to trust each term stands beside its probability."
    return [f"{to_sentence(weak)} {trust if is_tested else 'Take every answer as a guess.'}"]


def _render_groups(run, ranges, predicted):
    """Render the HTML frame of the section of genes; the script of the page fills in the list.

    Parameters
    ----------
    run : Run
    ranges : list of the stage ranges of the page
    predicted : list of the stage ranges that have predictions
    """
    if not ranges:
        return ""
    held_out = bool(predicted) and "scores" in run.files["predictions"].inputs
    reasons = {ContributionMapper(run, s).why_not for s in predicted or ranges}
    record = f"{run.folder.absolute().name}/{RECORD}"
    return render(
        "groups.html",
        stages=[(STAGE_RANGES.index(s), s) for s in ranges],
        held_out=held_out,
        why_no_maps="" if "" in reasons else reasons.pop(),
        is_predicted=bool(predicted),
        config=quote(record) if (run.folder / RECORD).is_file() else _run_of_pictures(run, predicted),
    )


def _run_of_pictures(run, predicted):
    """Return the arguments of `flyannot run` that adapt the model of some predictions to their pictures.

    Returns CONFIG, which stands for a configuration, if there are no predictions or a run made them.

    run : Run without a record; predicted : list of the stage ranges that have predictions
    """
    inputs = run.files["predictions"].inputs if predicted else {}
    if "model" not in inputs or "scores" in inputs:
        return "CONFIG"
    digests = inputs["model"]
    name = next((name for name, digest in supplied_digests().items() if digest in digests), "MODEL.h5")
    stage_range = f" --set select.stage-range={predicted[0]}" if len(predicted) == 1 else ""
    return f"--data-set PICTURES --output learned{stage_range} --set train.adapt={name}"


def _render_facts(ranges, shown, scores, learned):
    """Render the HTML line below the title: numbers of genes and images, stage ranges, mean AUC, precision.

    Parameters
    ----------
    ranges : list of the stage ranges of the page
    shown : list of the Groups on the page
    scores : dict of the scores of the run; empty if there are none
    learned : dict from stage range to its LearnedTerms
    """
    overall = scores["summary"]["all"] if scores else {}
    has_genes = any(any(groups.gene) or any(groups.fbgn) for groups in shown)
    return render(
        "facts.html",
        n_genes=len({gene for groups in shown for gene in groups.gene_ids} if has_genes else ()),
        n_images=sum(len(rows) for groups in shown for rows in groups.rows),
        ranges=ranges,
        auc=overall.get("macro", {}).get("auc"),
        interval=overall.get("auc_interval"),
        precision=expected_precision([term for of_range in learned.values() for term in of_range]),
    )
