"""python -m benchmarks: our environments and the alternatives to them, in one table."""

import os
import sys

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",  # pygame's greeting would print into the table
}


def main() -> int:
    """Run the command line in one thread on one core; return the exit status."""
    os.environ.update(ONE_THREAD)  # before the libraries that read them are imported
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from cc_env.errors import MissingExtra

    try:
        from benchmarks.commands import app
        from cc_env.cli.application import run
    except MissingExtra as missing:
        print(missing, file=sys.stderr)
        return 2
    return run(app)


if __name__ == "__main__":
    sys.exit(main())
