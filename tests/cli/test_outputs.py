"""One law for the output of every command: it is none of the inputs, and replaces nothing without --force."""

import click
import pytest

from flyannot.cli import group
from flyannot.cli.shared.option_table import commands_below
from tests.cli.test_cli import faulty

# A line for every command that writes a file by -o: O is the output, and words that name files are inputs.
LINES = {
    "extract": "extract embryos -o O",
    "learn-dict": "learn-dict descriptors.h5 -o O --n-atoms 12",
    "pool": "pool descriptors.h5 dictionary.h5 -o O",
    "train": "train features.h5 embryos/annotations.csv -o O --min-groups 4",
    "annotate": "annotate model.h5 embryos -o O",
    "workflow": "workflow configs/demo.toml --engine slurm -o O",
    "report": "report . -o O",
    "similar": "similar features.h5 syn001 --stage-range 4-6 -o O",
    "export": "export predictions.h5 --to csv -o O",
    "queue": "queue . -o O",
    "curate": "curate anna.csv ben.csv -o O",
    "annotations": "annotations embryos/annotations.csv anna.csv -o O",
    "import dictionary": "import dictionary D.mat --descriptors descriptors.h5 -o O",
    "import features": "import features network.npz -o O",
}
MADE_AS_ONE = {"learn-dict", "pool", "train", "annotate", "extract", "import dictionary", "import features"}


def test_every_command_that_writes_a_file_has_its_line():
    writers = {
        name.removeprefix("flyannot ")
        for name, command in commands_below(group)
        if any(isinstance(param, click.Option) and param.name == "out" for param in command.params)
    }
    assert writers == set(LINES)


@pytest.mark.parametrize("command", LINES)
def test_no_output_is_one_of_the_inputs(flyannot, workplace, command):
    """Also by a link, and with --force."""
    inputs = [word for word in LINES[command].split() if (workplace / word).is_file()]
    images = sorted(str(path.relative_to(workplace)) for path in workplace.glob("embryos/images/*"))
    for name in inputs or (images[:1] if command == "extract" else ["predictions.h5"]):
        (workplace / "link.h5").unlink(missing_ok=True)
        (workplace / "link.h5").symlink_to(workplace / name)
        before = (workplace / name).read_bytes()
        forced = " --force" if command != "report" else ""
        for out in (name, "link.h5"):
            faulty(flyannot(LINES[command] + forced, O=out), 2, out)
            assert (workplace / name).read_bytes() == before


@pytest.mark.parametrize("command", LINES)
def test_a_file_that_is_there_is_replaced_only_by_force(flyannot, workplace, command):
    out = workplace / ("mine.h5" if command in MADE_AS_ONE else "mine.csv")
    out.write_bytes(b"mine")
    said = flyannot(LINES[command], O=out.name)
    faulty(said, 2 if command != "annotate" else said.code, out.name)
    assert out.read_bytes() == b"mine" and said.code in (2, 65)


def test_a_folder_of_pictures_is_no_input_and_takes_no_table_of_images_away(flyannot, workplace):
    """Explained into a data set folder, its images.csv stays."""
    line = "explain model.h5 embryos --gene syn001 --stage-range 4-6 -o O --force"
    before = (workplace / "embryos" / "images.csv").read_bytes()
    (workplace / "link").symlink_to(workplace / "embryos")
    for out in ("embryos", "link"):
        faulty(flyannot(line, O=out), 2, f"{out} is both input and output")
    single = line.replace("embryos --gene syn001", "embryos/images/syn001_4-6_1.png")
    flyannot(single, O="embryos", code=0)
    assert (workplace / "embryos" / "images.csv").read_bytes() == before
    assert (workplace / "embryos" / "contributions.csv").exists()
