"""The connection to a Ray cluster, to which nodes may be added and lost at any time.

`ray.init` chooses the cluster: the one at RAY_ADDRESS if that is set, else one that runs on this
machine, else a new one on this machine alone. Every node needs this checkout at the same path, or
gets it by `ray job submit --working-dir . -- python -m training.alphazero --engine ray`. Only this
process and the head node must stay alive. `training.parallel.cluster_tasks` runs tasks on the
cluster, `training.selfplay.actors` self-play.
"""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cc_env.errors import BadOption, MissingExtra
from training.parallel.processes import THREAD_VARIABLES

try:
    import ray
except ImportError as missing:
    raise MissingExtra("engine 'ray'", "ray", "ray") from missing

ADDRESS_VARIABLE = "RAY_ADDRESS"
CONNECT_TIMEOUT_SECONDS = 10.0
# Each task or actor has one CPU and one thread.
RAY_OPTIONS: dict[str, Any] = {
    "num_cpus": 1,
    "scheduling_strategy": "SPREAD",
    "runtime_env": {"env_vars": dict.fromkeys(THREAD_VARIABLES, "1")},
}


@contextmanager
def connected() -> Iterator[None]:
    """Connect to the cluster during the block, unless this process is already connected.

    Raises BadOption if RAY_ADDRESS is unreachable.
    """
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # numba supports only Python's own print.
    os.environ.setdefault("RAY_TQDM_PATCH_PRINT", "0")
    check_address()
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def check_address() -> None:
    """Raise BadOption if RAY_ADDRESS is unreachable; Ray itself would retry for minutes."""
    address = os.environ.get(ADDRESS_VARIABLE, "")
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        if port.isdigit():
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_SECONDS).close()
        elif address not in ("", "auto", "local"):
            raise ValueError("expected: HOST:PORT")
    except (OSError, ValueError, OverflowError) as error:
        raise BadOption(
            f"{ADDRESS_VARIABLE}={address!r}: no cluster responds ({error}); "
            "unset it to start one here"
        ) from error
