"""Rooms import only rooms above them, and heavy libraries stay where they belong."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import flyannot
from flyannot.cli import group

PACKAGE = Path(flyannot.__file__).parent

# A room imports the rooms above it in its list, and itself.
ROOMS = (
    *("root", "base", "files", "jobs", "sparse", "images", "encode", "dataset", "terms", "curation"),
    *("pipeline", "results", "export", "report", "estimators", "cli"),
)
PIPELINE = ("engine", "models", "pictures", "answers", "learning", "steps", "commands", "runs")
SPARSE = (
    *("simd", "kernels", "objective", "stored_codes", "coders", "nonnegative", "missing_values", "fit"),
    *("learners", "data_parallel"),
)

WARNS = "sparse/coders/verified.py"  # where scikit-learn's class of warnings is used, when there is one

OPEN_PICTURES = {
    "dataset/bdgp_site.py",  # a picture that was just downloaded
    "estimators/dense_sift.py",  # pictures that a user names in Python
    "pipeline/pictures/opened_pictures.py",
}

HEAVY = ("numba", "sklearn", "cv2", "h5py", "scipy", "skimage", "PIL", "tifffile")
SLOW = ("difflib", "html", "importlib.resources", "tempfile", "tomllib")  # that `--help` need not import
ONLY_IN = {
    "benchmarks": (),  # which lie beside the package, and import it
    "h5py": ("files/hdf5/",),
    "click": ("cli/",),
    "httpx": ("dataset/download.py",),
    "tqdm": ("cli/shared/messages.py",),
    "cv2": ("images/geometry.py", "jobs/resources.py"),
    "distributed": ("jobs/dask_cluster.py",),
    "joblib": ("jobs/executor.py", "jobs/resources.py"),
    # Where a model, a score or a map is made, and where scikit-learn is itself the peer.
    "sklearn": ("terms/", "curation/", "estimators/", "encode/similarity.py", WARNS),
    "numba": ("jobs/compiled.py", "sparse/simd/"),
}


@cache
def modules():
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def place(name, among):
    """Return the number of the room of a module, given by its path below the package."""
    first = name.split("/")[0]
    if among is ROOMS:
        first = {"__main__.py": "cli", "__init__.py": "root", "base/errors.py": "root"}.get(name, first)
    return among.index(first.removesuffix(".py"))


@cache
def imported(name):
    """Return the dotted names that a module imports, at the top or inside a function; parse it once."""
    found = []
    for node in ast.walk(ast.parse((PACKAGE / name).read_text())):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} imports relatively"
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return found


def file_of(dotted):
    """Return the module of this package that a dotted name lies in, or None."""
    parts = dotted.split(".")
    while parts[:1] == ["flyannot"]:
        below = "/".join(parts[1:])
        for candidate in (f"{below}.py", f"{below}/__init__.py".lstrip("/")):
            if (PACKAGE / candidate).is_file():
                return candidate
        parts.pop()
    return None


def assert_imports_come_from_above(name, among, below=""):
    used = {file_of(dotted) for dotted in imported(below + name)} - {None, below + "__init__.py"}
    used = {other.removeprefix(below) for other in used if other.startswith(below)}
    wrong = sorted(other for other in used if place(other, among) > place(name, among))
    assert not wrong, f"{below}{name} imports {wrong}, from rooms that come after its own"


@pytest.mark.parametrize("name", modules())
def test_a_room_imports_only_rooms_above_it(name):
    assert_imports_come_from_above(name, ROOMS)


@pytest.mark.parametrize(
    "name", [name for name in modules() if name.startswith("sparse/") and name != "sparse/__init__.py"]
)
def test_so_does_a_part_of_sparse(name):
    assert_imports_come_from_above(name.removeprefix("sparse/"), SPARSE, "sparse/")


@pytest.mark.parametrize("name", [name for name in modules() if name.startswith("pipeline/")])
def test_so_does_a_part_of_the_pipeline(name):
    """The chain and its options stand beside the rooms, which may read them."""
    if name.count("/") == 2:
        others = {file_of(dotted) for dotted in imported(name)} - {None}
        others = {n.split("/")[1] for n in others if n.startswith("pipeline/") and n.count("/") == 2}
        assert others <= set(PIPELINE[: PIPELINE.index(name.split("/")[1]) + 1])


def test_no_modules_import_each_other_in_a_circle():
    used = {name: {file_of(dotted) for dotted in imported(name)} - {None, name} for name in modules()}
    TopologicalSorter(used).prepare()  # it raises an error that names the circle


def test_every_folder_is_a_room_and_the_tests_mirror_them():
    assert {name.split("/")[0] for name in modules() if "/" in name} == set(ROOMS) - {"root"}
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir()}
    folders -= {"__pycache__", "benchmarks", "campaign", "mutants", "platforms"}
    assert folders == set(ROOMS) - {"root", "curation"}


def test_pictures_are_opened_by_few():
    """All steps get their embryos from one module of the pipeline, which opens each file once."""
    readers = "images/embryo.py", "images/image_file.py"
    others = [name for name in modules() if not name.startswith("images/")]

    def opens(dotted):
        """Return whether a dotted name opens files; the class Embryo takes a picture that was opened."""
        return file_of(dotted) in readers and not dotted.endswith(".Embryo")

    assert {name for name in others if any(map(opens, imported(name)))} == OPEN_PICTURES


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_stays_where_it_belongs(library):
    users = [name for name in modules() if any(d.split(".")[0] == library for d in imported(name))]
    assert [name for name in users if not name.startswith(ONLY_IN[library])] == []


def test_help_imports_nothing_heavy():
    """All commands show their help in one process; import comes last, since it alone needs NumPy."""
    code = f"""
import sys
from flyannot.cli import group
names = sorted(group.list_commands(None), key=lambda name: name == "import")
for words in [["--help"], *([name, "--help"] for name in names), ["import", "wu2016", "--help"]]:
    group.main(words, standalone_mode=False)
    assert words[0] != "--help" or not set({SLOW}) & set(sys.modules), sorted(set({SLOW}) & set(sys.modules))
    assert words[0] == "import" or not {{"numpy", "psutil"}} & set(sys.modules), words
assert not set({HEAVY}) & set(sys.modules), sorted(set({HEAVY}) & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ") == len(group.list_commands(None)) + 2
