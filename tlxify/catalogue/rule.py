"""One row of the catalogue: everything there is to say about one diagnostic code."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

#: What a diagnostic does to its kernel: `declined` (a proof is missing), `unprofitable` (nothing to gain), `no-dot`
#: (nothing to specialize), `warning` (converted nevertheless), `error` (the tool could not do what was asked).
Outcome = Literal["declined", "unprofitable", "no-dot", "warning", "error"]

#: A part of a template that is left out when its fact is not known: "cannot be resolved[: {why}]".
OPTIONAL = re.compile(r"\[([^\[\]{}]*\{(\w+)\}[^\[\]{}]*)\]")
PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A diagnostic code with its texts. `fact` and `remedy` are one sentence each and may hold `{placeholders}`."""

    code: str
    outcome: Outcome
    #: A few words for tables and headings.
    title: str
    #: What is so in the user's code.
    fact: str
    #: What the user can do about it.
    remedy: str
    #: Why that stands in the way, for the page of the code.
    why: str
    #: The smallest Python that gets this code, or a shell line for codes that no source line causes.
    example: str

    @property
    def snippet(self) -> str:
        """The example without the indentation it has in the catalogue."""
        return textwrap.dedent(self.example).strip("\n").rstrip() + "\n"

    @property
    def required(self) -> frozenset[str]:
        """Facts that every diagnostic of this code must bring."""
        return frozenset(PLACEHOLDER.findall(OPTIONAL.sub("", self.fact + self.remedy)))

    @property
    def accepted(self) -> frozenset[str]:
        """All facts that the texts can show."""
        return frozenset(PLACEHOLDER.findall(self.fact + self.remedy))

    def fill(self, template: str, facts: Mapping[str, str]) -> str:
        """`template` with its placeholders replaced; optional parts without a fact vanish. Values are never re-read."""
        kept = OPTIONAL.sub(lambda part: part[1] if part[2] in facts else "", template)
        return PLACEHOLDER.sub(lambda name: facts[name[1]], kept)
