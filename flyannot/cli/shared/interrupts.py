"""Ctrl-C, SIGTERM and SIGHUP end a run by an exception, so that every `finally` cleans up.

An exception that is raised inside a callback of Python's own (of a weak reference, during an import)
is lost, and compiled modules may turn it into another: so it is raised again until it arrives.
"""

import signal
import sys

from flyannot.runtime.system import ENDING_SIGNALS, start_alarm, stop_alarm

_AGAIN_S = 0.5
_asked = []  # the signals of this run so far


class Interrupted(BaseException):
    """A signal asked the run to end."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def listen():
    """Raise `Interrupted` in the main thread when a signal comes."""
    _asked.clear()
    for number in ENDING_SIGNALS:
        signal.signal(number, _ask)
    _raise_again()
    sys.unraisablehook = _report_unraisable


def raise_if_asked():
    """Raise `Interrupted` if a signal has come."""
    if _asked:
        raise Interrupted(_asked[0])


def stop_listening():
    """Once the run has ended: nothing is raised any more."""
    _asked.clear()
    stop_alarm()
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _ask(number, frame):
    _asked.append(number)
    _raise_again()
    raise_if_asked()


def _raise_again():
    start_alarm(lambda: _asked, raise_if_asked, _AGAIN_S)


def _report_unraisable(lost):
    if not isinstance(lost.exc_value, Interrupted):
        sys.__unraisablehook__(lost)
