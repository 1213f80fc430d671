"""What Triton's functions do to the axes of their arguments: the tables behind call interpretation."""

from __future__ import annotations

LANGUAGE = "triton.language."

#: Value in, same value out: promises to the compiler, and casts between integer widths.
HINTS = frozenset({"multiple_of", "max_contiguous", "max_constancy"})

#: Position by position; scalars in, scalar out.
POINTWISE = frozenset(
    "abs cast ceil clamp cos div_rn erf exp exp2 fdiv floor fma log log2 maximum minimum rsqrt sigmoid sin softmax_unused sqrt sqrt_rn "
    "umulhi where add sub mul rand randn randint rand4x cdiv_unused to_tensor".split()
)

#: Reduce one axis (or all): function → position of `axis` among the arguments.
REDUCTIONS = {"sum": 1, "max": 1, "min": 1, "argmax": 1, "argmin": 1, "xor_sum": 1, "reduce_or": 1}

#: Along one axis, keep the shape.
SCANS = frozenset({"cumsum", "cumprod", "sort", "softmax", "flip", "associative_scan", "histogram", "gather", "topk"})

ATOMICS = frozenset("atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg atomic_cas".split())

#: No value and no effect on results: checks and promises, kept where their names are.
CHECKS = frozenset({"static_assert", "assume"})

#: Effects that no role may take over silently.
EFFECTS = frozenset({"device_print", "static_print", "device_assert", "debug_barrier"})

INLINE_ASSEMBLY = frozenset({"inline_asm_elementwise"})

DTYPES = frozenset(
    "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float8e4nv float8e5 float8e4b15 float8e4b8 float8e5b16 float16 bfloat16 "
    "float32 float64 void".split()
)
INTEGER_DTYPES = frozenset("int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
