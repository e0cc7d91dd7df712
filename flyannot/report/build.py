"""From the folder of a run to its report."""

from contextlib import ExitStack
from dataclasses import asdict

import numpy as np

from flyannot.descriptors.options import ExtractOptions
from flyannot.errors import DataError, InputError
from flyannot.report.atoms import atom_sheet
from flyannot.report.groups import group_entries
from flyannot.report.html import ASSETS, asset
from flyannot.report.maps import MapMaker
from flyannot.report.page import Page, made_from, write_page
from flyannot.report.pictures import embryo_jpeg
from flyannot.report.run_folder import open_run
from flyannot.report.sections import (
    dictionary_section,
    groups_section,
    provenance_section,
    scores_section,
    sentence,
    sheet_styles,
)
from flyannot.report.term_ids import ids_of_run, stages_table
from flyannot.runtime.digest import digest_of_json
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.file_options import extract_options
from flyannot.steps.tasks import Outcome, Task

_SYNTHETIC = (
    "SYNTHETIC embryos: these images were drawn by a program, not photographed, and their terms are known. "
    "Nothing here says anything about real genes."
)


def report_task(folder, out, data_set, options):
    """The `flyannot.steps.tasks.Task` of the report of a run.

    Parameters
    ----------
    folder : Path, the output folder of `flyannot run`
    out : Path of the page
    data_set : Path of the data set folder, for images and curated terms; None for the one in the run's record
    options : flyannot.steps.options.ReportOptions; without an ontology, ids of terms are those in
        predictions.csv

    Raises
    ------
    InputError
        If there is nothing of a run in the folder, or `out` exists and is no report.
    """

    def why():
        with ExitStack() as stack:
            wanted = _wanted(*_opened(stack, folder, data_set, options))
        found = made_from(out)
        if found == "":
            raise InputError(f"{out} exists and is not a report", fix="name another file with -o")
        return "it is not there yet" if found is None else "" if found == wanted else "the run has changed"

    def make(execution):
        with ExitStack() as stack:
            run, ids = _opened(stack, folder, data_set, options)
            entries, page = _page(run, _wanted(run, ids), ids)
            beside = write_page(out, page, entries, jpeg_of=_jpeg_of(run))
        summary = f"its images lie in {beside}, which goes where it goes" if beside else ""
        return Outcome(out, True, summary)

    return Task(out, why, make, is_replaced=True)


def _opened(stack, folder, data_set, options):
    """The open run, and the ids of its terms."""
    run = open_run(stack, folder, data_set)
    return run, ids_of_run(run, options.ontology)


def _wanted(run, ids):
    """A digest of all that the page depends on."""
    return digest_of_json([run.made_from(), [asset(name) for name in ASSETS], asdict(ids)])


def _jpeg_of(run):
    """From the path of an image to its JPEG, or None if it cannot be read any more."""
    described = run.files.get("descriptors")
    options = extract_options(described) if described else ExtractOptions()

    def jpeg_or_none(path):
        try:
            return embryo_jpeg(path, options)
        except DataError:
            return None

    return jpeg_or_none


def _page(run, wanted, ids):
    predictions = run.files.get("predictions")
    ranges = predictions.stage_ranges if predictions else ()
    sheets = {s: sheet for s in STAGE_RANGES if (sheet := atom_sheet(run, s)) is not None}
    dictionary = run.files.get("dictionary")
    traces = {
        s: tuple(dictionary.array(s, f"trace/{name}") for name in ("epoch", "objective"))
        for s in (dictionary.stage_ranges if dictionary else ())
    }
    failures = [(f.path.name, *one) for f in run.files.values() for one in f.failures]
    origin = provenance_section(list(run.files.values()), failures, [*run.notes, *ids.notes])
    sections = [
        ("groups", "Genes and their terms", _groups(run, ranges)),
        ("scores", "How good the terms are", scores_section(run.scores, ids)),
        ("dictionary", "The dictionary", dictionary_section(traces, sheets)),
        ("origin", "How it was made", origin + stages_table(ids)),
    ]
    page = Page(
        f"Run {run.folder.absolute().name}", _tiles(run, ranges), sections, _banners(run, ranges),
        sheet_styles(sheets), wanted, ids,
    )  # fmt: skip
    return group_entries(run, ranges), page


def _groups(run, ranges):
    if not ranges:
        return ""
    judged = (run.scores or {}).get("evaluated") or {}
    held_out = any(one["fold"] is not None and one["probability"] for one in judged.values())
    reasons = {MapMaker(run, s).why_not for s in ranges}
    why_not = "" if "" in reasons else reasons.pop()
    return groups_section(
        [(STAGE_RANGES.index(s), s) for s in ranges], held_out=held_out, why_no_maps=why_not
    )


def _banners(run, ranges):
    banners = [_SYNTHETIC] if _is_synthetic(run, ranges) else []
    notes = (run.scores or {}).get("notes", ())
    return banners + [sentence(note) for note in notes if note.startswith("warning")]


def _is_synthetic(run, ranges):
    drawn = any("synthetic" in run.files["predictions"].array(s, "source") for s in ranges)
    return drawn or bool((run.scores or {}).get("synthetic"))


def _tiles(run, ranges):
    tiles = []
    if ranges:
        stored = run.files["predictions"]
        genes = {
            fbgn or gene or name
            for s in ranges
            for fbgn, gene, name in zip(*(stored.array(s, f"group_{n}") for n in ("fbgn", "gene", "name")))
        }
        n_groups = sum(len(stored.array(s, "group_name")) for s in ranges)
        n_images = sum(len(stored.array(s, "image")) for s in ranges)
        tiles = [("Genes", f"{len(genes):,}", ""), ("Images", f"{n_images:,}", ""),
                 ("Groups", f"{n_groups:,}", f"a gene in a stage range: {', '.join(ranges)}")]  # fmt: skip
    if run.scores:
        overall = run.scores["summary"]["all"]
        tiles.append(("Terms judged", f"{overall['n_terms']:,}", f"of {len(run.scores['terms'])} in use"))
        tiles += _averages(overall)
    return tiles


def _averages(overall):
    for metric, name, says in (
        ("auc", "Mean AUC", "over terms; 0.5 is guessing"),
        ("sensitivity", "Mean sensitivity", "curated terms that are found"),
        ("specificity", "Mean specificity", "other terms that are left out"),
    ):
        value = overall["macro"].get(metric)
        interval = overall.get(f"{metric}_interval")
        if value is not None and np.isfinite(value):
            more = f"95% interval {interval[0]:.3f} to {interval[1]:.3f}" if interval else says
            yield name, f"{value:.3f}", more
