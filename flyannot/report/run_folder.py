"""The files that a run left in its folder, and where its pictures and curated terms are."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from flyannot import __version__
from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.folder import Annotations, read_images
from flyannot.dataset.images import FoundPictures, find_pictures, list_wanted_pictures
from flyannot.dataset.paths import ANNOTATIONS, IMAGES, has_table, relative_path, resolve_path
from flyannot.encode.groups import group_images
from flyannot.files.digest import file_digest, json_digest
from flyannot.files.hdf5.reading import StoredFile, open_stored_file, read_image_metadata
from flyannot.files.hdf5.schema import COMMAND_BY_KIND
from flyannot.images.address import photograph_name
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.inputs import read_curated_annotations, require_known_chain
from flyannot.pipeline.runs.configuration import read_record
from flyannot.report.templates import render
from flyannot.terms.answers import read_group_predictions
from flyannot.terms.group_outcomes import read_scores

SCORES = STEPS["evaluate"].makes
_PAGE_STEP = "report"  # the step that makes the page itself
_SHOWN_KINDS = ("predictions", "features")  # the page shows the groups of these files


@dataclass(frozen=True)
class Run:
    """An open run.

    files : dict from kind to the open `StoredFile`, for the files that exist
    scores : dict or None
    others : dict from the name of another output of a step to its digest
    annotations : Annotations, empty if there are none
    pictures : FoundPictures of predictions and features
    notes : sentences on what is missing
    data_set_name : name of the recorded data set folder, otherwise of the folder named, otherwise of the run
    """

    folder: Path
    files: dict = field(default_factory=dict)
    scores: dict | None = None
    others: dict = field(default_factory=dict)
    annotations: Annotations = Annotations({}, {})
    pictures: FoundPictures = FoundPictures()
    notes: list = field(default_factory=list)
    data_set_name: str = ""

    def stored(self, kind, stage_range):
        """Return the open file of a kind if it has the stage range, otherwise None."""
        stored: StoredFile | None = self.files.get(kind)
        return stored if stored is not None and stage_range in stored.stage_ranges else None

    @property
    def stage_ranges(self):
        """The stage ranges of the page, in order."""
        return [s for s in STAGE_RANGES if any(self.stored(kind, s) for kind in _SHOWN_KINDS)]

    @property
    def terms(self):
        """The set of (stage range, term) that were predicted, curated or evaluated."""
        terms = {(row["stage_range"], row["term"]) for row in (self.scores["terms"] if self.scores else ())}
        if predictions := self.files.get("predictions"):
            terms |= {
                (s, term) for s in predictions.stage_ranges for term in predictions.read_array(s, "term")
            }
        curated = self.annotations.terms_by_gene
        return terms | {(s, term) for (_, s), of_gene in curated.items() for term in of_gene}

    def shown_groups(self, stage_range):
        """Return the groups of one stage range that the page shows.

        The groups of the predictions come first, then the groups that only the features have. A picture that
        was annotated without a table has no gene in the predictions. It gets the gene and the group of the
        features, so that verdicts count for these.

        Returns
        -------
        list of (image columns, Groups, GroupPredictions or None)
        """
        parts = []
        names = set()
        group_of = {}
        features = self.stored("features", stage_range)
        if features:
            columns = read_image_metadata(features, stage_range)
            described = group_images(columns)
            group_of = {columns["image"][i]: g for g, rows in enumerate(described.rows) for i in rows}
        if stored := self.stored("predictions", stage_range):
            groups, predicted = read_group_predictions(stored, stage_range)
            for g, name in enumerate(groups.name):
                if not groups.gene[g] and name in group_of:
                    groups.gene[g] = described.gene[group_of[name]]
                    groups.name[g] = described.name[group_of[name]]
            parts.append((read_image_metadata(stored, stage_range), groups, predicted))
            names.update(groups.name)
        if features:
            others = described.subset([g for g, name in enumerate(described.name) if name not in names])
            parts += [(columns, others, None)] if len(others) else []
        return parts

    def digest(self):
        """Return a digest of all that a page on this run depends on; images count through the files."""
        curated = self.annotations
        tables = curated.terms_by_gene, curated.unsure, curated.known_only
        annotations = [sorted((list(k), sorted(v)) for k, v in table.items()) for table in tables]
        parts = [{kind: file.digest for kind, file in self.files.items()}, self.others, annotations]
        places = sorted(relative_path(path, self.folder) for path in self.pictures.paths.values())
        return json_digest([__version__, *parts, places, self.notes])


def open_run(stack: ExitStack, folder, data_set=None):
    """Open the output folder of `flyannot run`, or a predictions file; the stack closes the files.

    Parameters
    ----------
    stack : ExitStack
    folder : Path of the folder or of the predictions
    data_set : Path of the data set folder; None for the folder that the record of the run names

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If the folder has no file of a run, or the data set that is named cannot be read.
    DataError
        If a file is damaged.
    """
    if folder.is_file():  # the files beside it may be of another run
        predictions = stack.enter_context(open_stored_file(folder, "predictions"))
        pictures = _find_pictures(folder.parent, {"predictions": predictions}, data_set, None, [])
        name = (data_set or predictions.path).name
        return Run(folder.parent, {"predictions": predictions}, pictures=pictures, data_set_name=name)
    files, notes = _open_files(stack, folder)
    scores = read_scores(folder / SCORES) if (folder / SCORES).is_file() else None
    if not files and scores is None:
        names = ", no ".join([SCORES, *(path.name for path in _paths_by_kind(folder).values())])
        raise InputError(
            f"{folder} holds nothing of a run: no {names}",
            fix="name the output folder of: flyannot run CONFIG",
        )
    if scores is None:
        notes.append(f"There is no {SCORES}: how well the terms are predicted is not known.")
    elif "predictions" in files and "scores" not in files["predictions"].inputs:
        notes.append(
            f"{files['predictions'].path.name} was not made by a run: its answers look better for genes "
            "that the model was trained on than for new genes."
        )
    others = [step.makes for step in STEPS.values() if step.makes and not step.kind]
    others = [name for name in others if name != STEPS[_PAGE_STEP].makes and (folder / name).is_file()]
    record = read_record(folder) or {}
    recorded = resolve_path(folder, record["data-set"]) if "data-set" in record else None
    pictures = _find_pictures(folder, files, data_set, recorded, notes)
    corrections = [resolve_path(folder, path) for path in record.get("train", {}).get("corrections", [])]
    try:
        annotations = _read_annotations(pictures.place, corrections, notes)
    except FlyannotError as error:
        if data_set is not None:
            raise
        annotations = Annotations({}, {})
        notes.append(f"Curated terms are left out: {error.message}.")
    return Run(
        folder,
        files,
        scores,
        {name: file_digest(folder / name) for name in others},
        annotations,
        pictures,
        notes,
        data_set_name=Path(recorded or data_set or folder).absolute().name,
    )


def _paths_by_kind(folder):
    """Return the path of each kind of file; of several files of one kind, the last that exists."""
    paths: dict = {}
    for step in (step for step in STEPS.values() if step.kind):
        if step.kind not in paths or (folder / step.makes).is_file():
            paths[step.kind] = folder / step.makes
    return paths


def _open_files(stack, folder):
    """Open the HDF5 files of a run; return them by kind, with a sentence on each that is missing."""
    paths = _paths_by_kind(folder)
    files = {k: stack.enter_context(open_stored_file(p, k)) for k, p in paths.items() if p.is_file()}
    for stored in files.values():
        require_known_chain(stored)
    missing = [path.name for kind, path in paths.items() if kind not in files]
    return files, [
        f"There is no {name}: the parts of the page that need it are left out." for name in missing
    ]


def _find_pictures(folder, files, data_set, recorded, notes):
    """Find the pictures of the images that the page shows.

    Returns
    -------
    FoundPictures

    Raises
    ------
    InputError
        If the data set that is named cannot be read, or has none of the pictures.
    """
    wanted = set()
    for kind in _SHOWN_KINDS:
        wanted |= list_wanted_pictures(files.get(kind))
    try:
        pictures = find_pictures(wanted, folder, data_set or recorded)
    except FlyannotError as error:
        if data_set is not None:
            raise
        notes.append(f"The data set of the run cannot be read: {error.message}.")
        pictures = FoundPictures(n_wanted=len(wanted))
    if data_set is not None and wanted and not pictures.paths:
        raise InputError(
            f"{data_set} has none of the {pluralise(len(wanted), 'picture')} of {folder}",
            fix="name the folder of the pictures, or the data set folder with its images.csv",
        )
    return pictures if pictures.paths else find_pictures(wanted, folder)  # moved, or never named


def _read_annotations(place, corrections, notes):
    """Read annotations.csv in the folder of the pictures, and apply the corrections of the run.

    If a correction table is missing, no corrections are applied, and a sentence is appended to `notes`.
    """
    folder = place.parent if place is not None and not place.is_dir() else place
    if folder is None or not (corrections or has_table(folder, ANNOTATIONS)):
        notes.append(f"There is no {ANNOTATIONS} beside the pictures: curated terms are left out.")
        return Annotations({}, {})
    gone = [path.name for path in corrections if not path.is_file()]
    if gone:
        notes.append(f"{', '.join(gone)} is missing: curated terms are shown without corrections.")
    annotations, changes = read_curated_annotations(folder, corrections=[] if gone else corrections)
    notes += [f"{sentence}." for sentence in changes]
    return annotations


def unshown_images(run):
    """Yield (table, image, reason) for images of the data set that the page does not show.

    Images that a step skipped are left out, since the files give a reason for each of these.
    """
    if run.pictures.place is None or not has_table(run.pictures.place, IMAGES):
        return
    known = {image for stored in run.files.values() for image, _ in stored.failures}
    for kind in _SHOWN_KINDS:
        known |= {name for name, *_ in list_wanted_pictures(run.files.get(kind))}
    known |= {photograph_name(name) for name in known}
    why = "not among the images of this run: not selected, or its stage range has too few patches"
    for image in read_images(run.pictures.place):
        if image.name not in known:
            yield IMAGES, image.name, why


def render_origin(run, failures, notes):
    """Return the section on how everything was made as HTML.

    Parameters
    ----------
    run : Run
    failures : list of (file, image, reason) for images that a step skipped
    notes : sentences
    """
    stored_files = list(run.files.values())
    return render(
        "origin.html",
        files=stored_files,
        others=run.others,
        known={stored.digest: stored.path.name for stored in stored_files},
        maker=COMMAND_BY_KIND | {step.makes: f"flyannot {step.name}" for step in STEPS.values()},
        skipped=[*failures, *unshown_images(run)],
        notes=notes,
    )
