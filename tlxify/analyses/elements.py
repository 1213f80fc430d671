"""Which operand dtypes a dot can have for the tensor cores to do what its statement says.

wgmma multiplies 8-bit integers into int32 and floats into fp32, or into fp16 where asked. A product that stands alone
has the dtype that its operands give it; one that is added to a name on the way out of the tensor cores must have the
name's. Of an accumulator whose dtype the source does not say, floats are assumed: of int32 it always says.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..facts import Sum

#: Triton's short names, by what products of them are added up in.
FLOATS = ("fp16", "bf16", "fp8e4nv", "fp8e5")
HALVES = ("fp16", "fp8e4nv", "fp8e5")
INTEGERS = ("i8",)


def operand_dtypes(use: Sum, element: str | None, out_dtype: str | None) -> tuple[str, ...]:
    """The dtypes of a dot's operands, most usual first; none where no tensor core adds up as asked.

    Args:
        use: what its statement does with the product.
        element: the dtype of what it is added to on the tensor cores, where the source says it ("int32"); "" where it
            is added to nothing.
        out_dtype: the dtype that the dot asks for, as written; None if it asks for none.
    """
    asked = out_dtype.rpartition(".")[2] if out_dtype is not None else None
    if use is Sum.RESCALED and element == "int32":
        return ()  # scaled, it is no integer any more
    wanted = {kind for kind in (asked, element) if kind}
    table: Mapping[str, tuple[str, ...]] = {"int32": INTEGERS, "float32": FLOATS, "float16": HALVES}
    if len(wanted) > 1 or not wanted <= table.keys():
        return ()
    if not wanted:
        return (*FLOATS, *INTEGERS) if element == "" else FLOATS
    return table[wanted.pop()]


def added_in(dtypes: tuple[str, ...], asked: str | None) -> str:
    """The dtype of the sum as ``async_dot`` has to be told it, given those of the operands; "" where it need not be.

    Meta's compilers take fp32 for granted, of integers too; ours does not mind being told.
    """
    if asked is not None and is_half(asked):
        return asked
    return "tl.int32" if dtypes == INTEGERS else ""


def added_apart(asked: str | None, given: bool) -> bool:
    """Whether a product is rounded to another dtype before it is added to anything: the sum is not the dot's."""
    return asked is not None and is_half(asked) and not given


def is_half(asked: str) -> bool:
    """Whether a dtype, as written, is fp16."""
    return asked.rpartition(".")[2] == "float16"
