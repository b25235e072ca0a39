"""The connection to a Ray cluster, whose nodes may be lost and added at any time.

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
from training.parallel.processes import THREADS

try:
    import ray
except ImportError as missing:
    raise MissingExtra("engine 'ray'", "ray", "ray") from missing

ADDRESS = "RAY_ADDRESS"
CONNECT_TIMEOUT = 10.0  # seconds
OPTIONS: dict[str, Any] = {  # of tasks and actors: each has one CPU and one thread
    "num_cpus": 1,
    "scheduling_strategy": "SPREAD",
    "runtime_env": {"env_vars": dict.fromkeys(THREADS, "1")},
}


@contextmanager
def connected() -> Iterator[None]:
    """Connect to the cluster during the block, unless this process is connected already.

    Raises BadOption as `check_address`.
    """
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_TQDM_PATCH_PRINT", "0")  # numba supports only Python's print
    check_address()
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def check_address() -> None:
    """Raise BadOption if nothing answers at RAY_ADDRESS; Ray itself would retry for minutes."""
    address = os.environ.get(ADDRESS, "")
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        if port.isdigit():
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT).close()
        elif address not in ("", "auto", "local"):
            raise ValueError("wanted HOST:PORT")
    except (OSError, ValueError, OverflowError) as error:
        raise BadOption(
            f"{ADDRESS}={address!r}: no cluster answers ({error}); unset it to start one here"
        ) from error
