"""What integers are stored to holds integers, and atomics that 16 bits do not have work on 32."""

from __future__ import annotations

import pytest

from tlxify.config import Contracts
from tlxify.contracting import any_contract
from tlxify.diagnostics import Decline
from tlxify.pairing import find
from tlxify.source import SourceFile

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    {written}
"""
FLOATS = ("fp16", "bf16")


def dtypes(written: str) -> tuple[str, ...]:
    text = KERNEL.format(written=written.replace("; ", "\n    "))
    found = any_contract(find(SourceFile("kernel.py", text), "kernel"), Contracts(None, "kernel.py"))
    return next(spec.dtypes for spec in found.tensors if spec.name == "y_ptr")


def store(value: str) -> str:
    return f"tl.store(y_ptr + at, {value}, mask=at < n)"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("(x * 10.0).to(tl.int8)", "i8"),
        ("tl.cast(x, tl.int16)", "i16"),
        ("x.to(tl.float32).to(tl.uint8)", "u8"),
        ("x.to(tl.int32)", "i32"),
        ("x.to(tl.int8).to(tl.int32) * x.to(tl.int8)", "i32"),
        ("x > scale", "i8"),
        ("(x > scale) & (at > 3)", "i8"),
        ("tl.where(x > scale, at, -1)", "i32"),
        ("at // 2", "i32"),
        ("at.to(tl.int64) * n", "i64"),
        ("-tl.minimum(at, n)", "i32"),
        ("(x > scale) + 1", "i32"),
    ],
)
def test_what_is_stored_says_the_type(value, dtype):
    assert dtypes(store(value)) == (dtype,)


@pytest.mark.parametrize(
    "written",
    [
        store("x"),
        store("x.to(tl.int8) * scale"),
        store("x.to(tl.int8).to(tl.float32)"),
        store("at.to(y_ptr.dtype.element_ty)"),
        store("at / 2"),
        store("at * 0.5"),
        store("1"),
        store("tl.where(x > scale, 1, 0)"),
        # One of two stores is of floats.
        store("x.to(tl.int8)") + "; " + store("x"),
        # In some trip it is a float.
        "q = x.to(tl.int8); q *= x; " + store("q"),
        "q, r = x, x; " + store("q"),
    ],
)
def test_what_may_be_a_float_stays_one(written):
    assert dtypes(written) == FLOATS


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("tl.atomic_add(y_ptr + at, x, mask=at < n)", FLOATS),
        ("tl.atomic_add(y_ptr + at, 1, mask=at < n)", ("i32",)),
        ("tl.atomic_add(y_ptr, tl.sum(x > scale, axis=0))", ("i32",)),
        ("tl.atomic_add(y_ptr, tl.argmax(x, axis=0).to(tl.int64))", ("i64",)),
        ("tl.atomic_max(y_ptr, tl.max(x, axis=0))", ("fp32",)),
        ("tl.atomic_min(y_ptr + at, x.to(tl.float32), mask=at < n)", ("fp32",)),
        ("tl.atomic_max(y_ptr, tl.argmax(x, axis=0))", ("i32",)),
        ("tl.atomic_or(y_ptr, 1)", ("i32",)),
        ("tl.atomic_xchg(y_ptr + at, x, mask=at < n)", ("fp32",)),
        ("tl.atomic_add(y_ptr, 1); tl.store(y_ptr, 0)", ("i32",)),
    ],
)
def test_atomics_work_on_what_they_have(written, found):
    assert dtypes(written) == found


def test_a_running_position_is_as_wide_as_what_it_is_chosen_from():
    loop = (
        "best = 0; for start in range(0, n, BLOCK):;     best = tl.where(start > 3, tl.argmax(x, axis=0) + start, best)"
    )
    assert dtypes(f"{loop}; tl.store(y_ptr + pid, best)") == ("i32",)


LOCK = """
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, lock_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + at, mask=at < N, other=0.0)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    y = tl.load(y_ptr + at, mask=at < N, other=0.0)
    tl.store(y_ptr + at, x + y, mask=at < N)
    tl.atomic_xchg(lock_ptr, 0)
"""


def test_a_lock_is_free_at_first():
    found = any_contract(find(SourceFile("kernel.py", LOCK), "kernel"), Contracts(None, "kernel.py"))
    lock = next(spec for spec in found.tensors if spec.name == "lock_ptr")
    assert (lock.dtypes, lock.values, lock.shape) == (("i32",), ("0",), ())


def test_a_refusal_names_the_kernel_and_ends_once():
    text = LOCK.replace("tl.load(x_ptr + row * N + at", "tl.load(x_ptr + at * at")
    with pytest.raises(Decline) as refusal:
        any_contract(find(SourceFile("kernel.py", text), "kernel"), Contracts(None, "kernel.py"))
    message = refusal.value.diagnostic.message
    assert message.startswith(
        "What a valid launch of `kernel` looks like cannot be told from its code: Where `x_ptr` lies"
    )
    assert not message.endswith("..")
