"""The inputs of a step: files of one kind, curated terms, and the options in the headers of files."""

import logging
from contextlib import contextmanager
from pathlib import Path

from flyannot.base.errors import DataError, InputError, did_you_mean, error_message
from flyannot.base.options import FloatType, IntegerType
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.curation.corrections import apply_corrections, describe_changes, read_corrections
from flyannot.dataset.folder import Annotations, read_annotations
from flyannot.dataset.ontology import add_parent_terms, read_ontology
from flyannot.dataset.paths import ANNOTATIONS, find_annotation_table
from flyannot.files.digest import file_digest, table_digest
from flyannot.files.hdf5.descriptors import iterate_patches
from flyannot.files.hdf5.file_cache import open_many
from flyannot.files.hdf5.header import step_chain
from flyannot.files.hdf5.reading import damaged_file_error
from flyannot.images.extract import DescribedPatches
from flyannot.pipeline.chain import STEPS
from flyannot.terms.metrics import NOT_ANATOMY

log = logging.getLogger("flyannot")


@contextmanager
def open_compatible(paths, kind, *, digests=None):
    """Open several files of one kind that were made with the same options, except for their stage ranges.

    A context manager that yields a list of StoredFiles. Only a few files are really open at a time.

    Parameters
    ----------
    paths : list of Path
    kind : str, such as "features"
    digests : dict, path -> digest that the file must have; None for any

    Raises
    ------
    InputError
        If two files have the same contents.
    DataError
        If a file is damaged, of another kind, or replaced. Or if it was made by an unknown step, or with
        other options than the first file.
    """
    with open_many([Path(path) for path in paths], kind, digests or {}) as files:
        path_of_digest = {}
        for file in files:
            if file.digest in path_of_digest:
                raise InputError(
                    f"{path_of_digest[file.digest]} and {file.path} have the same contents",
                    fix="name each file once",
                )
            path_of_digest[file.digest] = file.path
            require_known_chain(file)
            if _without_stage_ranges(file.options) != _without_stage_ranges(files[0].options):
                raise DataError(
                    f"{file.path} and {files[0].path} were made with different options",
                    fix="compare them with `flyannot show`, and make one of them again as the other",
                )
        yield files


def digests_by_path(files):
    """Return a dict, path -> digest, of open StoredFiles.

    `open_compatible` takes it to open the same files again.
    """
    return {file.path: file.digest for file in files}


def _without_stage_ranges(options):
    """Return a copy of nested options without the stage ranges."""
    return {
        name: _without_stage_ranges(value) if isinstance(value, dict) else value
        for name, value in options.items()
        if name != "stage_ranges"
    }


def choose_stage_ranges(files, wanted):
    """Return the stage ranges to work on, in the order of development.

    Wanted stage ranges that no file has are left out with a warning.

    Parameters
    ----------
    files : list of StoredFile
    wanted : sequence of str; empty or None for all stage ranges of the files

    Raises
    ------
    InputError
        If no file has any of the wanted stage ranges.
    """
    present = [s for s in STAGE_RANGES if any(s in file.stage_ranges for file in files)]
    missing = [s for s in wanted or () if s not in present]
    chosen = [s for s in present if not wanted or s in wanted]
    if missing and not chosen:
        raise InputError(
            f"{files[0].path} holds no stage range {' or '.join(missing)}",
            fix=f"choose from {', '.join(present)}",
        )
    if missing:
        log.warning("warning: %s holds no stage range %s: left out", files[0].path, " or ".join(missing))
    return chosen


def choose_stage_range(stored, wanted):
    """Return the stage range of the one dictionary of an open file that is used.

    Parameters
    ----------
    stored : StoredFile
    wanted : sequence of str; empty for the only stage range of the file

    Raises
    ------
    InputError
        If the file has several stage ranges, and not exactly one of these is wanted.
    """
    chosen = choose_stage_ranges([stored], wanted)
    if len(chosen) > 1:
        raise InputError(
            f"{stored.path} has dictionaries of {', '.join(chosen)}, and one is used",
            fix=f"choose one, such as stage range {chosen[0]}",
        )
    return chosen[0]


def read_described_patches(stored, stage_range, start=0, stop=None):
    """Yield the `DescribedPatches` of the images `start` to `stop` of an open descriptors file.

    Raises
    ------
    DataError
        If an image differs from its digest.
    """
    n_candidates = stored.read_array(stage_range, "n_candidates", start, stop).tolist()
    images = iterate_patches(stored, stage_range, start, start + len(n_candidates))
    for (descriptors, centres_px, patch_px), n in zip(images, n_candidates):
        yield DescribedPatches(descriptors, centres_px, patch_px, n)


