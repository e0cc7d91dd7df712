"""The reader of the output folder of a run: its files, its pictures and its curated terms."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from flyannot import __version__
from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.fates import USED, WARNED
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.folder import Annotations
from flyannot.dataset.paths import real_name
from flyannot.encode.groups import Groups, group_images
from flyannot.files.digest import file_digest, json_digest
from flyannot.files.hdf5.reading import StoredFile, open_stored_file, read_image_metadata
from flyannot.files.hdf5.schema import COMMAND_BY_KIND
from flyannot.files.hdf5.supplied import supplied_name, supplied_path
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.fates import NAME as FATES_TABLE
from flyannot.pipeline.engine.fates import fates_path, read_fates
from flyannot.pipeline.engine.inputs import require_known_chain
from flyannot.pipeline.pictures.stored_pictures import StoredPictures, open_pictures
from flyannot.pipeline.runs.configuration import RECORD
from flyannot.pipeline.runs.learned_tables import choose_terms
from flyannot.report.templates import render
from flyannot.terms.answers import GroupPredictions, group_answers, read_group_predictions
from flyannot.terms.group_outcomes import read_scores

SCORES = STEPS["evaluate"].makes
_PAGE_STEP = "report"  # the step that makes the page itself
_SHOWN_KINDS = ("predictions", "features")  # the page shows the groups of these files


@dataclass(frozen=True)
class ShownGroups:
    """Groups of one stage range that the page shows, all from one file.

    stage_range : str
    columns : dict of lists, the columns of all images of the file
    groups : Groups
    predicted : GroupPredictions of all groups; None if nothing is predicted for them
    """

    stage_range: str
    columns: dict
    groups: Groups
    predicted: GroupPredictions | None = None

    def answers(self, g):
        """Return the list of the Answers about group number `g`, the most probable term first."""
        if self.predicted is None:
            return []
        return list(group_answers(self.stage_range, self.groups, self.predicted, g))


def _adopt_genes(groups, coded, images):
    """Return predicted Groups in which groups without a gene have the gene and the name of the features.

    Pictures that were annotated without a table have no gene in the predictions. Verdicts on them apply to
    the gene that they have in the features.

    Parameters
    ----------
    groups : Groups of the predictions
    coded : Groups of the features
    images : list of the names of the images of the features
    """
    group_of = {images[i]: g for g, rows in enumerate(coded.rows) for i in rows}
    known = [None if gene else group_of.get(name) for name, gene in zip(groups.name, groups.gene)]
    return replace(
        groups,
        name=[name if g is None else coded.name[g] for name, g in zip(groups.name, known)],
        gene=[gene if g is None else coded.gene[g] for gene, g in zip(groups.gene, known)],
    )


@dataclass(frozen=True)
class Run:
    """The open files of a run, with the pictures and curated terms that belong to them.

    folder : Path of the output folder
    files : dict from the kind of a file, such as "features", to the open `StoredFile`; only files that exist
    scores : dict of the evaluation; None if there is none
    others : dict from the name of each further output file to its digest
    annotations : Annotations, empty if there are none
    pictures : StoredPictures, the pictures of the images in predictions and features
    notes : list of sentences on what is missing
    is_single : bool, True for a single predictions file, with its model if that is found
    curated : CuratedTerms of the tables of the data set, or of their copies; None if unknown
    fates : list of the PictureFates in the table of the run; without one, of what the files have left out
    """

    folder: Path
    files: dict = field(default_factory=dict)
    scores: dict | None = None
    others: dict = field(default_factory=dict)
    annotations: Annotations = Annotations({}, {})
    pictures: StoredPictures = StoredPictures()
    notes: list = field(default_factory=list)
    is_single: bool = False
    curated: CuratedTerms | None = None
    fates: list = field(default_factory=list)

    @property
    def image_files(self):
        """A list of the open files that have the pictures, patches and features of images."""
        kinds = [kind for kind in ("features", "descriptors") if kind in self.files]
        return [*self.pictures.files, *(self.files[kind] for kind in kinds)]

    @property
    def name(self):
        """The name of the predictions file, or of the output folder."""
        return self.files["predictions"].path.stem if self.is_single else real_name(self.folder)

    @property
    def has_record(self):
        """True if the folder has the record of the run."""
        return not self.is_single and (self.folder / RECORD).is_file()

    def stored(self, kind, stage_range):
        """Return the open file of a kind, such as "model"; None if it is missing or lacks the stage range."""
        stored: StoredFile | None = self.files.get(kind)
        return stored if stored is not None and stage_range in stored.stage_ranges else None

    @property
    def stage_ranges(self):
        """The stage ranges that predictions or features have, in order of development."""
        return [s for s in STAGE_RANGES if any(self.stored(kind, s) for kind in _SHOWN_KINDS)]

    @property
    def terms(self):
        """The set of (stage range, term) that were predicted, curated or evaluated."""
        terms = {(row["stage_range"], row["term"]) for row in (self.scores["terms"] if self.scores else ())}
        if predictions := self.files.get("predictions"):
            for s in predictions.stage_ranges:
                terms |= {(s, term) for term in predictions.read_array(s, "term")}
        curated = self.annotations.terms_by_gene
        return terms | {(s, term) for (_, s), of_gene in curated.items() for term in of_gene}

    @cached_property
    def shown_groups(self):
        """The list of ShownGroups of the page, by stage range.

        In a stage range, groups in the predictions come first, then groups that only the features have.
        """
        return [shown for s in self.stage_ranges for shown in self._list_shown_groups(s)]

    def _list_shown_groups(self, stage_range):
        """Return a list with the ShownGroups of one stage range, at most one of each file."""
        shown = []
        names = set()
        features, stored = (self.stored(kind, stage_range) for kind in ("features", "predictions"))
        columns = read_image_metadata(features, stage_range) if features else {}
        coded = group_images(columns) if features else None
        if stored:
            groups, predicted = read_group_predictions(stored, stage_range)
            if coded:
                groups = _adopt_genes(groups, coded, columns["image"])
            names.update(groups.name)
            of_predicted = read_image_metadata(stored, stage_range)
            shown.append(ShownGroups(stage_range, of_predicted, groups, predicted))
        if coded:
            others = coded.subset([g for g, name in enumerate(coded.name) if name not in names])
            shown += [ShownGroups(stage_range, columns, others)] if len(others) else []
        return shown

    def digest(self):
        """Compute a digest of everything that the page depends on, to detect an outdated page."""
        curated = self.annotations
        tables = curated.terms_by_gene, curated.unsure, curated.known_only
        annotations = [sorted((list(k), sorted(v)) for k, v in table.items()) for table in tables]
        parts = [{kind: file.digest for kind, file in self.files.items()}, self.others, annotations]
        parts += [file.digest for file in self.pictures.files], self.notes, self.fates
        return json_digest([__version__, *parts, self.name, self.has_record])


def open_run(folder, curated=None, model=None):
    """Open the output folder of `flyannot run`, or a single predictions file, for the report.

    Parameters
    ----------
    folder : Path of the output folder or of the predictions file
    curated : CuratedTerms of a data set folder; None for the terms that the run learned from
    model : Path of the model that made the single predictions file; None to look among the supplied
        models, and beside the predictions

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If the folder has no file of a run, or its curated terms cannot be read.
    DataError
        If a file is damaged, or the scores were judged by other curated terms.
    """
    if folder.is_file():  # the files beside it may be of another run
        predictions = open_stored_file(folder, "predictions")
        pictures = open_pictures(predictions)
        files = {"predictions": predictions} | _open_model(predictions, model)
        fates = read_fates(fates_path(folder), files)
        return Run(folder.parent, files, pictures=pictures, is_single=True, fates=fates)
    files, notes = _open_files(folder)
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
    names = [
        step.makes for name, step in STEPS.items() if step.makes and not step.kind and name != _PAGE_STEP
    ]
    others = {name: file_digest(folder / name) for name in names if (folder / name).is_file()}
    shown = [files[kind] for kind in (*_SHOWN_KINDS, "descriptors") if kind in files]
    pictures = open_pictures(*shown)
    fates = read_fates(folder / FATES_TABLE, files)
    terms = choose_terms(folder, curated, scores and scores["made_from"])
    if curated or terms.has_tables:
        notes += [f"{sentence}." for sentence in terms.changes]
        annotations = terms.annotations
    else:
        notes.append("The run has no curated terms.")
        annotations = Annotations({}, {})
    return Run(folder, files, scores, others, annotations, pictures, notes, curated=terms, fates=fates)


def _open_model(predictions, path):
    """Open the model that made a predictions file. Returns {"model": StoredFile}, or {} if it is not found.

    `predictions` is the open file, and `path` the Path of a model file or None. If `path` is not the model,
    the supplied models and the files beside the predictions are searched.
    """
    wanted = predictions.inputs.get("model", ())
    supplied = [supplied_path(name)] if (name := supplied_name(wanted)) else []
    beside = sorted(predictions.path.parent.glob("*.h5"))
    for found in [*filter(None, [path]), *supplied, *beside]:
        with suppress(FlyannotError):  # a file of another kind, or damaged
            stored = open_stored_file(found, "model")
            if stored.digest in wanted:
                return {"model": stored}
    return {}


def _paths_by_kind(folder):
    """Return a dict from each kind of HDF5 file to its path in the folder of a run.

    If several steps write files of one kind, the path is of the last file that exists, otherwise of the
    first.
    """
    paths: dict = {}
    for step in (step for step in STEPS.values() if step.kind):
        if step.kind not in paths or (folder / step.makes).is_file():
            paths[step.kind] = folder / step.makes
    return paths


def _open_files(folder):
    """Open the HDF5 files of a run.

    Returns a dict from kind to `StoredFile`, and a list with a sentence on each missing file.
    """
    paths = _paths_by_kind(folder)
    files = {k: open_stored_file(p, k) for k, p in paths.items() if p.is_file()}
    for stored in files.values():
        require_known_chain(stored)
    used = files["features"].inputs.get("dictionary", ()) if "features" in files else ()
    if used and "dictionary" in files and files["dictionary"].digest not in used:
        del files["dictionary"]  # a run that adapts a model uses the dictionary of the model
    if "predictions" in files and "model" not in files:
        files |= _open_model(files["predictions"], None)  # of a run that learned nothing
    missing = [path.name for kind, path in paths.items() if kind not in files]
    notes = [f"There is no {name}: the parts of the page that need it are left out." for name in missing]
    return files, notes


def render_origin(run, notes):
    """Render the section on the origin of the page: files of the run, options and skipped images, as HTML.

    Parameters
    ----------
    run : Run
    notes : list of sentences to show
    """
    stored_files = list(run.files.values())
    return render(
        "origin.html",
        files=stored_files,
        others=run.others,
        known={stored.digest: stored.path.name for stored in stored_files},
        maker=COMMAND_BY_KIND | {step.makes: f"flyannot {step.name}" for step in STEPS.values()},
        skipped=[fate for fate in run.fates if fate.fate not in (USED, WARNED)],
        notes=notes,
    )
