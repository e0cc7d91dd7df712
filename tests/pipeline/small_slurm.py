"""A SLURM of one node on this machine, with its own munge, controller and node daemon in one folder."""

import os
import shutil
import socket
import subprocess
from contextlib import ExitStack, contextmanager, suppress

from tests.processes import wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "setpriv")
_PATIENCE_S = 60
_CONFIGURATION = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,sched_min_interval=100000,bf_interval=1,batch_sched_delay=0,defer_batch
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=600
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=64000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not():
    """Return in words why no SLURM can be started here, or "" if one can."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        return f"no {', '.join(missing)} here (Debian: slurmctld, slurmd, munge)"
    return "" if os.geteuid() == 0 else "SLURM of one node is started by root"


@contextmanager
def small_slurm(folder):
    """Yield the environment in which sbatch and squeue use a SLURM that lives in `folder`."""
    folder.mkdir(mode=0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    control_port, node_port = _free_ports(2)
    host = socket.gethostname().partition(".")[0]
    (folder / "slurm.conf").write_text(
        _CONFIGURATION.format(folder=folder, host=host, control_port=control_port, node_port=node_port)
    )
    environment = os.environ | {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
    }
    srun = folder / "srun"  # Snakemake calls it without SLURM_CONF, which a cluster has in /etc
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
    srun.chmod(0o755)
    running = []

    def start(*words):
        bound = ["setpriv", "--pdeathsig", "TERM", *words]  # it ends with this process, however that ends
        with open(folder / f"{words[0]}.out", "wb") as said:
            options = {"env": environment, "cwd": folder, "stdout": said, "stderr": said}
            running.append(subprocess.Popen(bound, **options, process_group=0))

    try:
        files = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        start("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files)
        _wait_for_start((folder / "munge.socket").exists, folder)
        start("slurmctld", "-D", "-i", "-f", str(folder / "slurm.conf"))
        start("slurmd", "-D", "-N", host, "-f", str(folder / "slurm.conf"))
        _wait_for_start(lambda: "idle" in _said("sinfo", "--noheader", "-o", "%T", env=environment), folder)
        yield environment
    finally:
        with suppress(OSError, subprocess.TimeoutExpired, AssertionError):
            _said("scancel", "--user=root", env=environment)
            wait_for(lambda: not _said("squeue", "--noheader", env=environment).strip(), timeout=10)
        for one in reversed(running):
            one.terminate()
        for one in running:
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()


def _wait_for_start(is_there, folder):
    try:
        wait_for(is_there, timeout=_PATIENCE_S)
    except AssertionError:
        paths = [*folder.glob("*.log"), *folder.glob("*.out")]
        logs = [f"{path.name}: {path.read_text(errors='replace')[-500:]}" for path in paths]
        raise AssertionError("\n".join(["SLURM did not start", *logs])) from None


def _said(*words, env):
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=30).stdout


def _free_ports(n):
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
