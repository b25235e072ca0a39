"""cc_env verify-result FILE: replay a submitted result."""

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import FILE
from cc_env.errors import BadRecord, format_count
from cc_env.games.factory import make_game
from training.baselines.submission import (
    REPEATED_PLAYERS,
    differences_from_baselines,
    read_submission,
    verify,
)
from training.runs.progress import console, games_progress

app = create_app()
# Time after which the rest is estimated.
_ESTIMATE_SECONDS = 5.0


@app.command()
def verify_result(
    file: Annotated[Path, typer.Argument(**FILE, help="A file of cc_env write-result.")],
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Repeat the decisions of the opponent only in this number of random games.",
            show_default="all games",
        ),
    ] = None,
) -> None:
    """Replay a submitted result: openings, moves, results, and the decisions of the opponent.

    The first difference ends the command with status 2. The command prints its expected time if
    that is more than a minute.
    """
    submission = read_submission(file)
    try:
        with games_progress() as show:
            num_repeated = verify(submission, _Estimate(show), sample=sample)
    except BadRecord as error:
        raise BadRecord(f"{file}: {error}") from error
    claim, games = submission.claim, len(submission.games)
    game = make_game(submission.game, **submission.options)
    console.print(f"{submission.player} against {submission.opponent}, {game!r}")
    console.print(
        f"{100 * claim.score:.1f} % ({100 * claim.low:.1f} to {100 * claim.high:.1f}) "
        f"in {games} games, {claim.distinct_games} of them different"
    )
    if submission.forfeits:
        console.print(
            f"forfeited by {submission.player}: {format_count(submission.forfeits, 'game')}"
        )
    decisions = f"not repeated; only {REPEATED_PLAYERS} are"
    if num_repeated:
        decisions = f"repeated in {num_repeated:,} of {games:,} games"
    console.print("openings, moves and results agree with the rules and the claim")
    console.print(f"decisions of {submission.opponent}: {decisions}")
    differences = "; ".join(differences_from_baselines(submission))
    console.print(
        f"comparable with the baselines: {f'no ({differences})' if differences else 'yes'}"
    )


class _Estimate:
    """Shows progress, and prints once how long the verification will take if that is long."""

    def __init__(self, show: Callable[[int, int], None]) -> None:
        self._show, self._start, self._is_made = show, time.monotonic(), False

    def __call__(self, done: int, total: int) -> None:
        self._show(done, total)
        seconds = time.monotonic() - self._start
        if self._is_made or seconds < _ESTIMATE_SECONDS:
            return
        self._is_made = True
        minutes = math.ceil(seconds / done * (total - done) / 60)
        if minutes > 1:
            advice = "--sample 100 repeats the decisions of the opponent in 100 of them"
            console.print(f"about {minutes:,} minutes for {total:,} games; {advice}")


if __name__ == "__main__":
    sys.exit(run(app))
