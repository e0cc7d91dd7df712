"""From a matrix and dictionary.h5 to codes.h5: the sparse code of every row of the matrix."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from flyannot.base.errors import DataError, InputError
from flyannot.base.text import pluralise
from flyannot.encode.options import CodeOptions
from flyannot.files.digest import file_digest
from flyannot.files.hdf5.codes import write_codes
from flyannot.files.hdf5.file_cache import open_cached_file
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.matrix import MatrixFile, open_matrix
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.progress_events import report_item
from flyannot.pipeline.engine.inputs import choose_stage_range, dictionary_lam, has_positive_codes
from flyannot.pipeline.engine.parts import (
    build_numbered_part,
    create_part,
    cut_into_parts,
    select_share,
)
from flyannot.pipeline.engine.task import PartsTask
from flyannot.sparse.coders import find_coder, gram_for
from flyannot.sparse.coders.verified import unconverged_rows
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.missing_values import encode_observed


def build_task(request):
    """Build the Task that codes a matrix, for a StepRequest of `flyannot code`."""
    (path,) = request.inputs["matrix"]
    (dictionary,) = request.inputs["dictionary"]
    stage_ranges = request.selection.stage_range
    return code_task(path, dictionary, request.out, request.options, stage_ranges=stage_ranges)


def code_task(path, dictionary, out, options, *, stage_ranges=()):
    """Build the task that codes every row of a matrix over a dictionary.

    The codes have the bits of the estimator `SparseCoder` with the same options.

    Parameters
    ----------
    path : Path of the matrix, in NumPy's format
    dictionary : Path of the dictionary file
    out : Path of the file of codes
    options : CodeOptions
    stage_ranges : the stage range whose dictionary is used; may be empty if the file has only one

    Returns
    -------
    task : Task

    Raises
    ------
    InputError
        If the stage range is not clear, or the coder cannot exclude negative codes and must.
    DataError
        If the file is no matrix of real numbers, or has not as many columns as the atoms have numbers.
    """
    matrix = open_matrix(path)
    with open_stored_file(dictionary, "dictionary") as atoms:
        chosen = choose_stage_range(atoms, stage_ranges)
        options = replace(options, lam=options.lam or dictionary_lam(atoms))
        n_features = atoms.datasets(chosen)["D"].shape[1]
        if matrix.shape[1] != n_features:
            raise DataError(
                f"{path} has {matrix.shape[1]} columns, and atoms of {dictionary} have {n_features} numbers",
                fix=f"flyannot learn-dict {path} -o NEW_DICTIONARY.h5, and code with that",
            )
        learned = atoms.options | {"learn-dict": atoms.options["learn-dict"] | {"seed": atoms.seed}}
        coded = learned | {"code": options.to_header() | {"stage_ranges": [chosen]}}
        header = Header("codes", coded, {"matrix": [file_digest(path)], "dictionary": [atoms.digest]})
        positive = has_positive_codes(atoms)
        may_be_nan = LEARNERS[learned["learn-dict"].get("learner", "scc")].takes_missing_values
        coder = _RowCoder(matrix, dictionary, atoms.digest, chosen, options, positive, may_be_nan)
    if positive and options.coder != "cd":
        raise InputError(f"the coder {options.coder} cannot exclude negative codes", fix="use --coder cd")
    cut = cut_into_parts([block] for block in matrix.blocks())
    files = [path, dictionary]

    def parts(share):
        return [
            build_numbered_part(
                out,
                header,
                number,
                blocks,
                coder,
                name=f"the rows {blocks[0].start:,} to {blocks[-1].stop - 1:,} of {path}",
                files=files,
                unit="block",
            )
            for number, blocks in select_share(list(enumerate(cut)), share)
        ]

    return PartsTask(out, header, parts, _code_rows, files, summary=_summarise)


@dataclass(frozen=True)
class _RowCoder:
    """A coder of the rows of a matrix over the dictionary of one stage range.

    matrix : MatrixFile
    dictionary : Path of the dictionary file, and digest : its digest
    stage_range : str
    options : CodeOptions
    positive : bool, whether codes must not be negative
    may_be_nan : bool, whether nan stands for a missing value
    """

    matrix: MatrixFile
    dictionary: Path
    digest: str
    stage_range: str
    options: CodeOptions
    positive: bool
    may_be_nan: bool

    @cached_property
    def atoms(self):
        """The dictionary (n_atoms, n_columns) in the type of the matrix, and its Gram matrix or None."""
        stored = open_cached_file(self.dictionary, "dictionary", self.digest)
        D = stored.read_array(self.stage_range, "D").astype(self.matrix.dtype)
        return D, gram_for(self.options.coder, D)

    def encode(self, block):
        """Return the `Codes` of a block of rows, given as a slice."""
        D, gram = self.atoms
        X = self.matrix.read_numbers(block, may_be_nan=self.may_be_nan)
        encode = find_coder(self.options.coder, is_nonnegative=self.positive)
        codes = encode_observed(encode, X, D, self.options.lam, tol=self.options.tol, gram=gram)
        report_item()
        return codes


_copied = lru_cache(maxsize=1)(replace)  # reads the atoms once for all parts of a worker, which get no copy


def _code_rows(part):
    """Compute the codes of the rows of an OutputPart in a worker; write its file."""
    coder = _copied(part.made_with)
    coder.atoms  # noqa: B018 - read before the threads begin
    with create_part(part) as file:
        write_codes(file, coder.stage_range, list(map_ordered(coder.encode, part.images)), coder.atoms[0])
    return len(part.images)


def _summarise(out):
    """Summarise a file of codes: its rows, its non-zeros, and the codes that miss their tolerance."""
    with open_stored_file(out, "codes") as stored:
        (stage_range,) = stored.stage_ranges
        gaps = stored.read_array(stage_range, "gap")
        n_nonzeros = len(stored.datasets(stage_range)["data"])
        most = (1 + 1e-6) * stored.options["code"]["tol"]  # gaps are rounded
        n_inexact = len(unconverged_rows(gaps, most))
    line = f"{stage_range:>5}: {pluralise(len(gaps), 'row')}, {n_nonzeros / len(gaps):.1f} non-zeros each"
    inexact = f"; {pluralise(n_inexact, 'code misses', 'codes miss')} --tol, see gap"
    return f"{line}{inexact if n_inexact else ''}"
