"""Every converted kernel of the corpus against its source on a GPU, on a few launches each: speed per shape.

    python benchmarks/shapes.py --json benchmarks/results/corpus-h200.json
    python benchmarks/shapes.py attention/forward --schedule auto --schedule pingpong --json FILE

First everything is compiled, several kernels at a time (`--seconds` bounds this part); then one process times one
launch after the other, source and conversion in turns, each with the config that is fastest for it. Nothing else may
use the GPU meanwhile. The report is one of `tlxify bench`, so `--against` works on it; rows say besides what the policy
`stable` may know of the launch ("facts"), which is what rows of `tlx/launch/choices.toml` are made of
(`python benchmarks/choices.py`).

A report that is there is continued: launches that it has times of are kept, while the conversion, the machine and the
number of rounds are the same and `--again` says nothing else; so a run that `--limit` cuts short is continued by the
next. Exit status 1 if a launch has no times.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kernels import Kernel, kernels
from tlxify.bench.report import Report, Row, row_of
from tlxify.bench.run import Measured, bench, warm
from tlxify.bench.shapes import config_text, filling, named, title
from tlxify.pipeline import SCHEDULES, TIERS
from tlxify.verify.cases import Case
from tlxify.verify.child import Limits
from tlxify.verify.compiled import dispatched
from tlxify.verify.layouts import usual_layouts
from tlxify.verify.loading import Loaded, load

ROUNDS = 9
#: Kernel and schedule, launch, and digits that change with the conversion.
Key = tuple[str, str, str]
#: A position among the element types that a contract lists.
FP8 = 2
#: Sizes that are launched instead of those that fill the chip by rule; what is not named is as there. "dtype" is a
#: position among the element types.
SHAPES: dict[str, tuple[dict[str, int], ...]] = {
    "attention/alibi": ({"N": 4096}, {"N": 16384}),
    "attention/backward_kv": ({"T": 2048}, {"T": 8192}),
    "attention/backward_q": ({"N_CTX": 4096, "grid_1": 32}, {"N_CTX": 16384, "grid_1": 8}),
    "attention/block_pointer_forward": ({"N_CTX": 4096, "grid_1": 32}, {"N_CTX": 16384, "grid_1": 8}),
    "attention/causal": (
        {"N_CTX": 4096, "HEAD_DIM": 64},
        {"N_CTX": 4096, "HEAD_DIM": 128},
        {"N_CTX": 16384, "HEAD_DIM": 128},
    ),
    "attention/decode": (
        {"kv_len": 8192, "share": 1024, "grid_0": 32, "grid_1": 8},
        {"kv_len": 32768, "share": 4096, "grid_0": 64, "grid_1": 8},
    ),
    "attention/forward": (
        {"Q_LEN": 4096, "K_LEN": 4096, "HEADS": 16, "HEAD_DIM": 64},
        {"Q_LEN": 4096, "K_LEN": 4096, "HEADS": 16, "HEAD_DIM": 128},
        {"Q_LEN": 1024, "K_LEN": 16384, "HEADS": 16, "HEAD_DIM": 128},
    ),
    "attention/grouped_query": ({"q_len": 4096, "kv_len": 4096}, {"q_len": 1024, "kv_len": 16384}),
    "attention/int8_scores": ({"Q_LEN": 4096, "K_LEN": 4096}, {"Q_LEN": 16384, "K_LEN": 16384}),
    "attention/paged": ({"rows": 2048, "rows_lens_ptr": 4096, "PAGE": 16, "D": 128, "grid_1": 16, "grid_2": 4},),
    "attention/pages": ({"rows": 2048, "pages": 64, "D": 128, "grid_1": 16, "grid_2": 4},),
    "attention/probabilities": ({"M": 4096, "N": 4096, "grid_1": 16}, {"M": 1024, "N": 16384, "grid_1": 16}),
    "attention/softcap": ({"T": 4096, "heads": 32, "grid_1": 32}, {"T": 16384, "heads": 8, "grid_1": 8}),
    "attention/window": ({"length": 8192, "window": 1024, "grid_1": 16}, {"length": 32768, "window": 4096}),
    "fused/cross_entropy": (
        {"tokens": 16384, "vocab": 32768, "hidden": 4096},
        {"tokens": 32768, "vocab": 8192, "hidden": 2048},
    ),
    "fused/mlp": ({"M": 65536, "HIDDEN": 4096}, {"M": 131072, "HIDDEN": 1024}),
    "fused/nearest": ({"points": 131072, "centroids": 4096}, {"points": 524288, "centroids": 1024}),
    "gemm/heads": ({"length": 2048, "depth": 1024}, {"length": 4096, "depth": 128}),
    "gemm/indexed_rows": (
        {"rows": 8192, "N": 4096, "K": 4096},
        {"rows": 16384, "N": 4096, "K": 1024},
    ),
    "gemm/matmul": (
        {"M": 4096, "N": 4096, "K": 4096},
        {"M": 8192, "N": 8192, "K": 8192},
        {"M": 8192, "N": 8192, "K": 512},
        {"M": 65536, "N": 1024, "K": 1024},
    ),
    "gemm/split_k": ({"M": 512, "N": 512, "K": 16384}, {"M": 2048, "N": 2048, "K": 4096}),
    # All 65,536 trips, dealt out to one program on each SM.
    "gemm/stream_k": (
        {"M": 4096, "N": 4096, "K": 4096, "programs": 132, "share": 497},
        {"M": 2048, "N": 2048, "K": 16384, "programs": 132, "share": 497},
    ),
    "grouped/segments": (
        {"N": 4096, "K": 4096, "ldw": 4096, "rows_offsets_ptr": 16384, "grid_2": 8},
        {"N": 2048, "K": 2048, "ldw": 2048, "rows_offsets_ptr": 32768, "grid_2": 64},
    ),
    "moe/gathered": (
        {"rows_num_padded_ptr": 16384, "N": 4096, "K": 4096, "top_k": 2, "count_expert_ids_ptr": 8},
        {"rows_num_padded_ptr": 8192, "N": 2048, "K": 2048, "top_k": 8, "count_expert_ids_ptr": 64},
    ),
    "quantized/fp8_blocks": (
        {"M": 4096, "N": 4096, "K": 7168, "dtype": FP8},
        {"M": 4096, "N": 24576, "K": 1536, "dtype": FP8},
        {"M": 4096, "N": 7168, "K": 16384, "dtype": FP8},
    ),
    "linear_attention/grouped_heads": ({"T": 4096, "D": 128}, {"T": 16384, "D": 128}),
    "linear_attention/outputs": ({"T": 4096, "KD": 128, "VD": 128}, {"T": 16384, "KD": 256, "VD": 512}),
    "linear_attention/retention": ({"T": 4096, "grid_1": 32}, {"T": 16384, "grid_1": 8}),
    "linear_attention/states": (
        {"T": 4096, "KD": 512, "VD": 512, "grid_2": 16},
        {"T": 16384, "KD": 256, "VD": 256, "grid_2": 8},
    ),
}  # fmt: skip


def cases_of(kernel: Kernel) -> tuple[Case, ...]:
    """The launches of a kernel that are measured."""
    contract = kernel.conversion.contract
    found = []
    for sizes in SHAPES.get(kernel.name, ()):
        case = named(contract, {name: size for name, size in sizes.items() if name != "dtype"})
        dtype = sizes.get("dtype", 0)
        found.append(dataclasses.replace(case, dtype=dtype, layouts=usual_layouts(contract, dtype, padded=False)))
    return tuple(found) or filling(contract)


def tried_as_well(kernel: Kernel, entries: dict[str, int]) -> Kernel:
    """The kernel with each config of its source once more, with these entries: the tuner takes what is fastest."""
    conversion, mark = kernel.conversion, "schedule=tlx.Schedule("
    configs = [
        {**dict(config.values), "num_warps": config.num_warps, "num_stages": config.num_stages, **entries}
        for config in conversion.contract.configs
    ]
    text = conversion.module_text.replace(mark, f"{mark}configs={configs!r}, ", 1)
    return dataclasses.replace(kernel, conversion=dataclasses.replace(conversion, module_text=text))


def facts_of(kernel: Kernel, loaded: Loaded, case: Case, config: str) -> dict[str, object] | None:
    """What the policy may know of the launch under the config that was fastest; None where the original ran."""
    contract = kernel.conversion.contract
    for index in range(len(contract.configs)):
        chosen = dataclasses.replace(case, config=index)
        # Other depths of the rings are tried as well, of which the facts do not speak.
        if config_text(chosen.launch_config(contract)).rpartition(", ")[0] == config.rpartition(", ")[0]:
            found = dispatched(loaded, chosen)
            return dataclasses.asdict(found[0].facts) if found is not None and found[0].facts is not None else None
    return None


@dataclass(frozen=True)
class Launch:
    """One launch that is to have a row."""

    kernel: Kernel
    case: Case

    @property
    def key(self) -> Key:
        """What tells its row from all others."""
        return self.kernel.title, title(self.kernel.conversion.contract, self.case), self.kernel.made


def key_of(line: Mapping[str, Any]) -> Key:
    """The same of a row as JSON holds it; reports of old do not say how a conversion was made."""
    return line["kernel"], line["launch"], line.get("made", "")


def machine() -> dict[str, str]:
    """What a report says of the machine, whether or not anything is measured."""
    import torch
    import triton

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    return {"device": device, "torch": torch.__version__, "triton": triton.__version__}


def kept(old: Mapping[str, Any], about: Mapping[str, object]) -> dict[Key, dict[str, Any]]:
    """The rows with times of a report; none of one that says other things `about` the machine or the run."""
    if any(old.get(name) != value for name, value in about.items()):
        return {}
    return {key_of(line): line for line in old.get("rows", ()) if timed(line)}


def timed(line: Mapping[str, Any]) -> bool:
    """Whether a row has the times of both."""
    return not line.get("failure") and {"source", "converted"} <= {*line.get("ms", ())}


def merged(
    wanted: Sequence[Key], known: Mapping[Key, dict[str, Any]], rows: Sequence[dict[str, Any]], *, others: bool
) -> list[dict[str, Any]]:
    """The rows of a report, by kernel.

    Args:
        wanted: the launches of this run: each gets one row, the new one if there is one, or else the one that is known,
            or else one that says that it was not measured.
        known: what is kept of the report, by launch.
        rows: what was measured now.
        others: rows of other kernels than those of this run stay.
    """
    new = {key_of(line): line for line in rows}
    lines = []
    for key in wanted:
        kernel, launch, made = key
        none = {"kernel": kernel, "launch": launch, "made": made, "ms": {}, "failure": "not measured"}
        lines.append(new.get(key) or known.get(key) or none)
    mine = {kernel for kernel, _, _ in wanted}
    if others:
        lines += [line for line in known.values() if line["kernel"] not in mine]
    return sorted(lines, key=lambda line: line["kernel"])  # launches of a kernel stay in their order


def grouped(launches: Sequence[Launch]) -> list[tuple[Kernel, tuple[Case, ...]]]:
    """Launches by kernel."""
    groups: list[tuple[Kernel, tuple[Case, ...]]] = []
    for launch in launches:
        if groups and groups[-1][0] is launch.kernel:
            groups[-1] = (launch.kernel, (*groups[-1][1], launch.case))
        else:
            groups.append((launch.kernel, (launch.case,)))
    return groups


def with_facts(launches: Sequence[Launch], lines: Sequence[dict[str, Any]]) -> None:
    """Adds to each row that was measured now the facts of its launch."""
    by_key = {launch.key: launch for launch in launches}
    loaded: dict[int, Loaded] = {}
    for line in lines:
        launch = by_key[key_of(line)]
        kernel = launch.kernel
        if id(kernel) not in loaded:
            loaded[id(kernel)] = load(kernel.conversion)
        config = line.get("configs", {}).get("converted", "")
        line["facts"] = facts_of(kernel, loaded[id(kernel)], launch.case, config)


def told(row: Row) -> str:
    """A row in a line."""
    if row.failure:
        return f"{row.kernel:34}{row.launch[:60]:62}{row.failure}"
    ratio = row.speedup["source"]
    speed = f"{row.ms['source'].median:9.4f} ms{row.ms['converted'].median:9.4f} ms{ratio.median:7.3f}"
    retiled = row.speedup.get("retiled")
    beside = "" if retiled is None else f", {retiled.median:.3f} over the source with tiles of ours"
    return f"{row.kernel:34}{row.launch[:60]:62}{speed}  {row.path} {row.reason}{beside}  {row.configs['converted']}"


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="attention/forward, …; all by default")
    parser.add_argument("--tier", choices=TIERS, default=TIERS[0], help="what the kernels are converted to")
    parser.add_argument(
        "--schedule", action="append", choices=list(SCHEDULES), help="repeatable: each kernel under each of them"
    )
    parser.add_argument("--json", type=Path, required=True, help="the report, continued if it is there")
    parser.add_argument("--again", action="store_true", help="also what has times and has not changed")
    parser.add_argument("--seconds", type=float, default=180.0, help="for compiling; what is left compiles later")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for timing")
    parser.add_argument("--at-a-time", type=int, default=max(1, (os.cpu_count() or 2) * 3 // 4))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--also", metavar="NAME=VALUE,…", help="entries of further configs: CONSUMERS=1,CONSUMER_WARPS=8"
    )
    options = parser.parse_args()
    begun = time.monotonic()
    schedules = options.schedule or ["auto"]
    found = [kernel for schedule in schedules for kernel in kernels(options.kernels, schedule, options.tier)]
    if options.also:
        entries = {name: int(value) for name, _, value in (one.partition("=") for one in options.also.split(","))}
        found = [tried_as_well(kernel, entries) for kernel in found]
    launches = [Launch(kernel, case) for kernel in found for case in cases_of(kernel)]
    wanted = [launch.key for launch in launches]
    about = {**machine(), "rounds": options.rounds}
    old = json.loads(options.json.read_text()) if options.json.exists() else {}
    known = kept(old, about)
    todo = [launch for launch in launches if options.again or launch.key not in known]
    print(f"{len(todo)} of {len(launches)} launches to do", flush=True)
    measured = [Measured(kernel.conversion, kernel.facts, cases) for kernel, cases in grouped(todo)]

    def compiling(each: Measured) -> None:
        left = begun + options.seconds - time.monotonic()
        if left > 5.0:
            warm(each, Limits(left))

    with ThreadPoolExecutor(options.at_a_time) as pool:
        list(pool.map(compiling, measured))
    print(f"compiled in {time.monotonic() - begun:.0f} s", flush=True)
    report = Report((), tool="benchmarks/shapes.py", rounds=options.rounds)
    if measured:
        report = bench(
            measured,
            tool=report.tool,
            rounds=options.rounds,
            limits=Limits(options.limit),
            together=True,
            progress=lambda text: print(f"{time.monotonic() - begun:6.1f} {text}", flush=True),
        )
    data = report.data()
    # Rows come in the launches' order; of a child that ended there may be fewer.
    rows = [
        {**line, "kernel": launch.kernel.title, "made": launch.kernel.made}
        for launch, line in zip(todo, data["rows"], strict=False)
    ]
    data |= about
    data["ceilings"] = data["ceilings"] or (old.get("ceilings", {}) if known else {})

    def write() -> list[dict[str, Any]]:
        lines = merged(wanted, known, rows, others=bool(options.kernels))
        beside = options.json.with_suffix(".tmp")
        beside.write_text(json.dumps({**data, "rows": lines}, indent=1) + "\n")
        beside.replace(options.json)
        return lines

    write()  # the figures, whatever becomes of the facts
    with_facts(todo, rows)
    mine = {*wanted}
    lines = [line for line in write() if key_of(line) in mine]
    print(*(told(row_of(line)) for line in lines), f"{time.monotonic() - begun:.0f} s", sep="\n")
    untimed = sum(not timed(line) for line in lines)
    if untimed:
        print(f"{untimed} of {len(lines)} launches have no times: the same command goes on with them")
    return int(bool(untimed))


if __name__ == "__main__":
    sys.exit(main())
