"""A call of a function in a process of its own, for code that may crash or hang on its input."""

import multiprocessing
import os
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import wait

import psutil


class SubprocessDied(Exception):
    """The error of a process that ended without an answer; the message says how."""


def call_in_subprocess(function, *arguments, limit_s, most_bytes=float("inf")):
    """Call function(*arguments) in a spawned process, and return its result or raise its error.

    The process is killed after `limit_s` seconds, not counting its start, or if it has more than `most_bytes`
    of memory. The function must be importable. Its arguments, result and errors are pickled.

    Raises
    ------
    SubprocessDied
        If the process crashed, took too long or too much memory.
    RuntimeError
        If the process could not start, as in a script without `if __name__ == "__main__"`.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, function, arguments), daemon=True)
    process.start()
    theirs.close()  # so that the pipe ends with the process
    try:
        try:
            ours.recv()
        except EOFError:
            raise RuntimeError("a process of its own could not be started") from None
        until = time.monotonic() + limit_s
        while not ours.poll(min(0.05, limit_s)):
            if time.monotonic() > until:
                raise SubprocessDied(f"took more than {limit_s:g} s")
            with suppress(psutil.Error):  # the process has ended, which the pipe reports
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
    """Call the function in the child process, and send its result or error through the pipe.

    A crash of the child prints nothing.
    """
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
    """Let a child process ignore Ctrl-C and end with its parent.

    life : connection that becomes readable when the parent ends, if `multiprocessing` does not know the
        parent: the reading end of a pipe of which only the parent has the other end
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    life = life or getattr(parent, "sentinel", None)
    if life is not None:
        threading.Thread(target=_end_with, args=(life,), daemon=True).start()


def _end_with(life):
    """Wait until the parent process ends, then end this process.

    life : see `exit_with_parent`
    """
    wait([life])
    os._exit(1)
