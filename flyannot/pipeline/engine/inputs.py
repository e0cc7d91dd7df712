"""The inputs of a step: files of one kind, and the options in their headers."""

import logging

from flyannot.base.errors import DataError, InputError, error_message
from flyannot.base.options import FloatType, IntegerType
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.hdf5.descriptors import iterate_patches
from flyannot.files.hdf5.header import step_chain
from flyannot.files.hdf5.reading import damaged_file_error, open_stored_file
from flyannot.images.extract import DescribedPatches
from flyannot.pipeline.chain import STEPS

log = logging.getLogger("flyannot")


def open_compatible(paths, kind, *, digests=None):
    """Open several files of one kind that were made with the same options, except for their stage ranges.

    Returns a list of StoredFiles.

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
    files = [open_stored_file(path, kind, (digests or {}).get(path)) for path in paths]
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
    return files


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
    return read_header_options(stored, kind.table, kind.from_header)


def dictionary_lam(stored):
    """Return the weight of the L1 norm that the dictionary of an open file was learned for."""
    return read_header_options(stored, "learn-dict", lambda of: FloatType(above=0).parse(of["lam"]))


def is_imported(stored):
    """Return whether the features of an open file were imported from another program."""
    return "import" in stored.options


def imported_width(stored):
    """Return the number of imported features per image, from the header of an open file."""
    return read_header_options(stored, "import", lambda of: IntegerType().parse(of["n_features"]))


def read_header_options(stored, table, read):
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


def has_synthetic_images(columns):
    """Return whether any image of these image columns (dicts) was drawn by a program."""
    return any("synthetic" in some["source"] for some in columns)
