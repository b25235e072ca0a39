"""python -m benchmarks: our environments and the alternatives to them, in one table."""

import os
import sys

from cc_env.processes import THREAD_VARIABLES

ONE_THREAD = {
    **dict.fromkeys(THREAD_VARIABLES, "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
    # The greeting would be printed into the table.
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
}


def main() -> int:
    """Run the command line in one thread on one core; return the exit status."""
    # Libraries read these when they are imported.
    os.environ.update(ONE_THREAD)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from cc_env.__main__ import run_app

    return run_app("benchmarks.commands", "python -m benchmarks", "bench")


if __name__ == "__main__":
    sys.exit(main())
