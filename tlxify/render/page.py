"""The documentation page of a diagnostic code: what `tlxify explain` shows and `docs/diagnostics/` keeps."""

from __future__ import annotations

from collections.abc import Iterable

from ..catalogue import FAMILIES, Rule
from ..catalogue.rule import OPTIONAL, PLACEHOLDER

#: What each outcome means for the user's kernel and for the exit status.
OUTCOMES = {
    "declined": (
        "The kernel is left as it is, because a proof is missing. Exit status 1. Where the kernel can be converted"
        " without that proof, but is not expected to get faster, it is *unprofitable*: exit status 0, and"
        " `--no-profit-gate` converts it."
    ),
    "unprofitable": "The kernel is left as it is, because it would not get faster. Exit status 0.",
    "no-dot": "The kernel is left as it is: there is nothing to specialize. Exit status 0.",
    "warning": "The kernel is converted; this is worth knowing. Exit status 0.",
    "error": "What was asked could not be done. Exit status 1; 2 if the only file cannot be worked on.",
}


def describe(template: str) -> str:
    """A template for readers: optional parts shown, placeholders in angle brackets."""
    return PLACEHOLDER.sub(r"<\1>", OPTIONAL.sub(r"\1", template))


def page(rule: Rule) -> str:
    """The page of one code, as Markdown."""
    language = "sh" if rule.snippet.startswith("tlxify ") else "python"
    return "\n".join(
        [
            f"# {rule.code}: {rule.title}",
            "",
            f"*{rule.outcome}* · {FAMILIES[rule.code[3]]}",
            "",
            f"> {describe(rule.fact)}",
            "",
            "## Why it matters",
            "",
            rule.why,
            "",
            "## Example",
            "",
            f"```{language}",
            rule.snippet.rstrip(),
            "```",
            "",
            "## What to do",
            "",
            describe(rule.remedy),
            "",
            "## What happens",
            "",
            f"{OUTCOMES[rule.outcome]} Reviewed and accepted? `# tlxify: skip[{rule.code}] reason` on the line, on the",
            "line above it, or on the kernel's `def` line keeps it from being reported.",
            "",
        ]
    )


def index(rules: Iterable[Rule]) -> str:
    """The table of all codes, as Markdown."""
    lines = ["# Diagnostics", "", "Made by `make docs` from `tlxify/catalogue/`; edit the rows there.", ""]
    family = ""
    for rule in rules:
        if rule.code[3] != family:
            family = rule.code[3]
            lines += ["", f"## {FAMILIES[family]} (TLX{family}xx)", "", "| code | outcome | title |", "|---|---|---|"]
        lines.append(f"| [{rule.code}]({rule.code}.md) | {rule.outcome} | {rule.title} |")
    return "\n".join([*lines, ""]).replace("\n\n\n", "\n\n")
