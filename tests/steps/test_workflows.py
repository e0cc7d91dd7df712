"""The example files for SLURM, Snakemake and Nextflow: their commands are ours, and fit one another."""

import os
import re
import shutil
import subprocess

import click
import pytest

from tests.command_lines import contexts_of
from tests.conftest import ROOT

# What stands for values, by file: shell variables, Snakemake's {...}, Nextflow's ${...}.
PLACES = {"slurm.sh": r"\$\w+", "Snakefile": r"\{[^{}]*\}", "flyannot.nf": r"\$\{[^{}]*\}"}
STEPS = ["extract", "learn-dict", "pool", "train", "evaluate"]


def commands_in(name):
    """The flyannot commands of a file, with 1 in the place of what is filled in."""
    text = (ROOT / "configs" / name).read_text().replace("\\\n", " ")
    lines = re.findall(r'^\s*"?(flyannot [^"\n]*(?:"[$]EMBRYOS[^"\n]*"[^"\n]*)*)', text, re.MULTILINE)
    return [re.sub(PLACES[name], "1", line).partition(" || ")[0] for line in lines]


@pytest.mark.parametrize("name", PLACES)
def test_every_command_of_a_workflow_file_is_one_of_ours(name):
    contexts = [contexts_of(line) for line in commands_in(name)]
    assert [one[-1].command.name for one in contexts] == STEPS
    assert contexts[0][-1].params["shard"] == (1, 1)


def test_a_wrong_command_in_such_a_file_would_be_noticed():
    for line in ("flyannot extract x", "flyannot pool a b -o c --gird 2x4", "flyannot lern a -o b"):
        with pytest.raises(click.UsageError):
            contexts_of(line)


SBATCH = """#!/bin/bash
# A stand-in for sbatch: runs the script on stdin at once, as an array if asked, and prints a job number.
script=$(cat); array=; dependency=
for word in "$@"; do
    case $word in --array=*) array=${word#--array=1-};; --dependency=afterok:*) dependency=${word##*:};; esac
done
number=$(( $(ls jobs 2>/dev/null | wc -l) + 1 )); mkdir -p jobs; touch jobs/$number
[ -z "$dependency" ] || [ -e jobs/$dependency ] || exit 9
for i in $(seq 1 ${array:-1}); do
    SLURM_CPUS_PER_TASK=2 SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=$array bash -c "$script" >&2 || exit 8
done
echo $number
"""

# Asks for every input, makes the output, and ends with 3 as if an image had been skipped.
FLYANNOT = """#!/bin/bash
echo "flyannot $*" >> commands
step=$1; shift; out=; inputs=()
while [ $# -gt 0 ]; do
    case $1 in -o|--json) out=$2; shift 2;; --*) shift 2;; *) inputs+=("$1"); shift;; esac
done
for one in "${inputs[@]}"; do [ -e "$one" ] || exit 2; done
touch "$out"
[ $step != extract ] || exit 3
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_slurm_script_submits_the_chain(tmp_path):
    for name, text in (("sbatch", SBATCH), ("flyannot", FLYANNOT)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "my embryos").mkdir()
    (tmp_path / "my embryos" / "annotations.csv").touch()
    done = subprocess.run(
        ["bash", ROOT / "configs" / "slurm.sh", "my embryos", "results", "3"], cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = tmp_path / "results"
    commands = (results / "commands").read_text().splitlines()
    steps = [line.split()[1] for line in commands]
    assert steps == ["extract"] * 3 + ["learn-dict"] + ["pool"] * 3 + ["train", "evaluate"]
    assert [line.partition("--shard ")[2][:3] for line in commands[:3]] == ["1/3", "2/3", "3/3"]
    assert "features.1.h5 features.2.h5 features.3.h5" in commands[-1]
    assert (results / "model.h5").exists() and (results / "scores.json").exists()
