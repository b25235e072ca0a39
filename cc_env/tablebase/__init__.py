"""Exact values of solved positions: table files and how they are probed."""

from typing import TYPE_CHECKING

from cc_env.registry.lazy import lazy_attributes

if TYPE_CHECKING:
    from cc_env.tablebase.tablebase import Tablebase

__all__ = ["Tablebase"]
__getattr__ = lazy_attributes(
    __name__,
    {
        "Tablebase": "cc_env.tablebase.tablebase",
    },
)
