"""The log of a run: a row of metrics per line of log.jsonl, with its step; also in TensorBoard.

Optionally, rows are also sent to Weights & Biases.
"""

import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeGuard

from torch.utils.tensorboard import SummaryWriter

from cc_env.errors import BadRecord, format_count
from cc_env.files import drop_partial_line, read_lines
from training.runs.checkpoints import LogEnd
from training.runs.weights_and_biases import WandbRun

LOG, TENSORBOARD = "log.jsonl", "tensorboard"
# Errors of `parse_row` for text that is not a row.
_PARSE_ERRORS = ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError

# "step" and the metrics by name.
Row = dict[str, Any]


class Log:
    """The rows of a run and the file that they are appended to."""

    def __init__(
        self, folder: Path, file: IO[bytes], end: LogEnd, wandb_run: WandbRun | None = None
    ) -> None:
        """Read the rows of the folder's log up to `end` and drop later ones, whose work is lost.

        `file` is the log, open for appending. New rows are added to `wandb_run`, too. Raises
        BadRecord, and drops nothing, if one of these rows is invalid or the last one is not there.
        """
        self._file, self._wandb_run = file, wandb_run
        drop_partial_line(folder / LOG)
        numbered = list(read_lines(folder / LOG))
        self.rows: list[Row] = [parse_row(folder / LOG, *line) for line in numbered[: end.rows]]
        _check_end(folder / LOG, self.rows, end)
        self.newest: Row = {name: value for row in self.rows for name, value in row.items()}
        if numbered and not end.rows:
            warnings.warn(
                f"{folder} was stopped before its first checkpoint; it starts again", stacklevel=2
            )
        os.truncate(folder / LOG, sum(len(text.encode()) for _, text in numbered[: end.rows]))
        first_step = self.rows[-1]["step"] + 1 if self.rows else 0
        self._writer = SummaryWriter(
            str(folder / TENSORBOARD), purge_step=first_step, flush_secs=10
        )

    def add(self, step: int, metrics: Mapping[str, float | None]) -> None:
        """Append a row, without None, NaN and infinities; raise OSError if it cannot be written."""
        row = {name: float(value) for name, value in metrics.items() if _is_number(value)}
        self.rows.append({"step": step, **row})
        self.newest |= self.rows[-1]
        self._file.write(json.dumps(self.rows[-1]).encode() + b"\n")
        self._file.flush()
        for name, value in row.items():
            self._writer.add_scalar(name, value, step)
        if self._wandb_run is not None:
            self._wandb_run.add(self.rows[-1])

    def sync(self) -> None:
        """Flush the rows to disk; raise OSError if that fails."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close TensorBoard's files."""
        self._writer.close()


def parse_row(path: Path, number: int, text: str) -> Row:
    """Parse line `number` of the log at `path`; raise BadRecord if it is invalid."""
    try:
        row = json.loads(text)
        return {name: float(value) for name, value in row.items()} | {"step": int(row["step"])}
    except _PARSE_ERRORS as error:
        raise BadRecord(f"{path}, line {number}: not a row of numbers: {error!r}") from None


def _check_end(path: Path, rows: Sequence[Row], end: LogEnd) -> None:
    """Raise BadRecord unless `rows`, the first ones of a log, are those before a checkpoint."""
    last_step = rows[-1]["step"] if rows else 0
    if (len(rows), last_step) != end:
        raise BadRecord(
            f"{path}: {format_count(len(rows), 'row')} up to step {last_step}; "
            f"expected: {format_count(end.rows, 'row')} up to step {end.step}, as at the newest "
            "checkpoint; restore the missing rows to resume this run"
        )


def _is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)
