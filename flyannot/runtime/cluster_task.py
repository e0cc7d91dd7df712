"""Sending a task to a process on another machine, and carrying it out there.

A path is sent in full: what takes the task works in another folder.  It must see the files by these paths.
"""

import io
import pickle
import time
from functools import partial
from pathlib import Path

from flyannot.errors import FlyannotError
from flyannot.runtime.progress_events import progress_sent_to
from flyannot.runtime.resources import one_thread_for_good

_SEES_WITHIN_S = 5.0  # what was written a moment ago, through a file system that keeps names for a while
_TELLS_EVERY_S = 0.5


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj):
        if isinstance(obj, Path) and not obj.is_absolute():
            return type(obj), (str(obj.absolute()),)
        return NotImplemented


def packed(work, task, reads, mark):
    """A task as bytes.

    Parameters
    ----------
    work, task : the function and its argument
    reads : paths that it reads
    mark : path of a file that is there while the run wants the task; None if it writes no files
    """
    written = io.BytesIO()
    _Pickler(written).dump((work, task, list(reads), mark))
    return written.getvalue()


def carry_out(packed_task, tell):
    """In a worker: ("result", what the task returns) or ("unfit", why this worker cannot do it).

    tell : function of the number of items that ended, and of kernels that began to be compiled
    """
    try:
        work, task, reads, mark = pickle.loads(packed_task)
    except (AttributeError, ImportError) as error:  # of one version, and yet not the same
        return "unfit", f"has another flyannot: {error}"
    for path in (mark, *reads):
        if path is not None and not _sees(path):
            return "unfit", f"does not see {path}"
    one_thread_for_good()
    news = _News(tell, mark)
    with progress_sent_to(news.items, partial(tell, 0, 1)):
        result = work(task)
    news.send()
    return "result", result


def _sees(path):
    until = time.monotonic() + _SEES_WITHIN_S
    while not path.exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


class _News:
    """Collects items, and tells of them now and then; ends the task if nobody wants it any more."""

    def __init__(self, tell, mark):
        self._tell, self._mark, self._n, self._last = tell, mark, 0, time.monotonic()

    def items(self, n):
        self._n += n
        if time.monotonic() - self._last > _TELLS_EVERY_S:
            self.send()

    def send(self):
        if self._mark is not None and not self._mark.exists():
            raise FlyannotError(
                f"a worker does not see {self._mark} any more",
                fix="check the file system that machines share",
            )
        self._tell(self._n, 0)
        self._n, self._last = 0, time.monotonic()
