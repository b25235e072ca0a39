"""A run in the terminal: the progress bar, and what Ctrl-C does."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from cc_env.output import Terminal

BAR = (
    BarColumn(20),
    TaskProgressColumn(),
    TimeElapsedColumn(),
    TextColumn("{task.fields[told]}"),
)

_GOES_ON = b"""
finishing this step, then saving; Ctrl-C again stops at once, and what is not saved is lost
"""

console = Terminal()


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed in the block.

    The first Ctrl-C only sets this flag, so that a run can finish its step and save. The second
    one raises KeyboardInterrupt at once. Only the main thread hears Ctrl-C.
    """
    pressed: list[bool] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def press(*_: Any) -> None:
        pressed.append(True)
        signal.signal(signal.SIGINT, before)
        os.write(2, _GOES_ON)  # print must not be called from here, while it may be at work

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def progress() -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows the share done, 0 to 1, and a status on a progress bar.

    In a notebook nothing is shown.
    """
    with Progress(*BAR, console=console, disable=console.is_jupyter) as bar:
        task = bar.add_task("training", total=1.0, told="")
        yield lambda done, told: bar.update(task, completed=done, told=told)
