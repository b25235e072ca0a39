"""Available memory, and sizes as text."""

import os
import re
from pathlib import Path


def available_memory() -> int | None:
    """Return the bytes of available memory; None if the system does not report them."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return min(int(line.split()[1]) * 1024, _available_to_container())
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _available_to_container() -> int:
    """Return the bytes that a container may still use; a large number if it has no limit.

    Cached files are not counted as used, as the system drops them when memory is required.
    """
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((folder / f"memory.{n}").read_text()) for n in ("max", "current"))
        cached = re.search(r"^inactive_file (\d+)$", (folder / "memory.stat").read_text(), re.M)
    except (OSError, ValueError):
        # A file is missing, or contains "max": there is no limit.
        return 1 << 62
    return max(0, limit - used + (int(cached[1]) if cached else 0))


def format_bytes(size: float) -> str:
    """Return a number of bytes with a binary unit."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"
