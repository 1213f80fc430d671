"""Everything that differs between the Triton releases we run on. Nothing else asks for a version."""

from __future__ import annotations

import inspect
import re
from typing import Any

from .. import neighbours

# A plugin for another Triton ends the process inside `import triton`, in the worst case without a word.
neighbours.warn_of_a_plugin_for_another_triton()

import triton  # noqa: E402

#: oldest release with the Gluon builder this package stands on
OLDEST = (3, 6)


class UnsupportedTriton(ImportError):
    """The installed Triton cannot carry tlx."""


def check(installed: str) -> tuple[int, int]:
    """The release as two numbers.

    Raises:
        UnsupportedTriton: it is older than ``OLDEST``, or its number cannot be read.
    """
    found = re.match(r"(\d+)\.(\d+)", installed)
    number = (int(found[1]), int(found[2])) if found else (0, 0)
    if number < OLDEST:
        raise UnsupportedTriton(f"tlx needs Triton {OLDEST[0]}.{OLDEST[1]} or newer; this is {installed}")
    return number


VERSION = check(triton.__version__)

try:
    from triton._C.libtriton import ir
    from triton._C.libtriton.gluon_ir import GluonOpBuilder
    from triton.backends.nvidia.compiler import CUDABackend, get_ptxas
    from triton.experimental.gluon._runtime import GluonASTSource
    from triton.experimental.gluon.language import _core as gluon_core
    from triton.experimental.gluon.language._semantic import GluonSemantic, _compute_tmem_reg_layout
    from triton.experimental.gluon.language.nvidia import blackwell
    from triton.experimental.gluon.language.nvidia.hopper import tma
    from triton.runtime.jit import JITFunction
except ImportError as error:
    raise UnsupportedTriton(f"tlx does not know the insides of Triton {triton.__version__}: {error}") from error

#: newer releases hang the captures of a warp-specialized region on the operation that holds its partitions
_CAPTURES_ON_PARTITIONS = "create_warp_specialize_partitions(mlir_args" in inspect.getsource(
    GluonSemantic.warp_specialize
)

#: extension that ASTSource gives to the module we hand over, so that the back end's Gluon stages follow
SOURCE_EXTENSION = "glir" if "glir" in GluonASTSource.__init__.__code__.co_consts else "ttgir"


#: inline assembly that takes addresses of shared memory: what everything between the CTAs of a cluster is made of
CLUSTERS = hasattr(GluonOpBuilder, "create_threadwise_inline_asm")
#: the release that brought it and hints to AMD's scheduler
NEWEST = "3.9"

#: gathers from shared memory and scatters to it
GATHER_SINCE = "3.7"
GATHER = hasattr(GluonOpBuilder, "create_local_gather") and hasattr(GluonOpBuilder, "create_local_scatter")
#: hints to AMD's scheduler, slices of blocks in registers
AMD_HINTS = hasattr(GluonOpBuilder, "create_amd_sched_barrier") and hasattr(GluonOpBuilder, "create_extract_slice")
#: the pass that chooses layouts for tensor memory fails where a tile ends in a reduction of one dimension
TENSOR_LAYOUTS_OF_MATRICES_ONLY = VERSION < (3, 8)
#: choices between allocations at run time
BUFFERS_CHOSEN_SINCE = "3.8"
BUFFERS_ARE_CHOSEN = VERSION >= (3, 8)
#: stages of a warp pipeline
WARP_PIPELINE_SINCE = "3.7"


def warp_pipeline_stage() -> Any:
    """Gluon's context manager for a stage of a warp pipeline, or None."""
    from triton.experimental.gluon.language import amd

    return getattr(amd, "warp_pipeline_stage", None)


#: cluster launch control
CLC_SINCE = "3.8"
CLC = hasattr(GluonOpBuilder, "create_clc_try_cancel")


def clc_try_cancel(response: Any, bar: Any, semantic: Any) -> None:
    """Gluon's request for the work of another cluster."""
    blackwell.clc.try_cancel(response, bar, _semantic=semantic)


def clc_load(response: Any, semantic: Any) -> Any:
    """Gluon's answer to such a request, in registers."""
    return blackwell.clc.load_result(response, _semantic=semantic)


def too_old(what: str, needed: str = NEWEST) -> str:
    """The sentence for what only a newer Triton can compile."""
    return f"{what} needs Triton {needed} or newer; this is {triton.__version__}"


def _hint(copy: Any, eviction: str) -> dict[str, Any]:
    """An L2 hint for a TMA copy, where the release has a way to give one; it never changes what is computed."""
    if not eviction or "cache_policy" not in inspect.signature(copy).parameters:
        return {}
    return {"cache_policy": gluon_core._normalize_cache_policy(None, None, eviction)}


