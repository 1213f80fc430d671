"""Every diagnostic code with its texts, one module per family.

A new refusal is a new row in its family's module and an `explain` page made by `make docs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import access, parsing, profit, resources, roles, verification
from .rule import Outcome, Rule

#: First digit of a code → what the family is about.
FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "1": "Reading the file",
        "2": "Memory accesses",
        "3": "Roles of statements",
        "4": "Resources of the chip",
        "5": "Profit",
        "6": "Verification",
    }
)


def collect() -> Mapping[str, Rule]:
    """The rows of all families by code. Raises ValueError for a code given twice or in the wrong family."""
    rules: dict[str, Rule] = {}
    for digit, module in zip(FAMILIES, (parsing, access, roles, resources, profit, verification), strict=True):
        for rule in module.RULES:
            if rule.code in rules or not rule.code.startswith(f"TLX{digit}"):
                raise ValueError(f"{rule.code} is given twice or stands in the wrong family")
            rules[rule.code] = rule
    return MappingProxyType(rules)


#: Code → row, in the order of the codes' families.
CATALOGUE: Mapping[str, Rule] = collect()

__all__ = ["CATALOGUE", "FAMILIES", "Outcome", "Rule"]
