"""Which argument each parameter of a helper gets: Python's rules for calls, read off the two trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import libcst as cst


class Mismatch(Exception):
    """A call that Python would refuse, or whose arguments are known only when it runs; says why."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a helper."""

    name: str
    default: cst.BaseExpression | None
    #: What a call may give it as.
    given_by: Literal["position", "either", "keyword"] = "either"


@dataclass(frozen=True, slots=True)
class Argument:
    """What a parameter stands for in one call."""

    parameter: Parameter
    value: cst.BaseExpression
    #: The value is the parameter's default: its names are those of the helper's module.
    default: bool


def parameters(function: cst.FunctionDef) -> tuple[Parameter, ...]:
    """The parameters in order. Raises Mismatch for `*args` and `**kwargs`."""
    found = function.params
    if isinstance(found.star_arg, cst.Param) or found.star_kwarg is not None:
        raise Mismatch("starred parameters")
    groups: tuple[tuple[Sequence[cst.Param], Literal["position", "either", "keyword"]], ...] = (
        (found.posonly_params, "position"),
        (found.params, "either"),
        (found.kwonly_params, "keyword"),
    )
    return tuple(Parameter(param.name.value, param.default, given_by) for group, given_by in groups for param in group)


def bound(parameters: Sequence[Parameter], call: cst.Call) -> tuple[Argument, ...]:
    """The argument of each parameter, in the parameters' order. Raises Mismatch."""
    positional = [parameter for parameter in parameters if parameter.given_by != "keyword"]
    named = {parameter.name: parameter for parameter in parameters if parameter.given_by != "position"}
    given: dict[str, cst.BaseExpression] = {}
    for position, argument in enumerate(call.args):
        if argument.star:
            raise Mismatch("starred arguments")
        if argument.keyword is None:
            if position >= len(positional):
                raise Mismatch(f"more than {len(positional)} positional arguments")
            name = positional[position].name
        elif (name := argument.keyword.value) not in named:
            raise Mismatch(f"an argument `{name}` that it does not have")
        if name in given:
            raise Mismatch(f"two arguments `{name}`")
        given[name] = argument.value
    result = []
    for parameter in parameters:
        value = given.get(parameter.name, parameter.default)
        if value is None:
            raise Mismatch(f"no argument `{parameter.name}`")
        result.append(Argument(parameter, value, parameter.name not in given))
    return tuple(result)
