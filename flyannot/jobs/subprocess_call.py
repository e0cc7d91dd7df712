"""Calling a function in a process of its own, for code that may crash or hang on what it reads."""

import multiprocessing
import os
import signal
import threading
import time
from contextlib import suppress

import psutil

_LOOKS_EVERY_S = 0.2


class SubprocessDied(Exception):
    """The process ended, or was ended after its time, without an answer; the message says which."""


def call_in_subprocess(function, *arguments, limit_s, most_bytes=float("inf")):
    """What function(*arguments) returns, called in a spawned process that is killed after `limit_s` seconds,
    or once it is seen to hold more memory than `most_bytes`.

    Starting the process is not counted.  The function must be importable; its arguments, its result and its
    exceptions, which are raised here, are pickled.  SubprocessDied if the process crashed or took too long.
    RuntimeError if it could not even start, as under a script that lacks `if __name__ == "__main__"`.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, os.getpid(), function, arguments), daemon=True)
    process.start()
    theirs.close()  # else the end of the process would not be the end of the pipe
    try:
        try:
            ours.recv()
        except EOFError:
            raise RuntimeError("a process of its own could not be started") from None
        until = time.monotonic() + limit_s
        while not ours.poll(min(0.05, limit_s)):
            if time.monotonic() > until:
                raise SubprocessDied(f"took more than {limit_s:g} s")
            with suppress(psutil.Error):  # ended: the pipe says so
                if psutil.Process(process.pid).memory_info().rss > most_bytes:
                    raise SubprocessDied(f"took more than {most_bytes:,} bytes of memory")
        try:
            is_result, answer = ours.recv()
        except EOFError:
            process.join()
            code = process.exitcode or 0
            name = signal.Signals(-code).name if -code in {*signal.Signals} else f"exit code {code}"
            raise SubprocessDied(f"ended by {name}") from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if not is_result:
        raise answer
    return answer


def _answer(pipe, parent, function, arguments):
    """Send the result or the exception of a call from the child, without what a crash prints."""
    exit_with_parent(parent)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 2)
    pipe.send("ready")
    try:
        answer = True, function(*arguments)
    except Exception as error:
        answer = False, error
    pipe.send(answer)


def exit_with_parent(parent):
    """Make this child ignore Ctrl-C, which its parent answers, and end when the process `parent` ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent):
    while os.getppid() == parent and psutil.pid_exists(parent):  # Windows keeps the number of a dead parent
        time.sleep(_LOOKS_EVERY_S)
    os._exit(1)
