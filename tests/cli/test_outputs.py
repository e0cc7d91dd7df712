"""Outputs of all commands: none may be an input, and none replaces a file without --force."""

import os
import shlex
import shutil
import signal
from functools import partial
from glob import escape, glob
from pathlib import Path

import click
import numpy as np
import pytest

from flyannot.cli import group
from flyannot.cli.shared.options import OutputPath
from flyannot.report import page
from tests.cli.test_cli import check_error
from tests.command_lines import commands_below
from tests.dataset.test_import import N_IMAGES, tables_of
from tests.dataset.test_wu2016 import made_up
from tests.processes import LIMIT_S, start_fork

# A line for every command that reads, and writes a file: O is the output, words that name files are inputs.
LINES = {
    "extract": "extract embryos -o O",
    "learn-dict": "learn-dict descriptors.h5 -o O --n-atoms 12",
    "pool": "pool descriptors.h5 dictionary.h5 -o O",
    "train": "train features.h5 embryos/annotations.csv --corrections corrections.csv -o O --min-groups 4",
    "annotate": "annotate model.h5 embryos --ontology fbbt.obo -o O",
    "workflow": "workflow configs/demo.toml --data-set embryos -o O",
    "report": "report . -o O",
    "similar": "similar features.h5 embryo.png --stage-range 4-6 --data-set embryos -o O",
    "evaluate --json": "evaluate features.h5 embryos/annotations.csv --model model.h5 --json O",
    "export": "export predictions.h5 --to csv --ontology fbbt.obo -o O",
    "curate": "curate anna.csv ben.csv -o O",
    "annotations": "annotations embryos/annotations.csv anna.csv -o O",
    "import features": "import features network.npz -o O",
}
# A line for every command that reads, and writes a folder: into that of an input, which it would replace.
FOLDERS = {
    "run": "run mine/run.toml --data-set embryos -o mine",
    "explain": "explain model.h5 embryos --gene syn001 --stage-range 4-6 -o embryos --force",
    "import wu2016": "import wu2016 mine/patterns.npz -o mine --force",
    "import flyexpress": "import flyexpress bmp mine/images.csv --copy -o mine --force",
    "import bdgp": "import bdgp bmp mine/images.csv --copy -o mine --force",
}
REPLACE_NONE = {"run --data-set"}  # which its first step may make, and then knows
# What a command reads of a folder that it is given.
READ = {
    "extract": ["embryos/images/syn001_4-6_1.png"],
    "report": ["predictions.h5", "embryos/images.csv", "embryos/images/syn001_4-6_1.png"],
    "similar": ["embryos/images.csv", "embryos/annotations.csv"],
    "workflow": ["embryos/images.csv"],
}
# A line for every command that reads a data set folder, here `mine`, and writes a file.
OF_DATA_SET = [
    "extract mine --stage-range 4-6 -o O --force",
    "pool mine dictionary.h5 --stage-range 4-6 -o O --force",
    "train features.h5 mine -o O --force",
    "annotate model.h5 mine --stage-range 4-6 -o O --force",
    "evaluate features.h5 mine --model model.h5 --json O",
    "report . --data-set mine -o O",
    "similar features.h5 embryo.png --stage-range 4-6 --data-set mine -o O --force",
    "workflow configs/demo.toml --data-set mine -o O --force",
]
MADE_AS_ONE = {"learn-dict", "pool", "train", "annotate", "extract", "import features"}


def test_every_command_that_reads_and_writes_has_its_line():
    writers = set()
    for name, command in commands_below(group):
        written = [param for param in command.params if isinstance(param.type, OutputPath)]
        if any(isinstance(param.type, click.Path) and param not in written for param in command.params):
            writers |= {f"{name} {param.opts[-1]}".removesuffix(" --output") for param in written}
    assert {name.removeprefix("flyannot ") for name in writers} == {*LINES, *FOLDERS, *REPLACE_NONE}