def refuse_unknown_excluded_terms(terms, annotations, table):
    """Refuse a term to exclude that no gene has, because it is probably misspelt.

    Terms that `not-anatomy` stands for may be absent.

    Raises
    ------
    InputError
        If no gene has one of the terms.
    """
    known = sorted(set().union(*annotations.terms_by_gene.values()) | set(NOT_ANATOMY))
    for term in terms:
        if term not in known:
            raise InputError(
                f'no gene of {table} has the term "{term}", so it cannot be excluded.'
                f"{did_you_mean(term, [*known, 'not-anatomy'])}",
                fix="write --exclude-terms as the table does, in quotes; capitals count",
            )


def require_known_chain(stored):
    """Return the names of the steps that transformed the descriptors of an open file, in order.

    Raises
    ------
    DataError
        If the header names a step between pictures and features that is unknown, or that cannot transform the
        descriptors of a single picture.
    """
    chain = step_chain(stored.options)
    descriptors = chain[: chain.index("pool")] if "pool" in chain else chain
    transforms = [name for name in descriptors if name in STEPS and STEPS[name].transform]
    later = [name for name in STEPS if STEPS[name].kind in ("model", "predictions")]
    known = {"chain", "import", "extract", "learn-dict", "pool", *transforms, *later}
    unknown = sorted({*chain, *stored.options} - known)
    if unknown:
        step = unknown[0]
        raise DataError(
            f"{stored.path} was made with the step {step}, which this flyannot cannot apply to pictures",
            fix=f"install what adds the step {step}, or make the file again without it",
        )
    return transforms


def encoding_options(options):
    """Return the options in a header that decide how pictures become descriptors or features."""
    names = ("chain", "import", *step_chain(options), "learn-dict")
    return _without_stage_ranges({name: options[name] for name in names if name in options})


def read_options(stored, kind):
    """Return the options with which an open file was made, as an object of an options class.

    Parameters
    ----------
    stored : StoredFile
    kind : the class, such as ExtractOptions

    Raises
    ------
    DataError
        If the header lacks them.
    """
    return _read_header_options(stored, kind.table, kind.from_header)


def dictionary_lam(stored):
    """Return the weight of the L1 norm that the dictionary of an open file was learned for."""
    return _read_header_options(stored, "learn-dict", lambda of: FloatType(above=0).parse(of["lam"]))


def is_imported(stored):
    """Return whether the features of an open file were imported from another program."""
    return "import" in stored.options


def imported_width(stored):
    """Return the number of imported features per image, from the header of an open file."""
    return _read_header_options(stored, "import", lambda of: IntegerType().parse(of["n_features"]))


def _read_header_options(stored, table, read):
    """Return read(table) for a table of options in the header of an open file.

    Parameters
    ----------
    stored : StoredFile
    table : str, the name of the table
    read : function of a dict

    Raises
    ------
    DataError
        If the header has no such table, or `read` raises an error.
    """
    try:
        return read(stored.options[table])
    except (KeyError, TypeError, ValueError, InputError) as error:
        what = f"its header does not say how it was made ({table}: {error_message(error)})"
        raise damaged_file_error(stored.path, what, stored.kind) from error


def read_curated_annotations(annotations_csv, *, corrections=(), roll_up=()):
    """Read the curated terms of a table, and apply corrections and parent terms.

    Parameters
    ----------
    annotations_csv : Path of the table or of its data set folder, which may lack the table if there are
        corrections
    corrections : paths of tables of corrections
    roll_up : paths of ontologies, see `read_ontology`; a gene with a term also gets its parent terms

    Returns
    -------
    annotations : Annotations
    sentences : list of str, what the corrections changed
    """
    ontology = read_ontology(*roll_up) if roll_up else None
    names = ontology.names() if ontology else ()
    table = find_annotation_table(annotations_csv)
    sentences = []
    if corrections and _is_absent(table):
        annotations = Annotations({}, {})
    else:
        annotations = read_annotations(table, known=names)
    if corrections:
        annotations, changes = apply_corrections(annotations, read_corrections(corrections), table, names)
        files = ", ".join(path.name for path in corrections)
        sentences = [f"{files}: {s}" for s in describe_changes(changes)]
    return (add_parent_terms(annotations, ontology) if ontology else annotations), sentences


def _is_absent(table):
    """Return True if this is the path of the table of a data set folder, and the folder has no such table."""
    return table.name == ANNOTATIONS and table.parent.is_dir() and not table.exists()


def curated_digests(annotations_csv, corrections):
    """Return a dict for a header, "annotations" and "corrections" -> list of the digests of these tables.

    The key "corrections" is absent if there are none.
    """
    has_none = corrections and _is_absent(annotations_csv)
    digests = {"annotations": [] if has_none else [table_digest(annotations_csv)]}
    return digests | ({"corrections": [file_digest(path) for path in corrections]} if corrections else {})


def has_synthetic_images(columns):
    """Return whether any image of these image columns (dicts) was drawn by a program."""
    return any("synthetic" in some["source"] for some in columns)
