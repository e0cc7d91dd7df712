"""Tests of a Dask cluster: the same bytes as without, and one line for every fault."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import Thread

import pytest

from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.packages import import_optional
from flyannot.jobs import dask_cluster
from flyannot.jobs.executor import Executor
from tests.dask_cluster import cluster_in
from tests.processes import CLI, LIMIT_S, said_when_ended_by, start_process, wait_for

NOBODY = "tcp://127.0.0.1:1"
NO_ADDRESSES = ("nonsense", "ftp://host:1", "tcp://host:abc")
LONG = "extract embryos -o out.h5 --stride-px 2"


def working(chain, address):
    """Return a command whose tasks are running on a cluster."""
    run = start_process([*CLI, *LONG.split(), "--scheduler", address], cwd=chain.folder)
    wait_for(lambda: list((chain.folder / ".out.h5.parts").glob(".*.tmp")), run)  # a worker writes
    assert run.poll() is None, run.stderr.read()
    return run


@pytest.fixture
def made_here(flyannot, own_chain, monkeypatch):
    """Return a function that runs a command on this machine and returns its output, which it removes."""
    monkeypatch.chdir(own_chain.folder)

    def made(line):
        flyannot(f"{line} --jobs 1", code=0)
        content = Path("out.h5").read_bytes()
        Path("out.h5").unlink()
        return content

    return made


@pytest.mark.parametrize(
    "line",
    [
        "extract embryos -o out.h5 --stride-px 16",
        "pool descriptors.h5 dictionary.h5 -o out.h5 --grid 1x2",
        "annotate model.h5 embryos -o out.h5",
    ],
)
def test_a_cluster_makes_the_same_bytes(flyannot, cluster, made_here, line):
    """This holds for relative paths too, although workers run in another folder."""
    expected = made_here(line)
    said = flyannot(f"{line} --scheduler {cluster.address}")
    assert said.code == 0 and Path("out.h5").read_bytes() == expected
    assert not re.search("^warning", said.err, re.MULTILINE) and not list(Path().glob(".out*"))


def square(i):
    return i * i


def test_a_worker_that_is_killed_is_replaced_and_changes_nothing(cluster, own_chain, made_here):
    expected = made_here(LONG)
    run = working(own_chain, cluster.address)
    cluster.workers()[0].kill()
    _, err = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, err
    assert Path("out.h5").read_bytes() == expected


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_kills_its_workers_is_named(cluster_workers):
    with pytest.raises(FlyannotError, match="2 workers were killed by the images a to b") as caught:
        cluster_workers.run_all(die, [1], name=lambda _: "the images a to b")
    assert "memory" in caught.value.fix


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_the_run_and_its_tasks(cluster, own_chain, name, code):
    run = working(own_chain, cluster.address)
    err = said_when_ended_by(run, getattr(signal, name), group=True)
    assert run.returncode == code
    assert err.splitlines()[1:] == ["Interrupted: repeat the command, and it continues where it stopped."]
    parts = own_chain.folder / ".out.h5.parts"
    wait_for(lambda: not list(parts.glob(".*")))  # a task ends at its next image


def test_a_scheduler_that_goes_away_ends_the_run_and_it_continues(made_here, own_chain, tmp_path):
    with cluster_in(tmp_path, 1) as cluster:
        run = working(own_chain, cluster.address)
        cluster.scheduler.kill()
        _, err = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 1
    _, error, fix = err.splitlines()
    assert error == f"Error: the scheduler at {cluster.address} is gone" and fix.startswith("Fix: ")
    assert made_here(LONG) and not list(own_chain.folder.glob(".out*"))


@pytest.mark.parametrize("address", [NOBODY, *NO_ADDRESSES])
def test_an_address_of_no_scheduler_is_explained(flyannot, chain, tmp_path, monkeypatch, address):
    monkeypatch.setattr(dask_cluster, "_CONNECTS_S", 1)
    said = flyannot("extract E -o O --scheduler A", E=chain.embryos, O=tmp_path / "o.h5", A=address)
    assert said.code == 1 and "no scheduler answers at" in said.err and "Fix: " in said.err


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64), b"\xff" * 64, b""])
def test_another_server_at_the_address_is_no_scheduler(flyannot, chain, tmp_path, monkeypatch, answer):
    monkeypatch.setattr(dask_cluster, "_CONNECTS_S", 2)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            connection.sendall(answer)
            with suppress(OSError):
                while connection.recv(1000):  # as a web server waits for the end of what is asked
                    pass

        Thread(target=serve, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        said = flyannot("extract E -o O --scheduler A", E=chain.embryos, O=tmp_path / "o.h5", A=address)
    *_, error, fix = said.err.splitlines()
    assert said.code == 1 and error == f"Error: no scheduler answers at {address}" and "--scheduler" in fix


def test_a_scheduler_without_workers_is_explained(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_cluster, "_WITHOUT_WORKERS_S", 1)
    with cluster_in(tmp_path) as cluster, Executor(scheduler=cluster.address) as workers:
        with pytest.raises(FlyannotError, match="has had no workers for 1 s") as caught:
            workers.run_all(square, [1, 2])
        assert f"dask worker {cluster.address}" in caught.value.fix


def test_workers_that_do_not_see_the_files_are_named(cluster_workers, tmp_path, monkeypatch):
    with pytest.raises(FlyannotError, match="the worker at tcp:.* does not see /nowhere") as caught:
        cluster_workers.run_all(square, [1], reads=lambda _: [Path("/nowhere")])
    assert "file system that all machines share" in caught.value.fix
    monkeypatch.setattr(dask_cluster, "_create_mark", lambda folder: nullcontext(folder / ".wanted"))
    with pytest.raises(FlyannotError, match="does not see .*/.wanted"):
        cluster_workers.run_all(square, [1], folder=tmp_path / "parts")


def test_workers_with_another_flyannot_are_named(tmp_path):
    (tmp_path / "flyannot").mkdir()
    (tmp_path / "flyannot" / "__init__.py").write_text('__version__ = "0.0.0"\n')
    with cluster_in(tmp_path, 1, path=tmp_path) as cluster, Executor(scheduler=cluster.address) as workers:
        with pytest.raises(FlyannotError, match="has flyannot 0.0.0, and here is") as caught:
            workers.run_all(square, [1])
        assert "install flyannot" in caught.value.fix


def test_without_the_extra_the_command_that_installs_it_is_named(flyannot, chain, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = flyannot("extract E -o O --scheduler A", E=chain.embryos, O=tmp_path / "o.h5", A=NOBODY)
    assert said.code == 2 and "pip install 'flyannot[dask]'" in said.err


def test_a_configuration_that_stops_the_import_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    tmp_path.joinpath("odd.py").write_text("raise ValueError('A file at /x is malformed:\\n[')")
    with pytest.raises(InputError, match=r"cannot be imported: A file at /x is malformed:\nFix"):
        import_optional("odd", "dask")


def test_no_engine_is_imported_that_is_not_asked_for():
    code = """
import sys
from flyannot.jobs.executor import Executor
assert Executor().run_all(abs, [-1, 2]) == [1, 2]
assert not {"distributed", "dask", "joblib.externals.loky"} & set(sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=LIMIT_S).returncode == 0
