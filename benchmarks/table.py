"""The README's table of speeds, from the JSON that `gemm.py` wrote, and beside it `launch.py`.

python benchmarks/table.py benchmarks/results/gemm-h200.json --write README.md
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def ratio(cell: dict) -> str:
    low, high = cell["interval90"]
    return f"{cell['median']:.2f} ({low:.2f}–{high:.2f})"


def table(report: dict, launch: dict) -> str:
    lines = [
        f"{report['device']}, torch {report['torch']}, Triton {report['triton']}; one process, "
        f"{report['rounds']} interleaved rounds, median of the ratio per round with its 90 % bootstrap interval. "
        "Source and conversion are tuned over the source's own configs by Triton's tuner.",
        "",
        "| shape M×N×K | dtype | B | source TFLOP/s | converted | torch | over source | over torch |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        speed = row["tflops"]
        lines.append(
            f"| {'×'.join(map(str, row['shape']))} | {row['dtype']} | {row['b']} "
            f"| {speed['source']:.0f} | {speed['converted']:.0f} | {speed['torch']:.0f} "
            f"| {ratio(row['speedup over source'])} | {ratio(row['speedup over torch'])} |"
        )
    grouped = [row for row in report.get("grouped", []) if "skipped" not in row]
    if grouped:
        lines += [
            "",
            "The public `_grouped_mm_3d3d_kernel` (grouped-mm-bf16 0.1.7) with the 64×64×32 tiles "
            "that its own wrapper passes:",
            "",
            "| shape G×M×N×K | dtype | source TFLOP/s | converted | torch.bmm | over source |",
            "|---|---|---|---|---|---|",
        ]
        for row in grouped:
            speed = row["tflops"]
            lines.append(
                f"| {'×'.join(map(str, row['shape']))} | {row['dtype']} "
                f"| {speed['source']:.0f} | {speed['converted']:.0f} | {speed['torch']:.0f} "
                f"| {ratio(row['speedup over source'])} |"
            )
    if launch:
        lines += [
            "",
            "Host time of one launch, in µs, with arguments that the launcher knows, "
            "and with arguments that it sees for the first time:",
            "",
            "| kernel, path | source | through the launcher | the first time |",
            "|---|---|---|---|",
        ]
        for path, cost in launch.items():
            if "again_us" in cost:
                lines.append(f"| {path} | {cost['source_us']:.1f} | {cost['again_us']:.1f} | {cost['first_us']:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    costs = options.report.with_name("launch-h200.json")
    launch = json.loads(costs.read_text())["launch"] if costs.exists() else {}
    text = table(json.loads(options.report.read_text()), launch)
    if options.write is None:
        print(text)
        return
    page = options.write.read_text()
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    options.write.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page))


if __name__ == "__main__":
    main()
