"""Clocks.  One thread is timed in processor time, which other programs do not lengthen.

On an idle machine the two agree.  Several threads, and what reads a file, are timed in wall-clock time.
"""

import time

import numpy as np


class Stopwatch:
    """`with Stopwatch() as watch:` times its block; `watch.seconds`."""

    def __init__(self, clock=time.process_time):
        self._clock = clock

    def __enter__(self):
        self._start = self._clock()
        return self

    def __exit__(self, *exception):
        self.seconds = self._clock() - self._start


def median_seconds(*functions, at_least_s=0.5, clock=time.process_time):
    """The median time of one call of each function; they take turns until `at_least_s` have passed."""
    seconds, passed = [], 0.0
    while not seconds or passed < at_least_s:
        seconds.append([])
        for function in functions:
            with Stopwatch(clock) as watch:
                function()
            seconds[-1].append(watch.seconds)
        passed += sum(seconds[-1])
    return np.median(seconds, axis=0)


class Clocked:
    """An object that behaves as another; `seconds` sums the time of its methods `timed` and of indexing."""

    def __init__(self, inner, *timed, clock=time.process_time):
        self._inner, self._timed, self._clock, self.seconds = inner, timed, clock, 0.0

    def __getattr__(self, name):
        attribute = getattr(self._inner, name)
        return self._call(attribute) if name in self._timed else attribute

    def __len__(self):
        return len(self._inner)

    def __getitem__(self, rows):
        return self._call(self._inner.__getitem__)(rows)

    def _call(self, function):
        def timed(*arguments):
            with Stopwatch(self._clock) as watch:
                result = function(*arguments)
            self.seconds += watch.seconds
            return result

        return timed
