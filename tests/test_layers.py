"""Imports point down, and heavy libraries stay where they belong."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import flyannot
from flyannot.cli import COMMANDS

PACKAGE = Path(flyannot.__file__).parent
BOTTOM = {"errors", "legal", "stage_ranges"}
HEAVY = ("numba", "sklearn", "cv2", "h5py", "scipy", "skimage", "PIL", "tifffile")
ONLY_IN = {
    "h5py": ("store/",),
    "click": ("cli/",),
    "httpx": ("fetching/", "steps/fetch.py"),
    "tqdm": ("cli/progress.py",),
    "cv2": ("images.py", "descriptors.py", "patches.py", "executor.py", "embryo_picture.py"),
    # Where a model or a score is made, and where scikit-learn is itself the reference or the peer.
    "sklearn": (
        "svm.py",
        "liblinear.py",
        "rbf_svm.py",
        "propagation.py",
        "scores.py",
        "estimators",
        "sparse/coders/lars.py",
        "bench/",
        "experiments/annotators.py",  # the lasso and the label spreading that SISO is measured against
    ),
    "numba": ("compiled.py", "sparse/learners/scc_vector", "sparse/coders/cd_vectors"),
}


def modules():
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def layer(name):
    """The layer of a module, by its path below the package."""
    top = name.split("/")[0].removesuffix(".py")
    if top in BOTTOM or name == "__init__.py":
        return 0
    if top == "compiled" or name in ("sparse/objective.py", "sparse/kernels.py"):
        return 1
    if top == "sparse":
        return 2
    return {"steps": 4, "pipeline": 4, "report": 4, "estimators": 4}.get(
        top, 5 if top in ("cli", "bench", "experiments", "__main__") else 3
    )


def imported(name):
    """The dotted names that a module imports, at the top or inside a function."""
    for node in ast.walk(ast.parse((PACKAGE / name).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def file_of(dotted):
    """The module of this package that a dotted name lies in, or None."""
    parts = dotted.split(".")
    while parts[:1] == ["flyannot"]:
        below = "/".join(parts[1:])
        for candidate in (f"{below}.py", f"{below}/__init__.py".lstrip("/")):
            if (PACKAGE / candidate).is_file():
                return candidate
        parts.pop()
    return None


@pytest.mark.parametrize("name", modules())
def test_imports_point_down(name):
    used = {file_of(dotted) for dotted in imported(name)} - {None}
    up = sorted(other for other in used if layer(other) > layer(name))
    assert not up, f"{name} (layer {layer(name)}) imports {up} from above"


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_stays_where_it_belongs(library):
    users = [name for name in modules() if any(d.split(".")[0] == library for d in imported(name))]
    assert [name for name in users if not name.startswith(ONLY_IN[library])] == []


def test_sparse_coding_needs_no_files_and_no_classifier():
    reference = "sparse/coders/lars.py"  # scikit-learn's own solver, as one coder among ours
    for name in (name for name in modules() if layer(name) in (1, 2) and name != reference):
        assert not {d.split(".")[0] for d in imported(name)} & {"h5py", "click", "sklearn", "cv2"}


def test_the_library_does_not_print():
    for name in modules():
        for node in ast.walk(ast.parse((PACKAGE / name).read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{name}:{node.lineno}"


def test_no_module_draws_from_a_hidden_generator():
    """`np.random` names types and makers of generators only, never the global one."""
    allowed = {"default_rng", "Generator", "SeedSequence"}
    for name in modules():
        for node in ast.walk(ast.parse((PACKAGE / name).read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np.random":
                assert node.attr in allowed, f"{name}:{node.lineno} uses np.random.{node.attr}"


def test_help_imports_nothing_heavy():
    """The help of all commands, in one process."""
    code = f"""
import sys
from flyannot.cli import COMMANDS, group
for words in [["--help"], *([name, "--help"] for name in COMMANDS), ["import", "wu2016", "--help"]]:
    group.main(words, standalone_mode=False)
assert not set({HEAVY}) & set(sys.modules), sorted(set({HEAVY}) & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ") == len(COMMANDS) + 2
