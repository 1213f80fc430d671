"""The stock passes that turn naive layouts into good ones, in the order in which they have to run."""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import amd, ir, nvidia, passes

from . import versions
from .lines import line_of_tensor_memory


def inline(module: Any) -> None:
    """Helpers into their callers, so that what follows sees one function."""
    pm = ir.pass_manager(module.context)
    pm.enable_debug()
    passes.gluon.add_inliner(pm)
    pm.run(module, "tlx_inline")


def fold(module: Any) -> None:
    """What is known while compiling: constants, and branches that are never taken."""
    pm = ir.pass_manager(module.context)
    pm.enable_debug()
    passes.common.add_canonicalizer(pm)
    pm.run(module, "tlx_fold")


def optimize(module: Any, capability: int) -> None:
    """Runs the pipeline in place, on a folded module.

    It is the part of Triton's own pipeline that chooses layouts and instructions. Pipelining and automatic warp
    specialization are left out: the kernel's author has done both.
    """
    pm = ir.pass_manager(module.context)
    pm.enable_debug()
    # Triton-level clean-up first.
    passes.ttir.add_loop_unroll(pm)
    passes.common.add_cse(pm)
    # Layouts: memory accesses decide first, tensor cores next, and everything else follows.
    passes.ttgpuir.add_coalesce(pm)
    passes.ttgpuir.add_f32_dot_tc(pm, capability >= 80)
    passes.ttgpuir.add_remove_layout_conversions(pm)
    passes.ttgpuir.add_optimize_thread_locality(pm)
    passes.ttgpuir.add_accelerate_matmul(pm)
    passes.ttgpuir.add_remove_layout_conversions(pm)
    passes.ttgpuir.add_optimize_dot_operands(pm, capability >= 80)
    passes.ttgpuir.add_coalesce_async_copy(pm)
    blackwell = capability // 10 in (10, 11)
    if blackwell and not (versions.TENSOR_LAYOUTS_OF_MATRICES_ONLY and line_of_tensor_memory(str(module))):
        nvidia.passes.ttnvgpuir.add_optimize_tmem_layouts(pm)
    passes.ttir.add_loop_aware_cse(pm)
    passes.ttir.add_triton_licm(pm)
    passes.common.add_canonicalizer(pm)
    if blackwell:
        # Loads of tensor memory move to their uses: a tile of it fills the registers of a task.
        nvidia.passes.ttnvgpuir.add_interleave_tmem(pm)
    passes.ttgpuir.add_reduce_data_duplication(pm)
    passes.ttgpuir.add_reorder_instructions(pm)
    passes.ttir.add_loop_aware_cse(pm)
    # Proxy fences before the products that tl.dot became; what tlx wrote itself is fenced by its own operations.
    nvidia.passes.ttnvgpuir.add_fence_insertion(pm, capability)
    nvidia.passes.ttnvgpuir.add_lower_mma(pm)
    passes.common.add_symbol_dce(pm)
    pm.run(module, "tlx")


def optimize_amd(module: Any, options: Any) -> None:
    """The same for an AMD GPU: its back end has passes of its own for matrix instructions and copies to LDS."""
    pm = ir.pass_manager(module.context)
    pm.enable_debug()
    passes.ttir.add_loop_unroll(pm)
    passes.common.add_cse(pm)
    passes.ttgpuir.add_coalesce(pm)
    passes.ttgpuir.add_f32_dot_tc(pm, False)
    passes.ttgpuir.add_remove_layout_conversions(pm)
    passes.ttgpuir.add_optimize_thread_locality(pm)
    amd.passes.ttgpuir.add_accelerate_matmul(pm, options.arch, options.matrix_instr_nonkdim, options.kpack)
    passes.ttgpuir.add_remove_layout_conversions(pm)
    amd.passes.ttgpuir.add_optimize_epilogue(pm)
    amd.passes.ttgpuir.add_optimize_dot_operands(pm, options.arch)
    amd.passes.ttgpuir.add_hoist_layout_conversions(pm)
    amd.passes.ttgpuir.add_coalesce_async_copy(pm, options.arch)
    passes.common.add_canonicalizer(pm)
    passes.ttir.add_loop_aware_cse(pm)
    passes.ttir.add_triton_licm(pm)
    passes.ttgpuir.add_remove_layout_conversions(pm)
    passes.ttgpuir.add_reduce_data_duplication(pm)
    passes.common.add_canonicalizer(pm)
    passes.common.add_cse(pm)
    passes.common.add_symbol_dce(pm)
    pm.run(module, "tlx")
