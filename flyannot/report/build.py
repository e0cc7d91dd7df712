"""The task that writes the report page of a run, and the functions that assemble the page.

The parts of the page are imported when one is written, so that a run that is up to date ends soon.
"""

import re
from dataclasses import asdict
from shlex import quote

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.ontology import find_ontology, keep_ontology, read_ontology
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.supplied import measured_on, supplied_name
from flyannot.files.text_files import read_first_bytes
from flyannot.jobs.resources import limit_blas_threads
from flyannot.pipeline.engine.task import Outcome, Task
from flyannot.pipeline.options import ReportOptions
from flyannot.pipeline.runs.configuration import RECORD
from flyannot.report.run_folder import open_run, render_origin
from flyannot.report.templates import read_all_templates, render
from flyannot.report.term_ids import find_term_ids
from flyannot.terms.answers import expected_precision

_MADE_FROM = re.compile(r'<meta name="flyannot-made-from" content="([0-9a-f]*)">')
_HEAD_BYTES = 1000  # the digest of a page stands within its first bytes


def build_task(request):
    """Build the ReportTask that writes the report page of a run, for a `StepRequest`."""
    return ReportTask(request.out.parent, request.out, None, request.options)


def build_prediction_page_task(request):
    """Build the ReportTask that writes NAME.html beside the predictions file NAME.h5.

    `request` is the `StepRequest` of the annotate step; its output is NAME.h5.
    """
    out = request.out
    options = ReportOptions(ontology=request.options.ontology)
    model = request.inputs["model"][0]
    return ReportTask(out, out.with_suffix(".html"), None, options, model=model)


class ReportTask(Task):
    """The task that writes an HTML report page on a run or on a predictions file, from its files alone.

    Parameters
    ----------
    folder : Path of the output folder of the run, or of the predictions file
    out : Path of the page to write
    curated : CuratedTerms of a data set folder, for files that no run made; None otherwise
    options : ReportOptions
    model : Path of the model that made the predictions file, if it is known
    """

    is_replaced = True

    def __init__(self, folder, out, curated, options, *, model=None):
        super().__init__(out)
        self._folder = folder
        self._curated = curated
        self._options = options
        self._model = model

    def _open(self):
        """Open the run, and read the ontology, which the user named or which is kept beside predictions.

        Returns the Run, the Ontology or None, the TermIds, and the digest of everything that the page depends
        on. Raises InputError if the folder has no file of a run, or an ontology cannot be read.
        """
        run = open_run(self._folder, self._curated, self._model)
        paths = self._options.ontology
        if "predictions" in run.files:
            paths = find_ontology(run.files["predictions"].path, paths)
        ontology = read_ontology(*paths) if paths else None
        ids = find_term_ids(run, ontology)
        return run, ontology, ids, json_digest([run.digest(), read_all_templates(), asdict(ids)])

    def stale_reason(self, *, is_verified=True):
        """Return the reason why the page must be written, or "" if it is up to date.

        The digest stored in the page is compared with the digest of the run; `is_verified` is not used.
        Raises InputError if the output file exists and is not a report.
        """
        *_, wanted = self._open()
        made = read_page_digest(self.path)
        if made == "":
            raise InputError(f"{self.path} exists and is not a report", fix="name another file with -o")
        return "it is not there yet" if made is None else "" if made == wanted else "the run has changed"

    def make(self, execution):
        """Write the page. Returns an Outcome whose message says how many pictures were found.

        `execution` receives the progress, counted in groups.
        """
        from flyannot.report.banners import describe_missing_pictures
        from flyannot.report.groups import RunGroups
        from flyannot.report.page import write_page

        run, ontology, ids, wanted = self._open()
        if ontology and "predictions" in run.files:
            keep_ontology(ontology, [term for _, term in run.terms], run.files["predictions"].path)
        missing = describe_missing_pictures(run)
        with limit_blas_threads(), execution.workers.threads():  # stage ranges side by side
            groups = RunGroups(run)
            page = _build_page(run, groups, ids, missing, wanted)
        reads = [file.path for file in run.files.values()]
        beside = write_page(self.path, page, groups, execution=execution, reads=reads)
        said = [f"its images are in {beside}: keep this folder beside the page"] if beside else []
        return Outcome(self.path, True, "\n".join([*missing, *said]))


