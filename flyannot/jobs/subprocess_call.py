"""Calling a function in a process of its own, for code that may crash or hang on what it reads."""

import multiprocessing
import os
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import wait

import psutil


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
    process = context.Process(target=_answer, args=(theirs, function, arguments), daemon=True)
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


def _answer(pipe, function, arguments):
    """In the child; what a crash prints is of no use to anyone."""
    exit_with_parent()
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 2)
    pipe.send("ready")
    try:
        answer = True, function(*arguments)
    except Exception as error:
        answer = False, error
    pipe.send(answer)


def exit_with_parent(life=None):
    """In a child: Ctrl-C is the parent's to answer, and a child does not outlive its parent.

    life : what becomes ready with the parent's end, where `multiprocessing` does not know the parent: the
        reading end of a pipe of which the parent alone has the other
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    life = life or getattr(parent, "sentinel", None)
    if life is not None:
        threading.Thread(target=_end_with, args=(life,), daemon=True).start()


def _end_with(life):
    wait([life])
    os._exit(1)
