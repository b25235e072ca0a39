"""cc_env write-result PLAYER: play a match and write it as a file that others can verify."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import FILE, GameName, GameOptions, Size, game_options
from training.baselines.boards import GAMES, OPENING_SEED, OPENING_TURNS
from training.baselines.submission import write_submission
from training.runs.progress import console

app = create_app()


@app.command()
def write_result(
    player: Annotated[str, typer.Argument(help="Player spec, e.g. policy:path=runs/mine.")],
    game: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    opponent: Annotated[str, typer.Option(help="Player spec of the opponent.")] = "minimax:depth=3",
    games: Annotated[int, typer.Option(help="Number of games; even.")] = GAMES,
    opening_turns: Annotated[
        int, typer.Option(help="Random turns before the players take over.")
    ] = OPENING_TURNS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of openings and games.")] = OPENING_SEED,
    name: Annotated[
        str | None, typer.Option(help="Name of the player in the file.", show_default="PLAYER")
    ] = None,
    out: Annotated[Path, typer.Option(**FILE, help="The file.")] = Path("result.json"),
) -> None:
    """Play a match against a player and write all games to a file, for cc_env verify-result."""
    submission = write_submission(
        out,
        player,
        game,
        opponent=opponent,
        options=game_options(option, size, game),
        games=games,
        opening_turns=opening_turns,
        seed=seed,
        name=name,
    )
    claim = submission.claim
    console.print(
        f"{submission.player} against {opponent}: {100 * claim.score:.1f} % "
        f"({100 * claim.low:.1f} to {100 * claim.high:.1f}), written to {out}"
    )
    if submission.forfeits:
        console.print(f"forfeited by {submission.player}: {submission.forfeits} of {games} games")


if __name__ == "__main__":
    sys.exit(run(app))