@pytest.mark.parametrize("command", LINES)
def test_no_output_is_one_of_the_inputs(flyannot, workplace, run, command):
    """The output is named directly, by a link of either kind or by a detour; a pipe is refused, too."""
    for name in ("scores.json", "run.toml"):
        shutil.copy(run.folder / name, name)
    forced = " --force" if command not in ("report", "evaluate --json") else ""
    inputs = [word for word in LINES[command].split() if (workplace / word).is_file()]
    inputs += READ.get(command, ())
    for name in inputs:
        before = (workplace / name).read_bytes()
        for link in (Path("soft.h5"), Path("hard.h5")):
            link.unlink(missing_ok=True)
        Path("soft.h5").symlink_to(name)
        Path("hard.h5").hardlink_to(name)
        detour = [f"new/../{name}"] if name == inputs[0] else []
        for out in (name, "soft.h5", "hard.h5", *detour):
            check_error(flyannot(LINES[command] + forced, O=out), 2, out)
            assert (workplace / name).read_bytes() == before
    os.mkfifo("pipe.h5")
    check_error(flyannot(LINES[command] + forced, O="pipe.h5"), 2, "pipe.h5 is not a regular file")


@pytest.mark.parametrize("command", FOLDERS)
def test_no_output_folder_takes_an_input_away(flyannot, workplace, command):
    for folder in ("mine", "bmp"):
        (workplace / folder).mkdir()
    shutil.copy("configs/demo.toml", "mine/run.toml")
    np.savez("mine/patterns.npz", **made_up())
    images, _ = tables_of(command.removeprefix("import "))
    Path("mine/images.csv").write_bytes(images)
    shutil.copy("embryos/annotations.csv", "mine")  # wu2016 takes it from beside its file
    for i in range(N_IMAGES):
        (workplace / "bmp" / f"insitu{i}_s.bmp").touch()
    before = {path: path.read_bytes() for path in workplace.glob("*/*.*") if path.is_file()}
    check_error(flyannot(FOLDERS[command]), 2, "both input and output")
    assert all(path.read_bytes() == was for path, was in before.items())


@pytest.mark.parametrize("has_table", [True, False])
def test_no_output_is_a_picture_of_a_data_set_with_or_without_a_table(
    flyannot, workplace, record_property, has_table
):
    """The picture is named directly, through links and by a detour, with a suffix and without."""
    Path("mine").mkdir()
    names = ["syn001_4-6_1.png", "syn002_4-6_1"]
    for name in names:
        shutil.copy(f"embryos/images/{Path(name).stem}.png", f"mine/{name}")
    if has_table:
        shutil.copy("embryos/annotations.csv", "mine")
        rows = "".join(f"{name},{name[:6]},4-6\n" for name in names)
        Path("mine/images.csv").write_text(f"image,gene,stage_range\n{rows}")
    Path("linked").symlink_to("mine", target_is_directory=True)
    Path("soft.png").symlink_to(f"mine/{names[0]}")
    before = {path: path.read_bytes() for path in Path("mine").iterdir()}
    outs = [*(f"mine/{name}" for name in names), f"mine/../mine/{names[0]}", f"linked/{names[1]}", "soft.png"]
    record_property("trials", len(OF_DATA_SET) * len(outs))
    for line in OF_DATA_SET:
        for out in outs:
            said = flyannot(line, O=out)
            assert said.code == 2 or not has_table and said.code, (line, out, said)
    assert {path: path.read_bytes() for path in Path("mine").iterdir()} == before
    assert Path("soft.png").is_symlink()


def test_a_command_whose_input_is_not_there_makes_nothing(flyannot, workplace):
    """Neither the folder of the output, nor its parents."""
    every = (*LINES.values(), *FOLDERS.values(), "report embryos -o O")
    lines = [line for line in every if "workflow" not in line]
    before = sorted(os.listdir())
    for line in lines:
        words = shlex.split(line.replace(" -o mine", " -o O").replace(" -o embryos", " -o O"))
        inputs = [word for word in words[1:] if Path(word).exists() or word.startswith("mine")]
        words[words.index(inputs[0], 1)] = "gone"
        said = flyannot(shlex.join(words), O="new/deep/out.h5")
        assert said.code in (2, 65), (words, said)
        assert sorted(os.listdir()) == before, words
    check_error(flyannot("report typo"), 2, "no such folder: typo")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("command", LINES)
