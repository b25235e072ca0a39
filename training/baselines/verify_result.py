"""cc_env verify-result FILE: replay a submitted result."""

import sys
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


@app.command()
def verify_result(
    file: Annotated[Path, typer.Argument(**FILE, help="A file of cc_env write-result.")],
) -> None:
    """Replay a submitted result: openings, moves, results, and the decisions of the opponent.

    The first difference ends the command with status 2.
    """
    submission = read_submission(file)
    try:
        with games_progress() as show:
            verdict = verify(submission, show)
    except BadRecord as error:
        raise BadRecord(f"{file}: {error}") from error
    claim = verdict.claim
    game = make_game(submission.game, **submission.options)
    console.print(f"{submission.player} against {submission.opponent}, {game!r}")
    console.print(
        f"{100 * claim.score:.1f} % ({100 * claim.low:.1f} to {100 * claim.high:.1f}) "
        f"in {len(submission.games)} games, {claim.distinct_games} of them different"
    )
    if submission.forfeits:
        console.print(
            f"forfeited by {submission.player}: {format_count(submission.forfeits, 'game')}"
        )
    decisions = "repeated" if verdict.is_repeated else f"not repeated; only {REPEATED_PLAYERS} are"
    console.print("openings, moves and results agree with the rules and the claim")
    console.print(f"decisions of {submission.opponent}: {decisions}")
    differences = "; ".join(differences_from_baselines(submission))
    console.print(
        f"comparable with the baselines: {f'no ({differences})' if differences else 'yes'}"
    )


if __name__ == "__main__":
    sys.exit(run(app))
