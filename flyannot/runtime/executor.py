"""The one seam of parallel work: who carries out the tasks of a command, and hears of their progress.

One job runs in this process; more run in processes of this machine, which stay from step to step; with the
address of a scheduler, workers of its cluster do all.  What starts or finds them is imported with the first
task.  BLAS is held to one thread everywhere, so that the bits do not depend on who works.
"""

from contextlib import closing

from flyannot.runtime.progress_events import progress_sent_to
from flyannot.runtime.resources import one_blas_thread


class Executor:
    """Carries out tasks; to be closed when the command ends, or used as a context.

    jobs : how many tasks run at a time on this machine
    scheduler : address of the scheduler of a Dask cluster that works instead; None for none
    """

    def __init__(self, jobs=1, scheduler=None):
        self.jobs, self.scheduler, self._engine = jobs, scheduler, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def run_all(self, work, tasks, *, on_done=None, on_items=None, name=str, **files):
        """Call work(task) for every task; results come in the order of the tasks.

        Parameters
        ----------
        work : function at the top of a module; a task and a result are pickled
        tasks : list
        on_done : called with each result as it comes
        on_items : called now and then with n, the items of tasks that ended so far
        name : function of a task: what it is called in messages
        files : `folder` where tasks write and `reads`, a function of a task to the paths that it reads, where
            these are named in tasks: a cluster must see them under the same paths

        Raises
        ------
        FlyannotError
            If a task kills its worker twice, or the cluster cannot be used.
        Exception
            Whatever `work` raises; the workers are ended.
        """
        results, items = {}, _Items(on_items)
        try:
            with closing(self._results(work, tasks, name, items.tell, files)) as found:
                for i, result in found:
                    results[i] = result
                    if on_done is not None:
                        on_done(result)
        except BaseException:
            self.close()
            raise
        return [results[i] for i in range(len(tasks))]

    def close(self):
        """End the workers, at once; more tasks would start new ones."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _results(self, work, tasks, name, tell, files):
        """(index, result) pairs as they come."""
        if not tasks or self.scheduler is None and (self.jobs == 1 or len(tasks) == 1):
            return _results_here(work, tasks, tell)
        if self._engine is None:
            self._engine = self._opened()
        return self._engine.results(work, tasks, name, tell, **files)

    def _opened(self):
        if self.scheduler is not None:
            from flyannot.runtime.dask_workers import DaskWorkers

            return DaskWorkers(self.scheduler)
        from flyannot.runtime.local_workers import LocalWorkers

        return LocalWorkers(self.jobs)


def _results_here(work, tasks, tell):
    with one_blas_thread(), progress_sent_to(tell):
        for i, task in enumerate(tasks):
            yield i, work(task)


class _Items:
    """Counts the items of tasks that ended, and says how many."""

    def __init__(self, say):
        self._say, self._n = say, 0

    def tell(self, n):
        self._n += n
        if self._say is not None:
            self._say(self._n)
