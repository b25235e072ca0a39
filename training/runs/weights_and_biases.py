"""The rows of a run in Weights & Biases (option --wandb, extra `wandb`).

wandb's own variables apply: WANDB_MODE=offline writes to the folder of the run only, WANDB_PROJECT
and WANDB_ENTITY choose where runs go.
"""

import os
import re
import secrets
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cc_env.errors import BadOption, MissingExtra
from cc_env.files import write_atomically

# wandb's folder, and the file with the id of the run, in the folder of a run.
FOLDER, ID_FILE = "wandb", "wandb_id"
DEFAULT_PROJECT = "cc_env"


def require_wandb() -> None:
    """Raise MissingExtra unless wandb is installed."""
    if find_spec("wandb") is None:
        raise MissingExtra("--wandb", "wandb", "wandb")


class WandbRun:
    """A run of Weights & Biases; one that is resumed continues the same run."""

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        """Start or continue the run of the folder `path`.

        Raises MissingExtra without wandb, BadOption if wandb cannot start, OSError.
        """
        require_wandb()
        import wandb

        try:
            self._run = wandb.init(
                project=os.environ.get("WANDB_PROJECT", DEFAULT_PROJECT),
                name=path.name,
                id=_run_id(path / ID_FILE),
                resume="allow",
                dir=path,
                config=dict(config),
                settings=wandb.Settings(silent=True, console="off"),
            )
        except wandb.errors.Error as error:
            offline = "WANDB_MODE=offline works without a connection and a login"
            raise BadOption(f"wandb cannot start: {error}; {offline}") from error
        # Rows after the last checkpoint are logged again when a run is resumed.
        self._run.define_metric("*", step_metric="step")

    def add(self, row: Mapping[str, float]) -> None:
        """Add a row of metrics, with its step."""
        self._run.log(dict(row))

    def close(self) -> None:
        """Wait until all rows are sent or written, and end the run."""
        self._run.finish()


def _run_id(path: Path) -> str:
    """Return the id in a file, which is created with a random one if it has no valid id."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    if re.fullmatch(r"[0-9a-f]{16}", text):
        return text
    new_id = secrets.token_hex(8)
    write_atomically(path, new_id)
    return new_id
