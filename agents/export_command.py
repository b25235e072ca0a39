"""cc_env export-onnx: write a network as an ONNX model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from agents.network import load_network
from agents.network_weights import find_weights
from agents.onnx_export import INPUT, OUTPUTS, to_onnx
from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import FILE, GameName, GameOptions, Size, check_new_file, game_options
from cc_env.files import file_hash, write_atomically
from cc_env.games.factory import make_game
from cc_env.output import Terminal

app = create_app()
console = Terminal()


@app.command()
def export_onnx(
    file: Annotated[Path, typer.Argument(**FILE, help="The file to create.", show_default=False)],
    network: Annotated[
        str,
        typer.Option(
            "--network",
            "-n",
            help="alphazero, policy or ppo for shipped weights, or a weights file or a run folder.",
        ),
    ] = "alphazero",
    game: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
) -> None:
    """Write a network as an ONNX model, for ONNX Runtime, browsers and other languages."""
    exported_game = make_game(game, **game_options(option, size, game))
    weights = find_weights(network, exported_game)
    check_new_file(file)
    fingerprint = file_hash(weights)
    model = to_onnx(load_network(weights, exported_game), exported_game, fingerprint)
    write_atomically(file, model)
    console.print(
        f"{file}: {INPUT} -> {', '.join(OUTPUTS)} for {exported_game!r}, fingerprint {fingerprint}"
    )


if __name__ == "__main__":
    sys.exit(run(app))
