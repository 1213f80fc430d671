"""Verifies a conversion on a machine that has a GPU, torch and Triton, but not what converting needs.

    python tests/verify/gpu_script.py pack FILE OUT [KERNEL]   where the converter is: converts, writes OUT (pickle)
    python tests/verify/gpu_script.py run OUT [REPEATS]        on the GPU: prints figures and findings as JSON

The second needs only tlx and tlxify on PYTHONPATH. Without FILE (`pack - OUT`) the hand-written sample is packed.
"""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import asdict
from pathlib import Path


def pack(source: str, out: str, kernel: str | None = None) -> None:
    if source == "-":
        sys.path.insert(0, str(Path(__file__).parents[2]))
        from tests.verify import samples

        conversion = samples.conversion()
    else:
        from tlxify.pipeline import convert
        from tlxify.source import SourceFile

        found = convert(SourceFile.read(source), (kernel,) if kernel else None)
        (conversion,) = (item.conversion for item in found.kernels if item.conversion is not None)
    Path(out).write_bytes(pickle.dumps(conversion))


def run(packed: str, repeats: str = "30") -> None:
    from tlxify.verify import Limits
    from tlxify.verify.ran import run_rung

    conversion = pickle.loads(Path(packed).read_bytes())
    ran = run_rung(conversion, Limits(300.0), lambda text: print(text, file=sys.stderr), int(repeats))
    print(json.dumps(asdict(ran), indent=1))
    sys.exit(1 if ran.skipped or any(not item.ok for item in ran.evidence) else 0)


if __name__ == "__main__":
    {"pack": pack, "run": run}[sys.argv[1]](*sys.argv[2:])
