"""Files of a kind are opened by one reader, and outputs are written whole."""

import ast
import re
from pathlib import Path

import pytest

import flyannot
from flyannot.pipeline.chain import STEPS

PACKAGE = Path(flyannot.__file__).parent

# How a module opens a file by itself: the name of what it calls.
OPENS = re.compile(
    r"""(os\.|io\.|codecs\.|gzip\.|bz2\.|lzma\.|tarfile\.|Image\.)?open | open_regular_file | open_hdf5
    | h5py\.File | (zipfile\.)?ZipFile | (gzip\.)?GzipFile | (tifffile\.)?TiffFile | .*\.is_(tar|zip)file
    | np\.(load|loadtxt|genfromtxt|fromfile|memmap|save|savez|savez_compressed|savetxt) | (json|tomllib)\.load
    | (pickle|marshal|joblib|shelve)\.(load|loads|Unpickler|open) | .*Tree\.(parse|iterparse)
    | .*\.(read_text|read_bytes|imread|loadmat|whosmat|load_workbook|open_czi|LifFile|ParquetFile|read_table)
    | .*\.(read_h5ad|read_zarr|read_hdf|read_excel|read_pickle|read_parquet|read_csv|read_json)
    | (?!formatter).*\.(write_text|write_bytes|to_csv|to_parquet|savefig)""",
    re.VERBOSE,
)

# The one reader of each kind, and the one writer.
STORE = "layout", "reading", "description", "writing"
DOORS = {
    "text, JSON and TOML": ("files/text_files.py",),
    "tables": ("files/workbooks.py",),
    "HDF5": tuple(f"files/hdf5/{name}.py" for name in STORE),
    "pictures": (
        "images/embryo.py",
        *(f"images/{name}_file.py" for name in ("pillow", "tiff", "microscope")),
    ),
    "arrays": ("dataset/importers/vectors.py",),
    "bytes for a digest": ("files/digest.py",),
    "outputs": ("files/atomic_file.py",),
}
# Who else opens or writes a file by itself, and why that goes round no door.
ALLOWED = {
    "jobs/compiled.py": "checksums beside the kernels that numba keeps",
    "base/system.py": "/proc, and files to be synchronised",
    "dataset/download.py": "what arrives is written beside its place, under a lock",
    "dataset/synthetic/generate.py": "a file of a new folder, which appears as a whole",
    "export/arrays.py": "fills the file beside the output that `export` hands it",
    "export/predictions.py": "fills the file beside the output that `export` hands it",
    "images/jpeg_data.py": "the bytes of a JPEG, once more",
    "pipeline/runs/workflow.py": "a text of the package",
    "report/page.py": "its own pictures and text, in a folder beside the page that appears as a whole",
    "files/hdf5/concatenation.py": "bytes of parts, copied into the output that is being made",
    "jobs/shared_value.py": "what this process has packed for its workers",
    "jobs/dask_cluster.py": "a task for a worker, which the same flyannot has packed",
}

# What makes an output appear whole.  The output of a step is made by its task (`pipeline/engine`), and an
# HDF5 file by `files/hdf5`; who else calls one of these is named, with the output.
MAKERS = {"atomic_write", "write_text", "write_table", "atomic_folder", "lock_output"}
MAKERS_OF_TASKS = ("jobs/", "files/", "pipeline/engine/")
MODULES_OF_STEPS = {
    step.task.partition(":")[0].removeprefix("flyannot.").replace(".", "/") + ".py" for step in STEPS.values()
}
OUTPUTS_WITHOUT_A_TASK = {
    "dataset/ontology.py": "the excerpt of an ontology beside predictions",
    "cli/run.py": "holds the record of a run while it runs",
    "dataset/download.py": "a file of a mirror",
    "dataset/folder.py": "the tables of a data set folder",
    "dataset/importers/import_log.py": "the log within a new data set folder",
    "dataset/importers/tables.py": "a new data set folder",
    "dataset/importers/wu2016.py": "a new data set folder",
    "dataset/synthetic/generate.py": "a new data set folder",
    "export/export.py": "an exported file",
    "report/page.py": "the page",
    "pipeline/pictures/pictures_task.py": "holds the output of a later step",
    "results/explanation_pictures.py": "a folder of explanations",
    "pipeline/commands/fetch.py": "holds a mirror while it fetches",
    "pipeline/runs/configuration.py": "the record of a run",
    "pipeline/runs/workflow.py": "the files of a workflow",
}


def calls():
    """Yield (module, line, called function, first argument or "") of every call in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                first = ast.unparse(node.args[0]) if node.args else ""
                yield name, node.lineno, ast.unparse(node.func), first


def opens_by_itself(called, first):
    """Return whether a call opens a file, other than a file of the package or the null device."""
    is_own = called.startswith("(files(") or first == "os.devnull"
    return not is_own and OPENS.fullmatch(called) is not None


@pytest.fixture(scope="module")
def all_calls():
    return [call for call in calls() if not call[0].startswith("benchmarks/")]


def assert_are(places, known):
    """Check that exactly the known modules are among the places."""
    new = sorted(f"{name}:{line}: {called}" for name, line, called in places if name not in known)
    assert not new, f"go through the door of its kind, or say here why not: {new}"
    assert set(known) <= {name for name, *_ in places}, "an exception that is not needed any more"


def test_outside_files_are_opened_by_the_reader_of_their_kind(all_calls):
    doors = {module for modules in DOORS.values() for module in modules}
    found = [place for *place, first in all_calls if opens_by_itself(place[2], first)]
    assert_are([place for place in found if place[0] not in doors], ALLOWED)
    assert doors <= {name for name, *_ in found} | {"files/atomic_file.py"}, "a door that opens nothing"


def test_a_stored_picture_is_checked_wherever_it_is_read(all_calls):
    assert {name for name, _, called, _ in all_calls if called == "read_picture_row"} == {"images/shown.py"}


def test_outputs_are_written_by_the_engine(all_calls):
    found = [(name, line, called) for name, line, called, _ in all_calls if called in MAKERS]
    others = [place for place in found if place[0] not in MODULES_OF_STEPS]
    assert_are(
        [place for place in others if not place[0].startswith(MAKERS_OF_TASKS)], OUTPUTS_WITHOUT_A_TASK
    )


def test_a_path_from_outside_is_opened_where_it_must_be_a_regular_file(all_calls):
    """A pipe would be waited for, and a device has no end; other readers get an open file."""
    by_path = {"open", "os.open", "h5py.File", "np.load", "gzip.open", "zipfile.ZipFile", "tarfile.open"}
    found = {(name, called) for name, _, called, first in all_calls if called in by_path and first == "path"}
    assert {place for place in found if place[0] not in ALLOWED} == {
        ("files/text_files.py", "open"),  # which is `open_regular_file`
        ("files/text_files.py", "os.open"),
        ("files/hdf5/layout.py", "h5py.File"),  # behind it
        ("files/hdf5/writing.py", "open"),
    }


def test_attributes_are_read_where_their_types_are_examined():
    """The value of an attribute of HDF5 can take thousands of times the memory of its file."""
    readers = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            is_written = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
            value = node.value if isinstance(node, ast.Subscript | ast.Attribute) else None
            if isinstance(value, ast.Attribute) and value.attr == "attrs" and not is_written:
                readers.add((path.relative_to(PACKAGE).as_posix(), getattr(node, "attr", "[]")))
    assert readers == {("files/hdf5/writing.py", "create")}
