"""The child's side: reads one piece of work per line, answers in JSON lines. Run as
`python -m tlxify.migrate.worker MEMORY PARENT`.

A request is {"do": "record" | "names", "work": …}; answers are {"at": text} while it is going on, and last
{"result": …} or {"error": text, "detail": traceback}.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from typing import Any

from ..verify.lifeline import hold
from .work import Work, kernel_names, record


def main() -> None:
    """Works until its input ends, or its parent. The first argument is the memory that it may take, in bytes."""
    hold(int(sys.argv[2]))
    limit_memory(int(sys.argv[1]))
    # Nothing that a library prints may mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    for line in sys.stdin:
        request = json.loads(line)
        work = Work.of(request["work"])
        try:
            if request["do"] == "names":
                result: Any = kernel_names(work)
            else:
                result = record(work, lambda text: say({"at": text})).data()
            answer = {"result": result}
        except MemoryError:
            gc.collect()
            answer = {"memory": True}
        except Exception as error:  # a fault of ours: it is named, and the other files go on
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            answer = {"error": text, "detail": traceback.format_exc()}
        say(answer)


def limit_memory(amount: int) -> None:
    """Caps this process's address space, where the system can. Children may raise it again to what they need."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (amount, hard))


if __name__ == "__main__":
    main()
