"""From the folder of a run to its report."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from shlex import quote

from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.paths import relative_path
from flyannot.files.digest import digest_of_json
from flyannot.images.options import ExtractOptions
from flyannot.pipeline.engine.inputs import is_synthetic, options_from
from flyannot.pipeline.engine.task import Outcome, ProgressCount, Task
from flyannot.pipeline.options import ReportOptions
from flyannot.pipeline.runs.configuration import RECORD
from flyannot.pipeline.show import weak_terms
from flyannot.report.atoms import dictionary_section
from flyannot.report.drawing import jpeg_for_page
from flyannot.report.groups import Queue, group_entries
from flyannot.report.maps import MapMaker
from flyannot.report.page import PATTERNS, Page, digest_in_page, review_of, write_page
from flyannot.report.run_folder import open_run, origin_section
from flyannot.report.scores_section import scores_section, sentence_on_scores
from flyannot.report.templates import all_texts, render
from flyannot.report.term_ids import ids_of_run
from flyannot.terms.answers import precision_of_yes

_SYNTHETIC = (
    "SYNTHETIC embryos: drawn by a program, not photographed. Their terms are known, and nothing here says "
    "anything about real genes."
)


def build_task(request):
    """Build the Task for a `StepRequest`."""
    return ReportTask(request.out.parent, request.out, request.inputs["data_set"][0], request.options)


def page_of_predictions(request):
    """The Task of the page NAME.html on the predictions NAME.h5 that an `StepRequest` has made."""
    (first, *others), out = request.inputs["images"], request.out
    data_set = None if others or not first.is_dir() else first
    return ReportTask(
        out, out.with_suffix(".html"), data_set, ReportOptions(ontology=request.options.ontology)
    )


class ReportTask(Task):
    """The page on the run in a folder, or on predictions.

    folder : Path of the folder, or of the predictions
    data_set : Path of the folder of images and curated terms; None for the one in the run's record
    options : ReportOptions
    """

    is_replaced = True

    def __init__(self, folder, out, data_set, options):
        super().__init__(out)
        self._folder, self._data_set, self._options = folder, data_set, options

    def _open(self, stack):
        """Return the run, its ids and the digest of its page; InputError if the folder holds no run."""
        run = open_run(stack, self._folder, self._data_set)
        ids = ids_of_run(run, self._options.ontology)
        return run, ids, digest_of_json([run.made_from(), all_texts(), asdict(ids)])

    def stale_reason(self, *, is_verified=True):
        """As of `Task`; InputError if the output exists and is no report."""
        with ExitStack() as stack:
            *_, wanted = self._open(stack)
        made = digest_in_page(self.path)
        if made == "":
            raise InputError(f"{self.path} exists and is not a report", fix="name another file with -o")
        return "it is not there yet" if made is None else "" if made == wanted else "the run has changed"

    def make(self, execution):
        with ExitStack() as stack:
            run, ids, wanted = self._open(stack)
            shown = {s: run.shown_groups(s) for s in run.stage_ranges}
            page = _page(run, ids, shown, wanted)
            n_groups = sum(len(groups) for parts in shown.values() for _, groups, _ in parts)
            count = ProgressCount(execution.progress, n_groups, "group")
            entries = _counted(group_entries(run, shown, Queue(run.scores)), count)
            beside = write_page(self.path, page, entries, jpeg_of=_jpeg_of(run))
        said = [f"its images lie in {beside}, which goes where it goes"] if beside else []
        return Outcome(self.path, True, "\n".join([*pictures_in_words(run), *said]))


def pictures_in_words(run):
    """How many of the pictures are there, and where; what to do if some are not.  A list of lines."""
    if not run.pictures.n_wanted:
        return []
    found, wanted = len(run.pictures.paths), run.pictures.n_wanted
    line = f"{found:,} of {pluralise(wanted, 'picture')} found"
    if found:
        line += f", in {Path(relative_path(run.pictures.place, run.folder)).as_posix()}"
    if found < wanted:
        named = run.files["predictions"].path if [*run.files] == ["predictions"] else run.folder.absolute()
        line += f"; name the folder that has them: flyannot report {named.name} --data-set FOLDER"
    return [line]


def _counted(entries, count):
    for entry in entries:
        yield entry
        count.add()
    count.finish()


def _jpeg_of(run):
    """From the path of an image to its JPEG, or None if it cannot be read any more."""
    described = run.files.get("descriptors")
    options = options_from(described, ExtractOptions) if described else ExtractOptions()

    def jpeg_or_none(path):
        try:
            return jpeg_for_page(path, options)
        except DataError:
            return None

    return jpeg_or_none


def _page(run, ids, shown, wanted):
    """Return the Page; `shown` maps a stage range to what `Run.shown_groups` returns."""
    files, scores, ranges = list(run.files.values()), run.scores or {}, list(shown)
    parts = [part for of_range in shown.values() for part in of_range]
    learned = {s: part[-1].learned for s, of_range in shown.items() for part in of_range if part[-1]}
    failures = [(file.path.name, *failure) for file in files for failure in file.failures]
    notes = [*run.notes, *ids.notes]
    drawn = is_synthetic(columns for columns, _, _ in parts)
    banners = [_SYNTHETIC] if drawn or scores.get("synthetic") else []
    banners += evidence_in_words(learned)
    banners += pictures_in_words(run) if len(run.pictures.paths) < run.pictures.n_wanted else []
    return Page(
        run.folder.absolute().name,
        facts=_facts(ranges, [groups for _, groups, _ in parts], scores),
        sections=[
            ("groups", "Genes", _groups(run, ranges, list(learned))),
            (PATTERNS, "Map of patterns", render("patterns.html") if ranges else ""),
            ("scores", "Scores", scores_section(run.scores, ids)),
            ("dictionary", "Dictionary", dictionary_section(run)),
            ("origin", "How it was made", origin_section(run, failures, notes)),
        ],
        banners=banners + [sentence_on_scores(n) for n in scores.get("notes", ()) if n.startswith("warning")],
        made_from=wanted,
        ids=ids,
        review=review_of(run),
    )


def evidence_in_words(learned):
    """What stands on top of how far to trust the terms: a list of one text, or of none.

    `learned` maps a stage range to its LearnedTerms.
    """
    terms, sentences = [term for of_range in learned.values() for term in of_range], []
    if (precision := precision_of_yes(terms)) is not None:
        sentences.append(f"In cross-validation {100 * precision:.0f} % of the answers yes were right.")
    if weak := weak_terms(terms):
        sentences.append(sentence_on_scores(weak))
        is_tested = any(term.auc is not None for term in terms)
        trust = "How far to trust a term is beside its probability."
        sentences.append(trust if is_tested else "Take every answer as a guess.")
    return [" ".join(sentences)] if sentences else []


def _groups(run, ranges, predicted):
    """The section of the groups without its list, which the page's script fills."""
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


def _facts(ranges, shown, scores):
    """Return what was run, and how well it did, in a line of HTML."""
    overall = scores["summary"]["all"] if scores else {}
    return render(
        "facts.html",
        n_genes=len({gene for groups in shown for gene in groups.gene_ids}),
        n_images=sum(len(rows) for groups in shown for rows in groups.rows),
        ranges=ranges,
        auc=overall.get("macro", {}).get("auc"),
        interval=overall.get("auc_interval"),
    )
