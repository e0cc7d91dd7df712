"""The plan of a run: its steps, what each of them reads and writes, and which steps are left out.

A plan is made once, from the configuration and the tables of the data set.  No picture is opened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote

from flyannot.base.errors import FlyannotError, InputError, did_you_mean
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.folder import check_tables
from flyannot.dataset.images import name_genes_by_file, select_images
from flyannot.dataset.ontology import read_ontology
from flyannot.dataset.paths import ANNOTATIONS as TABLE_OF_TERMS
from flyannot.dataset.paths import has_table
from flyannot.dataset.table_warnings import raise_errors
from flyannot.encode.options import PoolOptions
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.supplied import find_supplied_model, resolve_model_path
from flyannot.images.address import photograph_name
from flyannot.images.extract import choose_stride, count_candidate_patches
from flyannot.images.options import ExtractOptions
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.images import read_chosen_images
from flyannot.pipeline.engine.inputs import read_options
from flyannot.pipeline.engine.step import ANNOTATIONS, IMAGES, StepRequest
from flyannot.pipeline.models.loaded_model import adapted_options
from flyannot.pipeline.options import LearnOptions
from flyannot.pipeline.runs.configuration import RECORD, Configuration
from flyannot.pipeline.runs.learnable import (
    MIN_GENES,
    build_training_sets,
    can_learn,
    check_numbers,
    count_genes,
)


@dataclass(frozen=True)
class RunTables:
    """The tables of the data set of a run.

    images : tuple of the Images that the run selects
        The stage range is "" if the step `extract` guesses it from the picture.
    fates : list of the PictureFates of all other pictures
    curated : CuratedTerms; None without curated terms
    """

    images: tuple
    fates: Sequence = ()
    curated: CuratedTerms | None = None

    @property
    def has_unknown_stages(self):
        """True if the step `extract` guesses the stage range of an image."""
        return any(not image.stage_range for image in self.images)


@dataclass(frozen=True)
class RunPlan:
    """What a run does.

    given : Configuration, as it was read
    configuration : Configuration that counts; a run that adapts a model has the options by which the features
        of that model were made
    tables : RunTables; None if they cannot be read
    images : tuple of Image, with the stage ranges that are known by now
    requests : dict, name of a step -> StepRequest, in order; the steps are in STEPS
    omitted : sentence on the steps that are left out for lack of terms, and how to add terms; or ""
    supplied_model : Path of the supplied model that suggests terms, because there are none to learn from; or
        None
    base_model : Path of the model that is adapted, or None
    training_sets : dict, stage range -> TrainingSet; None if they are not known yet
    """

    given: Configuration
    configuration: Configuration
    tables: RunTables | None
    images: tuple
    requests: Mapping[str, StepRequest]
    omitted: str = ""
    supplied_model: Path | None = None
    base_model: Path | None = None
    training_sets: Mapping | None = field(default=None, repr=False)

    def build_task(self, name):
        """Build the Task of a step of the run; all earlier steps must be done.

        The step `extract` also makes the suggestions of a supplied model, for which it opens the pictures.
        """
        request = self.requests[name]
        if name == "extract" and self.supplied_model:
            request = replace(request, also=(self.build_task("annotate"),))
        return STEPS[name].build_task(request)

    def require(self, name):
        """Check that the run has a step.

        Raises
        ------
        InputError
            If the run has no such step.
        """
        if name not in self.requests:
            why = self.omitted if name in STEPS else did_you_mean(name, self.requests).strip()
            raise InputError(
                f'this run has no step "{name}". {why}'.strip(), fix=f"use one of {', '.join(self.requests)}"
            )

    def settled(self):
        """Return the plan with the stage ranges that the step `extract` has guessed and stored.

        The plan is returned unchanged if no stage range is guessed, or if the file of descriptors lacks one
        of the images.
        """
        if self.tables is None or not self.tables.has_unknown_stages:
            return self
        path = self.given.output / STEPS["extract"].makes
        try:
            stored = open_stored_file(path, "descriptors")
            stage_of = {fate.image: "" for fate in stored.failures}
            stage_of |= {name: s for s in stored.stage_ranges for name in stored.read_array(s, "image")}
        except FlyannotError:
            return self
        stage_of |= {photograph_name(name): s for name, s in stage_of.items()}
        is_whole = all(image.stage_range or image.name in stage_of for image in self.tables.images)
        return _make_plan(self.given, self.tables, stage_of) if is_whole else self

    def check(self):
        """Check that the options suit the data set.

        Raises
        ------
        InputError
            If no patch fits into a picture, or if nothing can be learned with the given options.
        """
        options = self.configuration.options
        train = options["train"]
        count_candidate_patches(choose_stride(options["extract"], len(self.images)))
        if self.tables is None or self.tables.curated is None:
            return
        source = self.tables.curated.source
        self.tables.curated.require_known(train.exclude_terms)
        if self.training_sets is None:
            return
        if not self.training_sets:
            raise InputError(
                f"no gene of {self.given.data_set} is annotated in {source}",
                fix="check that genes and stage ranges are spelled alike in both",
            )
        check_numbers(self.training_sets, train, options["evaluate"].folds, source)


def plan_run(configuration):
    """Make the RunPlan of a configuration, after checking the configuration and the data set.

    Raises
    ------
    InputError
        If an ontology or a table cannot be read, or as `RunPlan.check`.
    """
    options = configuration.options
    for paths in (options["annotate"].ontology, options["evaluate"].roll_up, options["report"].ontology):
        read_ontology(*paths)
    plan = _make_plan(configuration, _read_tables(configuration)).settled()
    plan.check()
    return plan


def plan_recorded_run(configuration):
    """Make the RunPlan of a run that was begun; its data set may have moved or changed."""
    try:
        tables = _read_tables(configuration)
    except FlyannotError:
        tables = None
    return _make_plan(configuration, tables).settled()


def _read_tables(configuration):
    """Read the tables of the data set of a run, each once, and return the RunTables.

    Raises
    ------
    InputError
        If a table cannot be read, or no image is selected.
    """
    folder = configuration.data_set
    select = configuration.options["select"]
    how = {"unknown_stage": select.unknown_stage, "columns": select.columns}
    fates: list = []
    faults, images, annotations = check_tables(folder, fates=fates, **how)
    raise_errors(folder, faults)
    images = name_genes_by_file(images or read_chosen_images([folder], select, fates=fates))
    images = select_images(images, views=select.view, stage_ranges=select.stage_range, fates=fates)
    curated = replace(_find_curated_terms(configuration), listed=annotations)
    return RunTables(tuple(images), fates, curated if curated.corrections or annotations else None)


def _find_curated_terms(configuration):
    """Return the CuratedTerms of a configuration, which are not read yet."""
    options = configuration.options
    return CuratedTerms(configuration.data_set, options["train"].corrections, options["select"].columns)


def _make_plan(given, tables, stage_of=None):
    """Make the RunPlan of a configuration.

    As long as stage ranges are not guessed yet, what they decide is assumed to be possible.

    Parameters
    ----------
    given : Configuration, as it was read
    tables : RunTables; None if they cannot be read
    stage_of : dict, name of an image -> stage range that was guessed, or "" if none could be guessed; None
        if no guess was made yet
    """
    images = tables.images if tables else ()
    if stage_of is not None:
        images = [i if i.stage_range else replace(i, stage_range=stage_of[i.name]) for i in images]
    is_open = tables is None or (stage_of is None and tables.has_unknown_stages)
    known_stages = {image.stage_range for image in images} - {""}
    possible_stages = set(STAGE_RANGES) if is_open else known_stages
    training_sets = supplied_model = base_model = None
    if not is_open and tables.curated is not None:
        training_sets = build_training_sets(images, tables.curated.annotations, given.options["train"])
    why_no_terms = _explain_missing_terms(given, training_sets)
    if why_no_terms:
        supplied_model = find_supplied_model(possible_stages)
    else:
        base_model = _choose_base_model(given, known_stages, possible_stages)
    configuration = _with_base_options(given, base_model) if base_model else given
    paths = {"model": supplied_model, "dictionary": base_model}
    given_paths = {role: path for role, path in paths.items() if path}
    requests = _plan_steps(configuration, tables, given_paths, not why_no_terms)
    return RunPlan(
        given=given,
        configuration=configuration,
        tables=tables,
        images=tuple(images),
        requests=requests,
        omitted=_describe_omitted_steps(given, requests, why_no_terms),
        supplied_model=supplied_model,
        base_model=base_model,
        training_sets=training_sets,
    )


def _explain_missing_terms(configuration, training_sets):
    """Return in words why a run has no curated terms to learn from; "" if it has, or may have, terms.

    `training_sets` is as in `RunPlan`.
    """
    folder = configuration.data_set
    train = configuration.options["train"]
    if folder.is_dir() and not train.corrections and not has_table(folder, TABLE_OF_TERMS):
        return f"{folder} has no {TABLE_OF_TERMS}"
    if train.min_groups is not None or not training_sets or can_learn(training_sets):
        return ""
    genes = pluralise(count_genes(training_sets), "gene with images has", "genes with images have")
    return (
        f"no term can be learned: only {genes} terms in {folder}, and a term needs {MIN_GENES} genes with "
        f"it and {MIN_GENES} without it in one stage range"
    )


def _choose_base_model(configuration, known_stages, possible_stages):
    """Return the Path of the model that a run with curated terms adapts, or None.

    It is the model that `[train] adapt` names.  Without it, a run with corrections but no annotations.csv
    adapts the supplied model that suggested the terms, if that model knows all stage ranges of the images.
    """
    train = configuration.options["train"]
    folder = configuration.data_set
    if train.adapt is not None:
        return resolve_model_path(train.adapt)
    if not train.corrections or not folder.is_dir() or has_table(folder, TABLE_OF_TERMS):
        return None
    path = find_supplied_model(possible_stages)
    if path is None:
        return None
    return path if known_stages <= set(open_stored_file(path, "model").stage_ranges) else None


def _with_base_options(configuration, base_model):
    """Return a copy of a configuration with the options by which the features of a model were made."""
    train = adapted_options(replace(configuration.options["train"], adapt=base_model))
    stored = open_stored_file(base_model, "model")
    kinds = ExtractOptions, LearnOptions, PoolOptions
    made = {kind.table: read_options(stored, kind) for kind in kinds}
    return replace(configuration, options={**configuration.options, **made, "train": train})


def _plan_steps(configuration, tables, given, has_terms):
    """Return the StepRequests of a run by the names of the steps, without steps that lack an input.

    Parameters
    ----------
    configuration : Configuration that counts
    tables : RunTables; None if they cannot be read
    given : dict, role of an output -> Path of a file that is used instead of the output of a step
    has_terms : whether there are curated terms to learn from
    """
    paths = {IMAGES: configuration.data_set} | given
    if has_terms:
        paths[ANNOTATIONS] = configuration.data_set
    requests = {}
    for step in STEPS.values():
        if step.role in given or any(r.holds not in paths for r in step.reads if r.is_argument):
            continue
        out = configuration.output / step.makes
        requests[step.name] = StepRequest(
            inputs={read.name: (paths[read.holds],) for read in step.reads if read.holds in paths},
            out=out,
            options=configuration.options[step.name],
            selection=configuration.options["select"],
            seed=configuration.seed,
            run=configuration,
            images=tables.images if tables else (),
            fates=tables.fates if tables else (),
            curated=tables.curated if tables else _find_curated_terms(configuration),
        )
        paths |= {step.name: out, step.role: out}  # later steps read the last output of a role
    return requests


def _describe_omitted_steps(configuration, present, why_no_terms):
    """Return in words which steps are left out for lack of terms, and how to add terms; or ""."""
    if not why_no_terms:
        return ""
    absent = [name for name in STEPS if name not in present]
    record = quote(str(configuration.output / RECORD))
    return (
        f"{why_no_terms}; left out: {', '.join(absent)}. Give terms on the page, download corrections.csv, "
        f"and run: flyannot run {record} --corrections corrections.csv"
    )
