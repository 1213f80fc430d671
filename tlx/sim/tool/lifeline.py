"""A child process ends with the one that started it, and at its own deadline.

The limits of a child are its parent's to enforce; a parent that is killed (`timeout`, a cancelled CI job) enforces
nothing, and foreign code would run on for ever. Linux can send a signal when a parent ends, but it means the *thread*
that started the child, which may well end first, and the signal reaches none of the compilers that the child started.
So a thread looks. Code that never lets it run is ended by an alarm, which needs no Python.
"""

from __future__ import annotations

import os
import signal
import threading
import time

#: Seconds between two looks at the parent.
PERIOD = 0.5
#: Seconds after the deadline at which it is enforced here: the parent comes first, it can say what the last step was.
GRACE = 5.0


def hold(parent: int, seconds: float | None = None) -> None:
    """Ends this process and its group when process `parent`, which started it, is gone, or after these seconds.

    Called once, by a child that leads a process group. A parent that was gone before the call counts as well. Where the
    system hands no orphans on (Windows), only the deadline counts.
    """
    first = os.getppid()
    deadline = None if seconds is None else time.monotonic() + seconds + GRACE
    if seconds is not None and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds + 2 * GRACE)

    def held() -> bool:
        # Between parent and child there may be a program that starts the interpreter.
        return os.name != "posix" or (os.getppid() == first and (first == parent or _lives(parent)))

    def look() -> None:
        while held() and (deadline is None or time.monotonic() < deadline):
            time.sleep(PERIOD)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=look, daemon=True, name="lifeline").start()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
