"""Fixtures of executors: this process, two processes, and a Dask cluster."""

import pytest

from flyannot.jobs.executor import Executor
from tests.dask_cluster import cluster_in


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with cluster_in(tmp_path_factory.mktemp("cluster"), 2) as cluster:
        yield cluster


@pytest.fixture
def cluster_workers(cluster):
    with Executor(scheduler=cluster.address) as workers:
        yield workers


@pytest.fixture(params=[1, 2, "cluster"])
def workers(request):
    """Yield an executor with this process, two others, or a cluster."""
    if request.param == "cluster":
        yield request.getfixturevalue("cluster_workers")
        return
    with Executor(request.param) as workers:
        yield workers
