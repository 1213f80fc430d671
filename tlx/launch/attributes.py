"""The table of attributes: for each that a jit function, tuner or heuristics of Triton has, who answers.

*Dispatched* attributes take part in the choice between the two kernels. *Answered* ones come from our tuner if it chose
the config of the last launch, as a user who reads `best_config` expects. *Refused* ones would make the two kernels
disagree behind the user's back. All others, listed or not, are *forwarded* to the original, so that Triton, torch and
the user's own tools find exactly what they would find without us. Setting an attribute sets it on the original and
makes the next launch decide anew.
"""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["ANSWERED", "DISPATCHED", "FORWARDED", "REFUSED"]

DISPATCHED = frozenset({"run", "warmup", "__getitem__", "__call__"})

ANSWERED = frozenset({"best_config", "configs_timings", "bench_time"})

REFUSED = MappingProxyType(
    {
        "_unsafe_update_src": "it would change the source under its conversion; call it on `.original`, convert again",
        "__reduce_ex__": "a binding of two live kernels cannot be pickled; import it where it is needed",
    }
)

#: What Triton's own classes have (3.6 to 3.9). The list changes nothing at run time: a test reads it, so that an
#: attribute new in some Triton is looked at before it is forwarded without a thought.
# fmt: off
FORWARDED = frozenset({
    # JITFunction, TLX's included
    "CompiledKernel", "ASTSource", "compile", "_call_hook", "_do_compile", "_fn_name", "_get_src", "_hash_lock",
    "_pack_args", "_repr", "_set_src", "_src", "_flatten_ir", "__doc__", "__globals__", "__module__",
    "__name__", "__qualname__", "add_pre_run_hook", "arg_names", "cache_key", "constexprs", "create_binder",
    "debug", "def_file_col_number", "def_file_line_number", "device_caches", "do_not_specialize",
    "do_not_specialize_on_alignment", "file_name", "fn", "get_capture_scope", "hash", "is_gluon", "kernel",
    "launch_metadata", "module", "noinline", "params", "parse", "pre_run_hooks", "preload", "raw_src", "repr",
    "signature", "src", "starting_line_number", "type", "used_global_vals", "version",
    # Autotuner
    "_bench", "_do_bench", "base_fn", "cache", "cache_results", "check_disk_cache", "configs", "configs_top_k",
    "do_bench", "early_config_prune", "keys", "num_reps", "num_warmups", "perf_model", "post_hook", "pre_hook",
    "prune_configs", "reset_to_zero", "restore_value", "use_cuda_graph", "user_defined_post_hook",
    "user_defined_pre_hook", "nargs", "restore_copies",
    # Heuristics
    "values",
})
# fmt: on
