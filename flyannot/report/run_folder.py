"""What a run left in its folder and how that was made, and where its images and curated terms lie."""

import json
import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from flyannot import __version__
from flyannot.dataset.folder import Annotations
from flyannot.dataset.images import PicturesOfFile, find_pictures, likely_places, pictures_of
from flyannot.dataset.paths import ANNOTATIONS, has_table, table_of
from flyannot.errors import DataError, FlyannotError, InputError
from flyannot.report.templates import render
from flyannot.runtime.digest import digest_of_file, digest_of_json
from flyannot.runtime.text_files import read_json
from flyannot.runtime.wording import pluralise
from flyannot.steps.curated_terms import curated_annotations_of
from flyannot.steps.engine.configuration import read_record, recorded_data_set
from flyannot.store.reading import Stored, open_stored
from flyannot.store.schema import MADE_BY

KINDS = ("descriptors", "dictionary", "features", "model", "predictions")
SCORES = "scores.json"


@dataclass(frozen=True)
class Run:
    """An open run.

    files : dict from kind to `Stored`, those of KINDS that are there; scores : dict or None
    annotations : Annotations or None
    pictures : Pictures of the predictions; learned_pictures : of what the dictionary was learned from
    notes : sentences on what is missing
    data_set_name : of its folder as recorded; where that is not known, of the folder named, or of the run
    """

    folder: Path
    files: dict = field(default_factory=dict)
    scores: dict | None = None
    annotations: Annotations | None = None
    pictures: PicturesOfFile = PicturesOfFile()
    learned_pictures: PicturesOfFile = PicturesOfFile()
    notes: list = field(default_factory=list)
    data_set_name: str = ""

    def stored(self, kind, stage_range):
        """The open file of a kind if it holds the stage range, else None."""
        found: Stored | None = self.files.get(kind)
        return found if found is not None and stage_range in found.stage_ranges else None

    def made_from(self):
        """A digest of all that a page on this run depends on; the images count through the predictions."""
        annotations = [
            sorted((list(k), sorted(v)) for k, v in found.items()) for found in _terms(self.annotations)
        ]
        parts = [{kind: file.digest for kind, file in self.files.items()}, self.scores, annotations]
        paths = [*self.pictures.paths.values(), *self.learned_pictures.paths.values()]
        places = sorted(os.path.relpath(path, self.folder) for path in paths)
        return digest_of_json([__version__, *parts, places, self.notes])

    @property
    def place_in_words(self):
        """Where the pictures of the predictions lie, from the run's folder."""
        place = self.pictures.place
        return "" if place is None else Path(os.path.relpath(place, self.folder)).as_posix()


def open_run(stack: ExitStack, folder, data_set=None):
    """Open what is in the output folder of `flyannot run`; the stack closes it.

    Parameters
    ----------
    stack : contextlib.ExitStack
    folder : Path
    data_set : Path of the data set folder; None for the one that the run's record names

    Raises
    ------
    InputError
        If there is nothing of a run in the folder, or the data set named cannot be read.
    DataError
        If a file is damaged.
    """
    paths = {kind: folder / f"{kind}.h5" for kind in KINDS}
    files = {k: stack.enter_context(open_stored(p, k)) for k, p in paths.items() if p.is_file()}
    scores = _scores(folder / SCORES)
    if not files and scores is None:
        raise InputError(
            f"{folder} holds nothing of a run: no {SCORES}, no {'.h5, no '.join(KINDS)}.h5",
            fix="name the output folder of: flyannot run CONFIG",
        )
    notes = _missing(files, scores)
    pictures, learned = _all_pictures(folder, files, data_set, notes)
    annotations = _annotations(
        folder, pictures.place, files.get("model"), notes, is_named=data_set is not None
    )
    recorded = _whole_record(folder).get("data-set")
    name = Path(os.path.normpath(folder / recorded) if recorded else data_set or folder).absolute().name
    return Run(folder, files, scores, annotations, pictures, learned, notes, name)


