"""The task that makes the report of a run, and the parts of its page."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from shlex import quote

from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.paths import relative_path
from flyannot.files.digest import json_digest
from flyannot.images.options import ExtractOptions
from flyannot.pipeline.engine.inputs import has_synthetic_images, read_options
from flyannot.pipeline.engine.task import Outcome, ProgressCount, Task
from flyannot.pipeline.options import ReportOptions
from flyannot.pipeline.runs.configuration import RECORD
from flyannot.pipeline.show import describe_weak_terms
from flyannot.report.atoms import render_dictionary
from flyannot.report.drawing import encode_embryo
from flyannot.report.groups import ReviewQueue, group_entries
from flyannot.report.maps import MapMaker
from flyannot.report.page import PATTERNS, Page, build_review, read_page_digest, write_page
from flyannot.report.run_folder import open_run, render_origin
from flyannot.report.scores_section import render_scores, to_sentence
from flyannot.report.templates import read_all_templates, render
from flyannot.report.term_ids import find_term_ids
from flyannot.terms.answers import yes_precision

_SYNTHETIC = (
    "SYNTHETIC embryos: drawn by a program, not photographed. Their terms are known, and nothing here "
    "says anything about real genes."
)


def build_task(request):
    """Build the Task for a `StepRequest`."""
    return ReportTask(request.out.parent, request.out, request.inputs["data_set"][0], request.options)


def build_prediction_page_task(request):
    """Build the Task of the page NAME.html on the predictions NAME.h5 of a `StepRequest`."""
    out = request.out
    first, *others = request.inputs["images"]
    data_set = None if others or not first.is_dir() else first
    options = ReportOptions(ontology=request.options.ontology)
    return ReportTask(out, out.with_suffix(".html"), data_set, options)


class ReportTask(Task):
    """The task that makes the page on a run or on predictions.

    Parameters
    ----------
    folder : Path of the folder of the run, or of the predictions
    out : Path of the page
    data_set : Path of the folder of images and curated terms; None for the folder in the record of the run
    options : ReportOptions
    """

    is_replaced = True

    def __init__(self, folder, out, data_set, options):
        super().__init__(out)
        self._folder = folder
        self._data_set = data_set
        self._options = options

    def _open(self, stack):
        """Return the run, its TermIds and the digest of its page; InputError if the folder has no run."""
        run = open_run(stack, self._folder, self._data_set)
        ids = find_term_ids(run, self._options.ontology)
        return run, ids, json_digest([run.digest(), read_all_templates(), asdict(ids)])

    def stale_reason(self, *, is_verified=True):
        """Return why the page must be made, or ""; InputError if the output exists and is no report."""
        with ExitStack() as stack:
            *_, wanted = self._open(stack)
        made = read_page_digest(self.path)
        if made == "":
            raise InputError(f"{self.path} exists and is not a report", fix="name another file with -o")
        return "it is not there yet" if made is None else "" if made == wanted else "the run has changed"

    def make(self, execution):
        """Write the page; return an Outcome that says how many pictures were found."""
        with ExitStack() as stack:
            run, ids, wanted = self._open(stack)
            shown = {s: run.shown_groups(s) for s in run.stage_ranges}
            page = _build_page(run, ids, shown, wanted)
            n_groups = sum(len(groups) for parts in shown.values() for _, groups, _ in parts)
            count = ProgressCount(execution.progress, n_groups, "group")
            entries = _count_entries(group_entries(run, shown, ReviewQueue(run.scores)), count)
            beside = write_page(self.path, page, entries, jpeg_of=_jpeg_reader(run))
        said = [f"its images are in {beside}: keep this folder beside the page"] if beside else []
        return Outcome(self.path, True, "\n".join([*describe_pictures(run), *said]))


def describe_pictures(run):
    """Return a list of one line, or none: how many pictures were found, and how to find the others."""
    if not run.pictures.n_wanted:
        return []
    found = len(run.pictures.paths)
    line = f"{found:,} of {pluralise(run.pictures.n_wanted, 'picture')} found"
    if found:
        line += f", in {Path(relative_path(run.pictures.place, run.folder)).as_posix()}"
    if found < run.pictures.n_wanted:
        named = run.files["predictions"].path if [*run.files] == ["predictions"] else run.folder.absolute()
        line += f"; name the folder that has them: flyannot report {named.name} --data-set FOLDER"
    return [line]


def _count_entries(entries, count):
    for entry in entries:
        yield entry
        count.add()
    count.finish()


def _jpeg_reader(run):
    """Return a function from the path of an image to its JPEG, or to None if it cannot be read any more."""
    described = run.files.get("descriptors")
    options = read_options(described, ExtractOptions) if described else ExtractOptions()

    def jpeg_or_none(path):
        try:
            return encode_embryo(path, options)
        except DataError:
            return None

    return jpeg_or_none


def _build_page(run, ids, shown, wanted):
    """Build the Page; `shown` is a dict from stage range to the result of `Run.shown_groups`."""
    scores = run.scores or {}
    ranges = list(shown)
    parts = [part for of_range in shown.values() for part in of_range]
    learned = {s: part[-1].learned for s, of_range in shown.items() for part in of_range if part[-1]}
    failures = [(file.path.name, *failure) for file in run.files.values() for failure in file.failures]
    drawn = has_synthetic_images(columns for columns, _, _ in parts)
    banners = [_SYNTHETIC] if drawn or scores.get("synthetic") else []
    banners += describe_evidence(learned)
    banners += describe_pictures(run) if len(run.pictures.paths) < run.pictures.n_wanted else []
    banners += [to_sentence(note) for note in scores.get("notes", ()) if note.startswith("warning")]
    return Page(
        f"Expression patterns: {run.folder.absolute().name}",
        facts=_render_facts(ranges, [groups for _, groups, _ in parts], scores),
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


def describe_evidence(learned):
    """Return a list of one text, or none: how often a suggested term is right, and which not to trust.

    `learned` is a dict from stage range to its LearnedTerms.
    """
    terms = [term for of_range in learned.values() for term in of_range]
    sentences = []
    if (precision := yes_precision(terms)) is not None:
        sentences.append(f"In cross-validation, {100 * precision:.0f}% of the suggested terms were right.")
    if weak := describe_weak_terms(terms):
        sentences.append(to_sentence(weak))
        is_tested = any(term.auc is not None for term in terms)
        trust = "How far to trust each term stands beside its probability."
        sentences.append(trust if is_tested else "Take every answer as a guess.")
    return [" ".join(sentences)] if sentences else []


def _render_groups(run, ranges, predicted):
    """Return the section of the groups as HTML without its list, which the script of the page fills."""
    if not ranges:
        return ""
    held_out = bool(predicted) and "scores" in run.files["predictions"].inputs
    reasons = {MapMaker(run, s).why_not for s in predicted or ranges}
    record = f"{run.folder.absolute().name}/{RECORD}"
    return render(
        "groups.html",
        stages=[(STAGE_RANGES.index(s), s) for s in ranges],
        held_out=held_out,
        why_no_maps="" if "" in reasons else reasons.pop(),
        is_predicted=bool(predicted),
        config=quote(record) if (run.folder / RECORD).is_file() else "CONFIG",
    )


def _render_facts(ranges, shown, scores):
    """Return a line of HTML on what was run, and on the mean AUC."""
    overall = scores["summary"]["all"] if scores else {}
    return render(
        "facts.html",
        n_genes=len({gene for groups in shown for gene in groups.gene_ids}),
        n_images=sum(len(rows) for groups in shown for rows in groups.rows),
        ranges=ranges,
        auc=overall.get("macro", {}).get("auc"),
        interval=overall.get("auc_interval"),
    )