def test_a_file_that_is_there_is_replaced_only_by_force(flyannot, workplace, command):
    out = workplace / ("mine.h5" if command in MADE_AS_ONE else "mine.csv")
    out.write_bytes(b"mine")
    said = flyannot(LINES[command], O=out.name)
    check_error(said, 2 if command != "annotate" else said.code, out.name)
    assert out.read_bytes() == b"mine" and said.code in (2, 65)


def test_explaining_a_picture_into_a_data_set_folder_leaves_its_table(flyannot, workplace):
    before = Path("embryos/images.csv").read_bytes()
    line = "explain model.h5 embryos/images/syn001_4-6_1.png --stage-range 4-6 -o embryos --force"
    flyannot(line, code=0)
    assert Path("embryos/images.csv").read_bytes() == before and Path("embryos/contributions.csv").exists()


@pytest.mark.parametrize(
    ("line", "table"),
    [
        ("learn-dict descriptors.h5 -o my.h5 --n-atoms 12 --n-epochs 1", "my.trace.csv"),
        ("annotate model.h5 embryos -o my.h5", "my.csv"),
        ("extract photographs.csv --multiple-embryos --register axis -o my.h5", "my-embryos.csv"),
    ],
)
def test_a_table_beside_an_output_replaces_none_of_the_users(flyannot, workplace, line, table):
    shutil.copy("embryos/images.csv", "photographs.csv")
    Path(table).write_text("mine\n")
    for more in ("", " --force"):
        check_error(flyannot(line + more), 2, f"the table {table} would be replaced")
    Path(table).unlink()
    Path(table).symlink_to(line.split()[1])
    check_error(flyannot(line), 2, table)
    assert not Path("my.h5").exists()


# Of what is written without a step: commands, and all that they write.
WRITTEN = {
    "curate anna.csv ben.csv -o both.csv": ["both.csv"],
    "workflow configs/demo.toml --data-set embryos -o w": ["w", "profiles/slurm/config.yaml"],
    "similar features.h5 embryo.png --stage-range 4-6 -o s.csv": ["s.csv"],
    "report . -o *.html": ["*.html"],
}


def die_renaming(moments):
    """Let this process be killed just before or after it renames something here; pages have parts beside.

    A kernel in its folder does not count.
    """
    page.write_page.__kwdefaults__["page_bytes"] = 1000

    def dying(rename):
        def renamed(*names):
            nonlocal moments
            for step in (lambda: None, lambda: rename(*names)):
                step()
                moments -= os.path.abspath(names[1]).startswith(os.getcwd())
                if moments == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        return renamed

    os.replace = dying(os.replace)
    os.rename = dying(os.rename)


@pytest.mark.parametrize("line", WRITTEN)
def test_after_a_kill_the_same_command_ends_and_nothing_is_left(flyannot, workplace, run, trials, line):
    """Files of others stay, also if a name contains a star."""
    for name in ("scores.json", "run.toml"):
        shutil.copy(run.folder / name, name)
    others = ["a.html-files-0123456789ab", ".a.html.12.new"] if "report" in line else []
    for other in others:
        Path(other).mkdir()
    for n in range(1, 1 + trials(3, campaign=12)):
        killed = start_fork(line, prepare=partial(die_renaming, n))
        said = killed.communicate(timeout=LIMIT_S)
        if killed.returncode == 0:
            break
        assert killed.returncode == -signal.SIGKILL, said
        assert any(name.startswith(".") for name in os.listdir())
        is_complete = Path("looks").exists()  # the folder comes last, and is then in the way as any other
        flyannot(line, code=2 if is_complete else 0)
        left = [name for name in os.listdir() if name.startswith(".") and name not in others]
        assert not left and all(map(os.path.exists, (*WRITTEN[line], *others)))
        for name in [*WRITTEN[line], *glob(f"{escape(WRITTEN[line][0])}-files-*")]:
            Path(name).unlink() if Path(name).is_file() else shutil.rmtree(name)
    assert n > 2
