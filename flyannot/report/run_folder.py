"""What a run left in its folder and how that was made, and where its images and curated terms lie."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from flyannot import __version__
from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.folder import Annotations, read_images
from flyannot.dataset.images import PicturesOfFile, find_pictures, pictures_of_file
from flyannot.dataset.paths import ANNOTATIONS, IMAGES, has_table, path_from, relative_path
from flyannot.encode.groups import groups_of
from flyannot.files.digest import digest_of_file, digest_of_json
from flyannot.files.hdf5.reading import StoredFile, open_stored, read_image_columns
from flyannot.files.hdf5.schema import MADE_BY
from flyannot.images.address import photograph_of_embryo
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.inputs import curated_annotations_of, require_known_chain
from flyannot.pipeline.runs.configuration import read_record
from flyannot.report.templates import render
from flyannot.terms.answers import read_predicted
from flyannot.terms.group_outcomes import read_scores

SCORES = STEPS["evaluate"].makes
_PAGE_MAKER = "report"  # the step that has the page itself


_SHOWN = ("predictions", "features")  # what has the groups of the page


@dataclass(frozen=True)
class Run:
    """An open run.

    files : dict from kind to `StoredFile`, those of the steps that are there; scores : dict or None
    others : dict from the name of another output of a step to its digest
    annotations : Annotations, empty where there are none
    pictures : PicturesOfFile of predictions and features
    notes : sentences on what is missing
    data_set_name : of its folder as recorded; where that is not known, of the folder named, or of the run
    """

    folder: Path
    files: dict = field(default_factory=dict)
    scores: dict | None = None
    others: dict = field(default_factory=dict)
    annotations: Annotations = Annotations({}, {})
    pictures: PicturesOfFile = PicturesOfFile()
    notes: list = field(default_factory=list)
    data_set_name: str = ""

    def stored(self, kind, stage_range):
        """The open file of a kind if it holds the stage range, else None."""
        stored: StoredFile | None = self.files.get(kind)
        return stored if stored is not None and stage_range in stored.stage_ranges else None

    @property
    def stage_ranges(self):
        """Those of the page, in order."""
        return [s for s in STAGE_RANGES if any(self.stored(kind, s) for kind in _SHOWN)]

    @property
    def terms(self):
        """The set of (stage range, term) that were predicted, curated or evaluated."""
        terms = {(row["stage_range"], row["term"]) for row in (self.scores["terms"] if self.scores else ())}
        if predictions := self.files.get("predictions"):
            terms |= {(s, term) for s in predictions.stage_ranges for term in predictions.array(s, "term")}
        curated = self.annotations.terms_by_gene
        return terms | {(s, term) for (_, s), of_gene in curated.items() for term in of_gene}

    def shown_groups(self, stage_range):
        """The groups of the page: those of the predictions, of whatever model, and of the features those
        that these lack.  A list of (image columns, `Groups`, GroupPredictions or None).

        A picture that was annotated by itself has the gene and the group of the features: so has its verdict.
        """
        parts, names, group_of, features = [], set(), {}, self.stored("features", stage_range)
        if features:
            columns = read_image_columns(features, stage_range)
            described = groups_of(columns)
            group_of = {columns["image"][i]: g for g, rows in enumerate(described.rows) for i in rows}
        if stored := self.stored("predictions", stage_range):
            groups, predicted = read_predicted(stored, stage_range)
            for g, name in enumerate(groups.name):
                if not groups.gene[g] and name in group_of:
                    same = group_of[name]
                    groups.name[g], groups.gene[g] = described.name[same], described.gene[same]
            parts.append((read_image_columns(stored, stage_range), groups, predicted))
            names.update(groups.name)
        if features:
            others = described.subset([g for g, name in enumerate(described.name) if name not in names])
            parts += [(columns, others, None)] if len(others) else []
        return parts

    def made_from(self):
        """A digest of all that a page on this run depends on; the images count through these files."""
        curated = self.annotations
        tables = curated.terms_by_gene, curated.unsure, curated.known_only
        annotations = [sorted((list(k), sorted(v)) for k, v in table.items()) for table in tables]
        parts = [{kind: file.digest for kind, file in self.files.items()}, self.others, annotations]
        places = sorted(relative_path(path, self.folder) for path in self.pictures.paths.values())
        return digest_of_json([__version__, *parts, places, self.notes])


def open_run(stack: ExitStack, folder, data_set=None):
    """Open what is in the output folder of `flyannot run`, or a predictions file; the stack closes it.

    `data_set` is the Path of the data set folder; None for the one that the run's record names.  InputError
    if there is nothing of a run in the folder, or the data set named cannot be read.  DataError if a file is
    damaged.
    """
    if folder.is_file():  # what lies beside it may be of another run
        predictions = stack.enter_context(open_stored(folder, "predictions"))
        files, folder = {"predictions": predictions}, folder.parent
        pictures = _find_pictures(folder, files, data_set, None, [])
        return Run(folder, files, pictures=pictures, data_set_name=(data_set or predictions.path).name)
    paths: dict = {}  # of several files of a kind the last that is there
    for step in (step for step in STEPS.values() if step.kind):
        if step.kind not in paths or (folder / step.makes).is_file():
            paths[step.kind] = folder / step.makes
    files = {k: stack.enter_context(open_stored(p, k)) for k, p in paths.items() if p.is_file()}
    steps = (step for step in STEPS.values() if step.makes and not step.kind and step.name != _PAGE_MAKER)
    for stored in files.values():
        require_known_chain(stored)
    others = {s.makes: digest_of_file(folder / s.makes) for s in steps if (folder / s.makes).is_file()}
    scores = read_scores(folder / SCORES) if (folder / SCORES).is_file() else None
    if not files and scores is None:
        names = ", no ".join([SCORES, *(path.name for path in paths.values())])
        raise InputError(
            f"{folder} holds nothing of a run: no {names}",
            fix="name the output folder of: flyannot run CONFIG",
        )
    missing = [path.name for kind, path in paths.items() if kind not in files]
    notes = [f"There is no {name}: what it would show is left out." for name in missing]
    if scores is None:
        notes.append(f"There is no {SCORES}: how good the terms are is not known.")
    elif "predictions" in files and "scores" not in files["predictions"].inputs:
        notes.append(
            f"{files['predictions'].path.name} was not made by a run: its answers for genes that the model "
            "learned from are better than for new genes."
        )
    record = read_record(folder) or {}
    recorded = path_from(folder, record["data-set"]) if "data-set" in record else None
    pictures = _find_pictures(folder, files, data_set, recorded, notes)
    annotations, table = Annotations({}, {}), pictures.place
    corrections = [path_from(folder, path) for path in record.get("train", {}).get("corrections", [])]
    if table is not None and not table.is_dir():
        table = table.parent
    if table is not None and not corrections and not has_table(table, ANNOTATIONS):
        table = None
    if table is None:
        notes.append(f"There is no {ANNOTATIONS} beside the pictures: curated terms are left out.")
    else:
        try:
            annotations = _annotations(table, corrections, notes)
        except FlyannotError as error:
            if data_set is not None:
                raise
            notes.append(f"Curated terms are left out: {error.message}.")
    name = Path(recorded or data_set or folder).absolute().name
    return Run(folder, files, scores, others, annotations, pictures, notes, name)


def _find_pictures(folder, files, data_set, recorded, notes):
    """Return the PicturesOfFile of what the page shows."""
    wanted = set()
    for kind in _SHOWN:
        wanted |= pictures_of_file(files.get(kind))
    try:
        pictures = find_pictures(wanted, folder, data_set or recorded)
    except FlyannotError as error:
        if data_set is not None:
            raise
        notes.append(f"The data set of the run cannot be read: {error.message}.")
        pictures = PicturesOfFile(n_wanted=len(wanted))
    if data_set is not None and wanted and not pictures.paths:
        raise InputError(
            f"{data_set} has none of the {pluralise(len(wanted), 'picture')} of {folder}",
            fix="name the folder of the pictures, or the data set folder with its images.csv",
        )
    return pictures if pictures.paths else find_pictures(wanted, folder)  # moved, or never named


def _annotations(table, corrections, notes):
    """Return the curated terms with the corrections that the run learned with, or without if one is gone."""
    gone = [path.name for path in corrections if not path.is_file()]
    if gone:
        notes.append(f"{', '.join(gone)} is not there any more: curated terms are shown without corrections.")
    annotations, changes = curated_annotations_of(table, corrections=[] if gone else corrections)
    notes += [f"{sentence}." for sentence in changes]
    return annotations


def images_not_shown(run):
    """(table, image, why) of the images of the data set that neither have predictions or features nor were
    skipped with a reason of their own."""
    if run.pictures.place is None or not has_table(run.pictures.place, IMAGES):
        return
    known = {image for stored in run.files.values() for image, _ in stored.failures}
    for kind in _SHOWN:
        known |= {name for name, *_ in pictures_of_file(run.files.get(kind))}
    known |= {photograph_of_embryo(name) for name in known}
    why = "not among the images of this run: not selected, or its stage range has too few patches"
    yield from (
        (IMAGES, image.name, why) for image in read_images(run.pictures.place) if image.name not in known
    )


def origin_section(run, failures, notes):
    """Which file was made from which, with all options, and what was skipped, (file, image, reason) each.

    `notes` are sentences.
    """
    stored_files = list(run.files.values())
    return render(
        "origin.html",
        files=stored_files,
        others=run.others,
        known={stored.digest: stored.path.name for stored in stored_files},
        maker=MADE_BY | {step.makes: f"flyannot {step.name}" for step in STEPS.values()},
        skipped=[*failures, *images_not_shown(run)],
        notes=notes,
    )
