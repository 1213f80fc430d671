"""Faults planted in conversions of the corpus, and what the rung `ran` makes of them on a Hopper GPU.

    python tests/gpu/faults.py pack PACKED              where the converter is: converts, plants, writes a pickle
    python tests/gpu/faults.py run PACKED [NAME ...]    on the GPU: a line of JSON each; exit status 1 if one is off
    TLXIFY_CONSAN=1 python tests/gpu/faults.py run PACKED descriptors race    with Triton's concurrency sanitizer, too

A fault is planted for one config alone: the other must keep its results. Without names, shadows and policies are tried
as well (tests/gpu/test_shadow.py). The second command needs tlx, tlxify, torch, pytest and, for the simulator to name
the fault, greenlet, ml_dtypes and hypothesis. Two entries run at a time; all of it takes some three minutes.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tlxify.conversion import Conversion  # noqa: E402

#: The config whose specialized kernel is broken, in the terms of corpus/gemm/descriptors.py: its first.
BROKEN, SOUND = "BLOCK_N == 128", "BLOCK_N != 128"


@dataclass(frozen=True, slots=True)
class Planted:
    """One conversion, and what the rung must say about it."""

    conversion: Conversion
    #: Codes of findings, any of which will do; empty if there must be none.
    codes: tuple[str, ...] = ()
    #: Words of which one must be in a finding's text, if the simulator is there to say them.
    named: tuple[str, ...] = ()
    #: Configs that must come to their end.
    finished: tuple[int, ...] = ()
    source_fails: bool = False


def once(text: str, old: str, new: str) -> str:
    """`text` with its only `old` replaced."""
    if text.count(old) != 1:
        raise ValueError(f"{old!r} stands {text.count(old)} times in the conversion")
    return text.replace(old, new)


def missing_arrive(text: str) -> str:
    """Consumers never hand a slot back: the producer waits for ever once the rings are full."""
    return once(text, "                    if k > 0:\n", f"                    if k > 0 and {SOUND}:\n")


def missing_wait(text: str) -> str:
    """Consumers multiply whatever lies in the slot."""
    wait = "                    tlx.barrier_wait(full[slot], (used // STAGES) & 1)\n"
    return once(text, wait, f"                    if {SOUND}:\n    {wait}")


#: What the store of corpus/gemm/descriptors.py begins with, and the same where no memory is.
STORED = "c_ptr + rows[:, None] * ldc"
FAR = f"c_ptr + (70368744177664 if {BROKEN} else 0) + rows[:, None] * ldc"


def far_store(text: str) -> str:
    """The conversion stores where no memory is."""
    body, marker, rest = text.partition("def _descriptor_kernel_ws(")
    return f"{body}{marker}{rest.replace(STORED, FAR, 1)}"


def far_source(text: str) -> str:
    """The source does, and with it the conversion made of it: one made of another source would be out of date."""
    return once(text, STORED, FAR)


def pipelined(text: str) -> str:
    """The source leaves its loop to Triton's pipeline, which gives a tile of two uses a slot too few."""
    return once(text, "tl.range(0, K, BLOCK_K, num_stages=1)", "range(0, K, BLOCK_K)")


def converted(path: str, fault: Callable[[str], str] = lambda text: text) -> Conversion:
    """A kernel of the corpus, converted; with a fault in the source, if one is given."""
    from tlxify.pipeline import convert
    from tlxify.source import SourceFile

    found = convert(SourceFile(path, fault((ROOT / "corpus" / path).read_text())))
    (conversion,) = (item.conversion for item in found.kernels if item.conversion is not None)
    return conversion


def entries() -> dict[str, Planted]:
    """Everything that is tried, by name."""
    descriptors = converted("gemm/descriptors.py")

    def planted(fault: Callable[[str], str]) -> Conversion:
        return replace(descriptors, module_text=fault(descriptors.module_text))

    # Whatever a consumer makes of slots that are not full: it may also be sent where nothing is.
    wrong = ("mismatch", "unstable", "hang", "gpu-error")
    return {
        "hang": Planted(planted(missing_arrive), ("hang",), ("deadlock",), (1,)),
        "race": Planted(planted(missing_wait), wrong, ("race",), (1,)),
        "illegal access": Planted(planted(far_store), ("illegal-access",), ("out-of-bounds",), (1,)),
        "illegal access of the source": Planted(
            replace(converted("gemm/descriptors.py", far_source), contract=descriptors.contract), finished=(1,)
        ),
        "descriptors": Planted(descriptors, finished=(0, 1)),
        "softcap": Planted(converted("attention/softcap.py"), finished=(0, 1, 2)),
        "unstable source": Planted(converted("fused/rms_linear.py", pipelined), source_fails=True),
    }


def judged(name: str, planted: Planted, repeats: int = 30) -> dict[str, object]:
    """What the rung says, whether that is right, and how long it took, in seconds."""
    from tlxify.verify import Limits
    from tlxify.verify.ran import run_rung
    from tlxify.verify.requirements import missing_for_simulation

    begun = time.monotonic()
    ran = run_rung(planted.conversion, Limits(200.0), lambda text: None, repeats)
    findings = [item for item in ran.evidence if not item.ok]
    faults = []
    if ran.skipped:
        faults.append(ran.skipped)
    if bool(findings) != bool(planted.codes) or any(item.code not in planted.codes for item in findings):
        faults.append(f"findings {[item.code for item in findings]}, not {list(planted.codes)}")
    told = " ".join(f"{item.text} {item.detail}" for item in findings)
    if planted.named and missing_for_simulation() is None and not any(word in told for word in planted.named):
        faults.append(f"no finding speaks of {' or '.join(planted.named)}")
    if not set(planted.finished) <= set(ran.finished):
        faults.append(f"configs {list(ran.finished)} came to their end, not {list(planted.finished)}")
    if ran.source_fails != planted.source_fails:
        faults.append(f"source_fails is {ran.source_fails}")
    return {
        "name": name,
        "right": not faults,
        "faults": faults,
        "seconds": round(time.monotonic() - begun, 1),
        "evidence": [f"{'ok ' if item.ok else ''}{item.code}: {item.text}" for item in ran.evidence],
        "details": [item.detail[:1500] for item in findings],
    }


def shadows() -> dict[str, object]:
    """What the tests of shadows and policies say."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/gpu/test_shadow.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    right = done.returncode == 0 and " passed" in done.stdout and "skipped" not in done.stdout
    seconds = round(time.monotonic() - begun, 1)
    return {"name": "shadows", "right": right, "seconds": seconds, "told": done.stdout[-3000:]}


def main(argv: list[str]) -> int:
    """The command; returns its exit status."""
    match argv:
        case ["pack", packed]:
            Path(packed).write_bytes(pickle.dumps(entries()))
            return 0
        case ["run", packed, *names]:
            tried = pickle.loads(Path(packed).read_bytes())
            with ThreadPoolExecutor(2) as pool:
                waiting = [pool.submit(judged, name, tried[name]) for name in names or tried]
                waiting += [] if names else [pool.submit(shadows)]
                wrong = 0
                for done in as_completed(waiting):
                    print(json.dumps(done.result()), flush=True)
                    wrong += not done.result()["right"]
            return int(wrong > 0)
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(ROOT))
    # Under the module's own name, so that what is packed here can be unpacked by tests as well.
    from tests.gpu import faults

    sys.exit(faults.main(sys.argv[1:]))
