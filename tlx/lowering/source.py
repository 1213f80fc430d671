"""What Triton compiles: a kernel's syntax tree, turned into optimised TTGIR before the stock back end sees it."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

from triton._C.libtriton import ir
from triton.backends.compiler import Language
from triton.compiler.compiler import ASTSource, make_backend

from ..builtin import TLXError
from . import checks, passes, versions
from .codegen import ast_to_module
from .reprinted import rewritten
from .state import Compilation, compiling


@functools.cache
def fingerprint() -> str:
    """Hash of tlx's own text: a cached cubin must not outlive the code that made it."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted([*root.glob("*.py"), *root.glob("lowering/*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


#: AMD GPUs that kernels are compiled for
AMD = ("gfx942", "gfx950")


def _compilation(target: Any, options: Any) -> Compilation:
    if target.backend == "hip" and target.arch in AMD:
        return Compilation(0, gfx=target.arch, warp_size=options.warp_size)
    if target.backend == "cuda" and int(target.arch) // 10 in (9, 10):
        return Compilation(int(target.arch))
    raise TLXError(
        "tlx kernels are compiled for Hopper (sm_90), Blackwell (sm_100) and, as far as they use what AMD GPUs have, "
        f"for {' and '.join(AMD)}, not for {target.backend} {target.arch}"
    )


class TLXASTSource(ASTSource):  # type: ignore[misc]
    """A TLX kernel with the types of its arguments."""

    def __init__(self, fn: Any, signature: Any, constexprs: Any = None, attrs: Any = None) -> None:
        super().__init__(fn, signature, constexprs, attrs)
        self.language = Language.GLUON
        self.ext = versions.SOURCE_EXTENSION

    def hash(self) -> str:
        """Triton's key, with tlx in it."""
        return hashlib.sha256(f"{super().hash()}-{fingerprint()}".encode()).hexdigest()

    def make_ir(self, target: Any, options: Any, codegen_fns: Any, module_map: Any, context: Any) -> Any:
        """The optimised module.

        Raises:
            TLXError: the target is neither Hopper nor Blackwell nor in ``AMD``.
        """
        if options.num_ctas != 1 and not versions.CLUSTERS:
            raise TLXError(versions.too_old(f"a cluster of {options.num_ctas} CTAs"))
        builder = ir.builder(context)
        module = builder.create_module()
        # Layouts are verified as they are created, so the module has to know its warps by then.
        name = make_backend(target).get_target_name(options)
        module.set_attr("ttg.target", builder.get_string_attr(name))
        module.set_attr("ttg.num-warps", builder.get_int32_attr(options.num_warps))
        # In TLX each CTA of a cluster runs a program of its own; only the launcher knows of clusters.
        module.set_attr("ttg.num-ctas", builder.get_int32_attr(1))
        module.set_attr("ttg.threads-per-warp", builder.get_int32_attr(options.warp_size))
        if getattr(options, "maxnreg", None) is not None:
            module.set_attr("ttg.maxnreg", builder.get_int32_attr(options.maxnreg))
        with compiling(_compilation(target, options)):
            module = ast_to_module(
                self.fn,
                self,
                context=context,
                options=options,
                codegen_fns=codegen_fns,
                module_map=module_map,
                module=module,
            )
        passes.inline(module)
        checks.protocol(module)
        passes.fold(module)
        checks.constants(module)
        if target.backend == "hip":
            passes.optimize_amd(module, options)
        else:
            passes.optimize(module, int(target.arch))
            checks.copy_widths(module)
            module = rewritten(module, context)
        return module