def read_page_digest(path):
    """Read the digest of the data that the report page at `path` was made from.

    Returns None if nothing exists at `path`, and "" if it is not a report page.
    """
    if not path.is_file():
        return "" if path.exists() else None
    match = _MADE_FROM.search(read_first_bytes(path, _HEAD_BYTES).decode("utf-8", "replace"))
    return match[1] if match else ""


def _build_page(run, groups, ids, more_banners, wanted):
    """Assemble the Page of a run: heading, banners and sections, but not the groups.

    Parameters
    ----------
    run : Run
    groups : RunGroups
    ids : TermIds
    more_banners : list of sentences that follow the banners on the run
    wanted : str, digest of everything that the page depends on
    """
    from flyannot.report.atoms import render_dictionary
    from flyannot.report.banners import list_banners
    from flyannot.report.page import PATTERNS, Page, build_review
    from flyannot.report.scores_section import render_calibration, render_scores

    learned = {shown.stage_range: shown.predicted.learned for shown in run.shown_groups if shown.predicted}
    return Page(
        f"Expression patterns: {run.name}",
        facts=_render_facts(run, learned),
        sections=[
            ("groups", "Genes", _render_groups(run, groups, list(learned))),
            ("gallery", "Gallery", render("gallery.html") if run.stage_ranges else ""),
            (PATTERNS, "Map of patterns", render("patterns.html") if run.stage_ranges else ""),
            ("scores", "Scores", render_scores(run.scores, ids)),
            ("calibration", "Calibration", render_calibration(run)),
            ("dictionary", "Dictionary", render_dictionary(run)),
            ("origin", "How it was made", render_origin(run, [*run.notes, *ids.notes])),
        ],
        banners=[*list_banners(run, learned), *more_banners],
        made_from=wanted,
        ids=ids,
        review=build_review(run),
    )


def _render_groups(run, groups, predicted):
    """Render the HTML frame of the section of genes; the script of the page fills in the list.

    Parameters
    ----------
    run : Run
    groups : RunGroups
    predicted : list of the stage ranges that have predictions
    """
    if not run.stage_ranges:
        return ""
    held_out = bool(predicted) and "scores" in run.files["predictions"].inputs
    reasons = {groups.why_no_maps(s) for s in predicted or run.stage_ranges}
    return render(
        "groups.html",
        stages=[(STAGE_RANGES.index(s), s) for s in run.stage_ranges],
        held_out=held_out,
        why_no_maps="" if "" in reasons else reasons.pop(),
        is_predicted=bool(predicted),
        measured=measured_on(run.files["predictions"]) if predicted else "",
        config=quote(f"{run.name}/{RECORD}") if run.has_record else _run_of_pictures(run, predicted),
    )


def _run_of_pictures(run, predicted):
    """Return the arguments of `flyannot run` that adapt the model of some predictions to their pictures.

    Returns CONFIG, which stands for a configuration, if there are no predictions or a run made them.

    run : Run without a record; predicted : list of the stage ranges that have predictions
    """
    inputs = run.files["predictions"].inputs if predicted else {}
    if "model" not in inputs or "scores" in inputs:
        return "CONFIG"
    name = supplied_name(inputs["model"]) or "MODEL.h5"
    stage_range = f" --set select.stage-range={predicted[0]}" if len(predicted) == 1 else ""
    return f"--data-set PICTURES --output learned{stage_range} --set train.adapt={name}"


def _render_facts(run, learned):
    """Render the HTML line below the title: numbers of genes and images, stage ranges, mean AUC, precision.

    run : Run; learned : dict from stage range to its LearnedTerms
    """
    overall = run.scores["summary"]["all"] if run.scores else {}
    on_page = [shown.groups for shown in run.shown_groups]
    has_genes = any(any(groups.gene) or any(groups.fbgn) for groups in on_page)
    return render(
        "facts.html",
        n_genes=len({gene for groups in on_page for gene in groups.gene_ids} if has_genes else ()),
        n_images=sum(len(rows) for groups in on_page for rows in groups.rows),
        ranges=run.stage_ranges,
        auc=overall.get("macro", {}).get("auc"),
        interval=overall.get("auc_interval"),
        precision=expected_precision([term for of_range in learned.values() for term in of_range]),
        measured=measured_on(run.files["predictions"]) if learned else "",
    )