def tma_load(desc: Any, offsets: Any, bar: Any, result: Any, pred: Any, eviction: str, semantic: Any) -> None:
    """Gluon's TMA load."""
    copy = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
    copy(desc, offsets, bar, result, pred=pred, _semantic=semantic, **_hint(copy, eviction))


def tma_store(desc: Any, offsets: Any, source: Any, eviction: str, semantic: Any) -> None:
    """Gluon's TMA store."""
    copy = tma.async_store if hasattr(tma, "async_store") else tma.async_copy_shared_to_global
    copy(desc, offsets, source, _semantic=semantic, **_hint(copy, eviction))


def cp_async(
    ptr: Any, dst: Any, mask: Any, other: Any, cache_modifier: str, eviction_policy: str, volatile: bool, semantic: Any
) -> None:
    """A cp.async of pointers, which may have a fill value; Gluon's own wrapper has none."""
    mask_handle = ir.value() if mask is None else mask.handle
    other_handle = ir.value() if other is None else other.handle
    build = semantic.builder.create_async_copy_global_to_local
    if hasattr(gluon_core, "_normalize_cache_policy"):
        policy = gluon_core._normalize_cache_policy(None, cache_modifier or None, eviction_policy or None)
        build(dst.handle, ptr.handle, mask_handle, other_handle, policy._to_ir(semantic.builder), volatile)
    else:
        cache = semantic._str_to_load_cache_modifier(cache_modifier)
        eviction = semantic._str_to_eviction_policy(eviction_policy)
        build(dst.handle, ptr.handle, mask_handle, other_handle, cache, eviction, volatile)


def tensor_memory_layout(rows: int, columns: int) -> Any:
    """The layout of a tile in tensor memory, packed, in one CTA."""
    return blackwell.TensorMemoryLayout([rows, columns], col_stride=1)


def scales_layout() -> Any:
    """The layout of scale factors in tensor memory."""
    return blackwell.TensorMemoryScalesLayout()


def tensor_register_layout(desc: Any, warps: int) -> Any:
    """The register layout in which a tile of tensor memory is read and written."""
    known = {
        "element_ty": desc.dtype,
        "shape": list(desc.shape),
        "alloc_shape": list(desc.type.alloc_shape),
        "layout": desc.layout,
        "num_warps": warps,
        "instr_variant": "32x32b",
    }
    wanted = inspect.signature(_compute_tmem_reg_layout).parameters
    return _compute_tmem_reg_layout(**{name: value for name, value in known.items() if name in wanted})


def warp_specialize(builder: Any, captures: list[Any], warps: list[int]) -> Any:
    """The warp-specialize operation, without its regions."""
    if _CAPTURES_ON_PARTITIONS:
        return builder.create_warp_specialize([], warps)
    return builder.create_warp_specialize([], captures, warps)


def partitions(builder: Any, captures: list[Any], count: int) -> Any:
    """The operation that holds the regions of the non-default tasks."""
    if _CAPTURES_ON_PARTITIONS:
        return builder.create_warp_specialize_partitions(captures, count)
    return builder.create_warp_specialize_partitions(count)


def ptxas(arch: int) -> list[str]:
    """The assembler that the back end would use for ``arch``, with the options it would give."""
    level = "--regAllocOptLevel=2"
    extra = [level] if level in inspect.getsource(CUDABackend.make_cubin) else []
    return [get_ptxas(arch).path, "-lineinfo", *extra]


#: Whether the C launcher takes the arguments of a kernel one by one, as ``tlx.launch.express`` packs them. Read from
#: Triton 3.6: runtime/jit.py (``JITFunction.run``), compiler/compiler.py, backends/nvidia/driver.py. Newer releases
#: launch through other functions, which were not looked into.
ARGUMENTS_ONE_BY_ONE = VERSION == (3, 6) and JITFunction.run.__module__ == "triton.runtime.jit"


def launcher_of_maps(launch: Any) -> Any:
    """The C function that takes encoded tensor maps, out of the one that encodes them; None if it has none inside."""
    return inspect.getclosurevars(launch).nonlocals.get("launcher")


def map_arguments(value: Any, metadata: Any) -> list[Any]:
    """A tensor descriptor as the C launcher takes it: its map, encoded, and its extents and strides."""
    from triton.backends.nvidia.driver import make_tensordesc_arg

    return list(make_tensordesc_arg(value, metadata))


#: options given to every offline compilation, so that releases with other defaults agree
OFFLINE_OPTIONS: dict[str, Any] = {"enable_fp_fusion": True}
