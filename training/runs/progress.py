"""The progress bar of a run, and its handling of Ctrl-C."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from cc_env.output import Terminal

_STOPPING = b"""
finishing this step, then saving; Ctrl-C again stops at once and loses unsaved work
"""

console = Terminal()


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed in the block.

    The first Ctrl-C only sets this flag, so that a run can finish its step and save. The second
    one raises KeyboardInterrupt at once. Outside the main thread, the flag is never set.
    """
    pressed: list[bool] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def press(*_: object) -> None:
        pressed.append(True)
        signal.signal(signal.SIGINT, before)
        # `print` is not reentrant: the signal may have interrupted it.
        os.write(2, _STOPPING)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def progress() -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows the completed fraction, 0 to 1, and a status on a progress bar.

    Notebooks have no progress bar.
    """
    percent, time, status = TaskProgressColumn(), TimeElapsedColumn(), "{task.fields[status]}"
    columns = BarColumn(20), percent, time, TextColumn(status)
    with Progress(*columns, console=console, disable=console.is_jupyter) as bar:
        task = bar.add_task("training", total=1.0, status="")
        yield lambda fraction, status: bar.update(task, completed=fraction, status=status)


@contextmanager
def games_progress() -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows the numbers of finished and of all games on a progress bar."""
    columns = TextColumn("games"), BarColumn(None), MofNCompleteColumn(), TimeRemainingColumn()
    is_hidden = not console.shows_progress
    with Progress(*columns, console=console, transient=True, disable=is_hidden) as bar:
        task = bar.add_task("games", total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)
