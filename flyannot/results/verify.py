"""Verification of files, of tables with the files that they came from, and of the answers of models."""

from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from flyannot.base.errors import DataError
from flyannot.base.text import pluralise
from flyannot.dataset.paths import TABLE_SUFFIXES
from flyannot.files.hdf5.description import read_summary
from flyannot.files.hdf5.header import MODEL_DIGEST
from flyannot.files.hdf5.reading import verify_stored_file
from flyannot.files.hdf5.supplied import format_responsible, supplied_models
from flyannot.files.tables import read_table
from flyannot.pipeline.engine.task import Execution
from flyannot.pipeline.options import AnnotateOptions, Selection
from flyannot.pipeline.steps.annotate import annotate_task, read_images_for_model

_NOT_A_FILE = "picture_digest"  # of the pixels of a picture; every other digest is that of a file
_ANSWER = ("group", "stage_range", "term", "answer")
_MOST_DIFFERENT = 1e-3  # of probabilities, which differ by about 1e-9 between processors


def verify_file(path, progress):
    """Verify an HDF5 file, a model with its test pictures, or a table, and return what it is in words.

    Parameters
    ----------
    path : Path
    progress : as in `verify_stored_file`

    Raises
    ------
    InputError, DataError
        If the file is missing or damaged, a file that a table came from is missing, or answers differ.
    """
    if path.suffix.lower() in TABLE_SUFFIXES:
        return _verify_origin(path, progress)
    kind = verify_stored_file(path, progress)
    return f"{kind}; {_verify_answers(path)}" if kind == "model" else kind


def _verify_origin(path, progress):
    """Verify the files whose digests a table has, and return their names in words."""
    others: list = []
    rows = read_table(path, (), ("stage_range",), others=others)
    named = {named for _, cells in rows for named in zip(others, cells[1:]) if named[0].endswith("_digest")}
    named = sorted((name, digest) for name, digest in named if digest and name != _NOT_A_FILE)
    if not named:
        what = f"{path} does not say which model or file it came from"
        raise DataError(what, fix=f"give a table with the column {MODEL_DIGEST}, such as predictions.csv")
    beside = chain(supplied_models(), sorted(path.parent.glob("*.h5")))
    known = {summary.header.digest: file for file in beside if (summary := read_summary(file))}
    if missing := [f"{name} {digest}" for name, digest in named if digest not in known]:
        what = f"{path}: no file in {path.absolute().parent} has the {'; '.join(missing)}"
        raise DataError(what, fix="put the file beside the table, and repeat the command")
    found = [known[digest] for _, digest in named]
    for file in found:
        verify_stored_file(file, progress)
    return f"table; made from {', '.join(map(str, found))}"


def _verify_answers(model):
    """Annotate the test pictures of a model, compare the answers with those expected, and say so in words.

    model : Path of the model NAME.h5; the folder NAME-test beside it has `pictures` and `answers.csv`

    Raises
    ------
    DataError
        If an answer or a probability differs, or the card of the model is not complete.
    """
    folder = model.with_name(f"{model.stem}-test")
    expected = folder / "answers.csv"
    if not expected.is_file():
        return f"without test pictures: there is no {expected}"
    responsible = format_responsible(model)
    with TemporaryDirectory() as temporary:
        out = Path(temporary) / "answers.h5"
        images = read_images_for_model(model, [folder / "pictures"], Selection())
        task = annotate_task(model, images, out, AnnotateOptions())
        task.make(Execution())  # run_task would name the temporary file in messages
        task.write_beside()
        columns = (*_ANSWER, "probability")
        tables = [read_table(table, columns) for table in (expected, out.with_suffix(".csv"))]
        known, found = ({tuple(cells[:-1]): cells[-1] for _, cells in rows} for rows in tables)
    differ = [key for key in known.keys() | found if not _are_near(known.get(key, ""), found.get(key, ""))]
    if differ:
        what = f"{len(differ):,} of {pluralise(len(known), 'answer')} are not as in {expected}"
        raise DataError(f"{model}: {what}", fix="install flyannot again, or ask the contact of the model")
    return f"{pluralise(len(known), 'answer')} on test pictures as expected; {responsible}"


def _are_near(*probabilities):
    """Return whether two texts are probabilities that differ by little."""
    try:
        one, other = map(float, probabilities)
    except ValueError:
        return False
    return abs(one - other) <= _MOST_DIFFERENT
