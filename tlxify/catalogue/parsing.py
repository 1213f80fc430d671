"""TLX1xx: the file and its kernels could not be read as far as conversion needs."""

from __future__ import annotations

from .rule import Rule

RULES = (
    Rule(
        code="TLX101",
        outcome="error",
        title="file does not parse",
        fact="This file is not valid Python[: {why}].",
        remedy="Fix the syntax error and run tlxify again.",
        why="Conversion edits a syntax tree. A file that Python itself cannot read has none.",
        example="""
            def kernel(x_ptr:
                pass
        """,
    ),
    Rule(
        code="TLX102",
        outcome="error",
        title="no Triton kernel in file",
        fact="No function in this file is decorated with `triton.jit` or passed to it, but for helpers of others.",
        remedy=(
            "Name the file that defines the kernel; a kernel imported from elsewhere is converted where it is defined."
        ),
        why=(
            "tlxify looks for `triton.jit` under any alias, also one of another module of the source tree, below other "
            "decorators and as a plain call. A jit function that returns a value, or that others call and nobody "
            "launches, is a helper."
        ),
        example="""
            import torch


            def matmul(a, b):
                return torch.matmul(a, b)
        """,
    ),
    Rule(
        code="TLX103",
        outcome="error",
        title="no kernel of that name",
        fact="This file has no kernel called `{name}`[; it has {known}].",
        remedy="Give `--kernel` the name of the decorated function as it stands in the file.",
        why="`--kernel` chooses among the kernels of a file by exact name.",
        example="""
            # tlxify convert matmul.py --kernel matmul_kernl
            @triton.jit
            def matmul_kernel(a_ptr): ...
        """,
    ),
    Rule(
        code="TLX104",
        outcome="declined",
        title="unsupported Python construct",
        fact="The kernel uses {what}, which the converter does not follow.",
        remedy="Write it with the plain statements of Triton (assignments, `if`, `for`, `while`, calls).",
        why=(
            "Every statement of a kernel is given to the warps that need it. What cannot be followed cannot "
            "be given to anyone."
        ),
        example="""
            @triton.jit
            def kernel(x_ptr, N: tl.constexpr):
                rows = [i * 2 for i in tl.static_range(N)]
        """,
    ),
    Rule(
        code="TLX105",
        outcome="declined",
        title="helper not found",
        fact="The helper `{name}` cannot be resolved from this file[: {why}].",
        remedy=("Import the helper by name from a module that tlxify can find as source, or define it in this file."),
        why=(
            "Helpers are read, never imported: converting must not run the code it converts. A helper that "
            "cannot be read may contain the dot or touch memory."
        ),
        example="""
            ops = load_ops()


            @triton.jit
            def kernel(x_ptr):
                ops.activation(tl.load(x_ptr))
        """,
    ),
    Rule(
        code="TLX106",
        outcome="declined",
        title="helpers call each other in a circle",
        fact="The helper `{name}` calls itself, directly or through others.",
        remedy="Replace the recursion by a loop; Triton rejects it as well.",
        why="Helpers are inlined into the model of the kernel, which a circle would never finish.",
        example="""
            @triton.jit
            def fold(x, n: tl.constexpr):
                return fold(x, n - 1)
        """,
    ),
    Rule(
        code="TLX107",
        outcome="declined",
        title="global is not a literal constant",
        fact="The kernel reads the global `{name}`, whose value is not a literal in the source[: {why}].",
        remedy=(
            "Make it a `tl.constexpr` parameter, or bind it once at module level to a literal or "
            "`tl.constexpr(literal)`."
        ),
        why="The converted module must stand alone, and the value must be known without running the file.",
        example="""
            BLOCK = int(os.environ['BLOCK'])


            @triton.jit
            def kernel(x_ptr):
                offs = tl.arange(0, BLOCK)
        """,
    ),
    Rule(
        code="TLX108",
        outcome="warning",
        title="already converted",
        fact="`{name}` is a conversion made by tlxify[ from {origin}].",
        remedy="Convert its source instead; to undo the conversion run `tlxify revert`.",
        why="A warp-specialized kernel has its roles already. Converting again changes nothing.",
        example="""
            @tlx.jit
            def matmul_kernel_ws(a_desc, b_desc, c_ptr):
                with tlx.async_tasks(): ...
        """,
    ),
    Rule(
        code="TLX109",
        outcome="declined",
        title="kernel defined inside a function or class",
        fact="`{name}` is defined inside a {where}: {why}.",
        remedy="Move the kernel to module level and pass what it closes over as `tl.constexpr` parameters.",
        why=(
            "Values from the enclosing scope are known only while that scope runs. A kernel inside a function is "
            "converted where it reads literals, jit functions and Triton's own names alone; one inside a class is not, "
            "nor one of several under one name, nor one in a loop, in another kernel, or in an arm of a condition that "
            "no supported Triton takes."
        ),
        example="""
            def make(scale):
                @triton.jit
                def kernel(x_ptr):
                    tl.store(x_ptr, scale)

                return kernel
        """,
    ),
    Rule(
        code="TLX110",
        outcome="warning",
        title="skip comment names no known code",
        fact="This skip comment names no code of this version[: `{name}` is none].",
        remedy="Write the code as `tlxify` printed it, for example `# tlxify: skip[TLX301] reason`.",
        why="A misspelt code, or a comment without one, would silently suppress nothing.",
        example="""
            @triton.jit  # tlxify: skip[TLX999] reviewed
            def kernel(x_ptr): ...
        """,
    ),
    Rule(
        code="TLX111",
        outcome="declined",
        title="decorator that a launch must not go past",
        fact="`@{decorator}` stands around `{name}`, and what it does with a launch is not known.",
        remedy="Do what it does where the kernel is launched, or tune with `triton.autotune`.",
        why=(
            "A specialized kernel is launched in place of what decorators made. Triton's own are put around it again; "
            "others may change arguments, or do something before or after, which would be lost. Those are gone past "
            "that hand the jit function on as it is, as far as their definition in the same source tree shows, and the "
            "tuners and entries of flag-gems and flash-linear-attention."
        ),
        example="""
            class doubled:
                def __init__(self, fn):
                    self.fn = fn

                def __getitem__(self, grid):
                    return lambda *args: self.fn[grid](*args, SCALE=2)


            @doubled
            @triton.jit
            def kernel(x_ptr, SCALE: tl.constexpr = 1): ...
        """,
    ),
    Rule(
        code="TLX112",
        outcome="declined",
        title="decorator that cannot be followed",
        fact="`{name}` does what kernels do, but whether its decorator `{decorator}` is `triton.jit` cannot be told.",
        remedy=(
            "Import `jit` from triton, or from a module of this source tree that takes it from there; a decorator of "
            "your own is followed where it returns `triton.jit(f)`."
        ),
        why=(
            "Names are followed through the files of the source tree without importing any. What a decorator does that "
            "is computed, or comes from another package, only running it would tell, and what it launches may be "
            "something else than the function below it."
        ),
        example="""
            jit = load_backend().jit


            @jit
            def kernel(x_ptr):
                tl.store(x_ptr, 1)
        """,
    ),
    Rule(
        code="TLX113",
        outcome="declined",
        title="another function takes the kernel's name",
        fact="This `{name}` stays as it is: of the functions of that name only the one in line {line} is looked at.",
        remedy="Give each of them a name of its own.",
        why=(
            "A conversion is bound by the name of its kernel, once per name. Where a file defines a name twice, or in "
            "both arms of a condition, the last definition is converted; a launch of an earlier one, through another "
            "name or in the other arm, runs the original."
        ),
        example="""
            @triton.jit
            def kernel(x_ptr):
                tl.store(x_ptr, 1)


            first = kernel


            @triton.jit
            def kernel(x_ptr):
                tl.store(x_ptr, 2)
        """,
    ),
    Rule(
        code="TLX114",
        outcome="declined",
        title="kernel made by a call that is not followed",
        fact="`{call}` makes a kernel of `{name}`, but no statement of its own binds it to one name.",
        remedy="Bind it at module level by itself, `kernel = triton.jit(function)`, or decorate the function.",
        why=(
            "A conversion takes the place of its kernel in a statement below the one that binds the kernel's name. "
            "What is kept in a container, an attribute or a class, chosen among others, or handed on to a function has "
            "no such name."
        ),
        example="""
            def _kernel(x_ptr):
                tl.store(x_ptr, 1)


            kernels = {"one": triton.jit(_kernel)}
        """,
    ),
    Rule(
        code="TLX120",
        outcome="error",
        title="internal error",
        fact="internal error: tlxify itself failed on `{name}`: {why}.",
        remedy="Report it with the file; the kernel stays as it is. `tlxify --debug convert FILE` shows where it was.",
        why=(
            "A fault of the tool must cost one kernel, not a run over a whole tree. It is reported under a code of "
            "its own and ends the run with exit status 2."
        ),
        example="""
            tlxify migrate src/
        """,
    ),
    Rule(
        code="TLX121",
        outcome="error",
        title="limit of time or memory",
        fact="Work on `{name}` was ended: {why}.",
        remedy="Give it more with `--time-limit`; if the kernel is not unusually large, report it.",
        why=(
            "One kernel on which an analysis explodes must not stop a run over a whole tree. Each file has its own "
            "clock, and each process its own share of memory."
        ),
        example="""
            tlxify migrate src/ --time-limit 60
        """,
    ),
    Rule(
        code="TLX122",
        outcome="error",
        title="conversion could not be written",
        fact="The conversion of `{name}` was not written: {why}.",
        remedy="Clear what is in the way and run tlxify again; nothing of this file was changed.",
        why="A file of yours is never overwritten by guess, and never left half written.",
        example="""
            tlxify migrate src/ --write
        """,
    ),
)