def _all_pictures(folder, files, data_set, notes):
    """The Pictures of the predictions, and those that the dictionary was learned from."""
    predicted, learned = (pictures_of(files.get(kind)) for kind in ("predictions", "descriptors"))
    named = data_set or recorded_data_set(folder)
    try:
        found = [find_pictures(wanted, folder, named) for wanted in (predicted, learned)]
    except FlyannotError as error:
        if data_set is not None:
            raise
        notes.append(f"The data set of the run cannot be read: {error.message}.")
        found = [PicturesOfFile(n_wanted=len(predicted)), PicturesOfFile()]
    if data_set is not None and (predicted | learned) and not any(one.paths for one in found):
        raise InputError(
            f"{data_set} has none of the {pluralise(len(predicted | learned), 'picture')} of {folder}",
            fix="name the folder of the pictures, or the data set folder with its images.csv",
        )
    for number, wanted in enumerate((predicted, learned)):
        if not found[number].paths:  # moved, or never named
            found[number] = find_pictures(wanted, folder)
    return found


def _annotations(folder, place, model, notes, *, is_named):
    """The curated terms beside the pictures, else those that the model was trained on; None without."""
    beside = [] if place is None else [place if place.is_dir() else place.parent]
    digests = [] if model is None else model.inputs.get("annotations", [])
    near = (one for one in likely_places(folder) if _digest_of_table(one) in digests)
    table = next((one for one in (*beside, *near) if has_table(one, ANNOTATIONS)), None)
    if table is None:
        notes.append(f"There is no {ANNOTATIONS} beside the pictures: curated terms are left out.")
        return None
    try:
        corrections = _recorded_corrections(folder, notes)
        annotations, changes = curated_annotations_of(table, corrections=corrections)
    except FlyannotError as error:
        if is_named:
            raise
        notes.append(f"Curated terms are left out: {error.message}.")
        return None
    notes += [f"{sentence}." for sentence in changes]
    return annotations


def _recorded_corrections(folder, notes):
    """The tables of corrections that the run learned with, by its record; none if one is gone."""
    record = _whole_record(folder)
    paths = [Path(os.path.normpath(folder / p)) for p in record.get("classify", {}).get("corrections", [])]
    gone = [path.name for path in paths if not path.is_file()]
    if gone:
        notes.append(f"{', '.join(gone)} is not there any more: curated terms are shown without corrections.")
    return [] if gone else paths


def _digest_of_table(folder):
    return digest_of_file(table_of(folder, ANNOTATIONS)) if has_table(folder, ANNOTATIONS) else ""


def _terms(annotations):
    if annotations is None:
        return ()
    return annotations.terms_by_gene, annotations.unsure, annotations.known_only


def _scores(path):
    if not path.is_file():
        return None
    fix = "make it again with: flyannot evaluate --json"
    scores = read_json(path, what="scores", fix=fix)
    try:
        _ = scores["terms"], scores["summary"]
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} does not hold scores", fix=fix) from error
    return scores


def _missing(files, scores):
    notes = [f"There is no {kind}.h5: what it would show is left out." for kind in KINDS if kind not in files]
    if scores is None:
        notes.append(f"There is no {SCORES}: how good the terms are is not known.")
    elif not scores.get("evaluated"):
        notes.append(f"{SCORES} holds no values of groups: there are no curves. Run flyannot evaluate again.")
    return notes


def _whole_record(folder):
    """The record of the run, {} without one, or where it is damaged and the data set was named instead."""
    try:
        return read_record(folder) or {}
    except DataError:
        return {}


def origin_section(stored_files, failures, notes, stages):
    """Which file was made from which, with all options, and what was skipped.

    Parameters
    ----------
    stored_files : list of flyannot.store.reading.Stored
    failures : list of (file, image, reason)
    notes : sentences
    stages : as `flyannot.report.term_ids.TermIds.stage_links` returns
    """
    known = {stored.digest: stored.path.name for stored in stored_files}
    return render(
        "origin.html",
        files=[_file_row(stored, known) for stored in stored_files],
        options_of={
            stored.path.name: [(_code(name), _code(json.dumps(v))) for name, v in _flat(stored.options)]
            for stored in stored_files
        },
        skipped=failures,
        notes=notes,
        stages=stages,
    )


def _file_row(stored, known):
    sources = [
        Markup("{} {}").format(role, _code(known.get(digest, digest[:12])))
        for role, digests in stored.inputs.items()
        for digest in digests
    ]
    seed = "" if stored.seed is None else str(stored.seed)
    name, made_by, digest = stored.path.name, MADE_BY[stored.kind], _code(stored.digest[:12])
    return name, made_by, stored.version, seed, digest, Markup("<br>").join(sources)


def _code(text):
    return Markup("<code>{}</code>").format(text)


def _flat(options, prefix=""):
    for name in sorted(options):
        value = options[name]
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
