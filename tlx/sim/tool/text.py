"""Findings as a person reads them in a terminal."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from rich.text import Text

from .child import Result


def shown(file: str) -> str:
    """A file's name as short as it can be from here."""
    try:
        return os.path.relpath(file) if len(os.path.relpath(file)) < len(file) else file
    except ValueError:  # another drive
        return file


def _code(text: str) -> str:
    """A line without its comment, for the length of the caret line."""
    cut = text.find("  #")
    return text[:cut].rstrip() if cut > 0 else text


def _line(site: dict[str, Any], mark: str, width: int, style: str) -> Text:
    out = Text()
    out.append(f"{site['line']:>{width}} │ ", "dim")
    out.append(site["text"] + "\n")
    out.append(" " * width + " │ ", "dim")
    out.append(mark * len(_code(site["text"])) + "\n", style)
    return out


def _schedule(found: dict[str, Any]) -> str:
    """As the command line takes it."""
    return shlex.quote(found["schedule"].strip("'"))


def replay_text(found: dict[str, Any], again: str) -> Text:
    """How to see a finding again: ``again`` is the command that simulates the same launches."""
    return Text(f"replay the first: {again} --schedule {_schedule(found)}", "dim")


def finding_text(found: dict[str, Any]) -> Text:
    """One finding: what, two lines with carets, who, and which schedules show it."""
    out = Text()
    out.append(found["code"], "bold red")
    out.append(f": {found['what']}\n", "bold")
    site, other = found["site"], found["other"]
    lines = [line for line in (site, other) if line]
    width = max((len(str(line["line"])) for line in lines), default=1)
    if site:
        out.append(" " * width + "─→ ", "dim").append(f"{shown(site['file'])}:{site['line']}\n")
        out.append_text(_line(site, "^", width, "red"))
    if other and other != site:
        if site and other["file"] != site["file"]:
            out.append(" " * width + "─→ ", "dim").append(f"{shown(other['file'])}:{other['line']}\n")
        out.append_text(_line(other, "-", width, "cyan"))
    if found["agents"]:
        out.append(f"  between {'; '.join(found['agents'])}\n")
    for state in found["barriers"]:
        out.append(f"  barrier {state}\n")
    out.append("  fix: ", "green").append(f"{found['remedy']}\n")
    out.append(f"  {found['kernel']}, program {tuple(found['program'])}, schedule {_schedule(found)}", "dim")
    others = found["schedules"] - 1
    out.append(f" and {others} other{'s' * (others != 1)}\n" if others else "\n", "dim")
    return out


def summary_text(result: Result, file: str) -> Text:
    """What was simulated and what came of it."""
    out = Text()
    for number, launch in enumerate(result.launches, 1):
        grid = "×".join(map(str, launch["grid"]))
        how = launch["search"] or f"{launch['schedules']} schedule{'s' * (launch['schedules'] != 1)}"
        ctas = launch["programs"]
        out.append(
            f"launch {number}: {launch['kernel']}, grid {grid}, {ctas} CTA{'s' * (ctas != 1)} simulated, {how}\n"
        )
        if launch["depends_on_schedule"]:
            out.append("  the contents left behind differ from schedule to schedule\n", "yellow")
    if result.error:
        out.append("error", "bold red").append(f": {result.error['message']}\n")
        if result.error["site"]:
            site = result.error["site"]
            out.append(f"  {shown(site['file'])}:{site['line']}: {site['text']}\n")
    count = len(result.findings)
    if count:
        out.append(f"{count} finding{'s' * (count != 1)} in {Path(file).name}\n", "bold red")
    elif not result.error:
        out.append(f"no findings in {Path(file).name}\n", "bold green")
    return out
