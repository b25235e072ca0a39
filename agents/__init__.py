"""Players by name: those of the library, and the learned ones, which run from a checkout.

`make_player("minimax:depth=3", game)` makes a player; `cc_env.players.specs` explains the names.
Importing this package registers the players below with the library, so that environments, records
and the arena know them too. torch is imported when the first of them is made.

    policy       a network without search, one forward pass per decision
    alphazero    a network with tree search: alphazero:simulations=64, alphazero:seconds=1
    ppo          a network trained by PPO, without search
    memory       plays what won most often in the games it remembers: memory:path=FILE

Networks take `path=…`, the folder of a run or a file of weights. The default is the network in
`weights/`, for the games that have one.
"""

import json
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, listed
from cc_env.games.factory import make_game
from cc_env.match.referee import Player
from cc_env.players.builtin import tables_of
from cc_env.players.specs import PLAYERS, make_player, register_player

__all__ = ["PLAYERS", "make_player", "register_player"]

WEIGHTS = Path(__file__).parent / "weights"
MEMORY = "runs/memory.sqlite"
NETWORK, CONFIG = "best.safetensors", "config.json"  # file names in the folder of a run
CONTEMPT = 0.25  # value of a draw by repetition: -CONTEMPT, where a win is 1


def policy(
    game: Game, *, contempt: float = CONTEMPT, path: str | None = None, device: str = "cpu"
) -> Player:
    """Return a player that takes the most probable action of a network's policy."""
    from agents.learned import PolicyPlayer, evaluator

    network = evaluator(_file(game, "alphazero", path), game, device)
    return PolicyPlayer(game, network, contempt=contempt, mirrored=network.mirrored)


def ppo(
    game: Game, *, contempt: float = 0.0, path: str | None = None, device: str = "cpu"
) -> Player:
    """Return a player that takes the most probable action of a network trained by PPO.

    The network predicts discounted results. Contempt, which is compared with these values, made
    the player weaker, so its default is 0.
    """
    from agents.learned import PolicyPlayer, evaluator

    network = evaluator(_file(game, "ppo", path), game, device)
    return PolicyPlayer(game, network, contempt=contempt, mirrored=network.mirrored)


def alphazero(
    game: Game,
    *,
    simulations: int | None = None,
    seconds: float | None = None,
    batch: int = 16,
    exploration: float = 1.5,
    contempt: float = CONTEMPT,
    tables: str | None = None,
    path: str | None = None,
    device: str = "cpu",
) -> Player:
    """Return a player that searches with a network; for the options see `AlphaZeroPlayer`.

    `tables` is a folder of exact values.
    """
    from agents.learned import AlphaZeroPlayer, evaluator

    network = evaluator(_file(game, "alphazero", path), game, device)
    return AlphaZeroPlayer(
        game,
        network,
        simulations=simulations,
        seconds=seconds,
        batch=batch,
        exploration=exploration,
        contempt=contempt,
        tables=tables_of(game, tables),
    )


def memory(
    game: Game,
    *,
    path: str = MEMORY,
    by: str = "wins",
    credit: str = "result",
    merge: str = "add",
) -> Player:
    """Return a player that remembers games; for the options see `MemoryPlayer`."""
    from agents.memory import MemoryPlayer

    return MemoryPlayer(game, path=path, by=by, credit=credit, merge=merge)


def _file(game: Game, way: str, path: str | None) -> Path:
    # Options read a name such as 12 as a number.
    return shipped(game, way) if path is None else weights_at(str(path))


def weights_at(path: str) -> Path:
    """Return the file of weights that a path means, which may be the folder of a run."""
    where = Path(path)
    return where / NETWORK if where.is_dir() else where


def shipped(game: Game, way: str) -> Path:
    """Return the file of weights that cc_env ships for a game; raise BadCheckpoint without one."""
    path = _shipped_file(game, way)
    if not path.exists():
        configs = (json.loads(file.read_text()) for file in (WEIGHTS / way).glob(f"*/{CONFIG}"))
        there = sorted(_as_typed(config["game"], config["options"]) for config in configs)
        wanted = f"cc_env train-{way} trains a network, then {way}:path=FOLDER plays"
        raise BadCheckpoint(
            f"cc_env ships no {way} weights for {_as_typed(game.name, game.options)}, only for: "
            f"{listed(there) or 'nothing'}; {wanted}"
        )
    return path


def _as_typed(name: str, options: Mapping[str, Any]) -> str:
    """Return a game's name, with those of its options that differ from the default."""
    usual = make_game(name).options
    chosen = [f"{option}={options[option]}" for option in usual if options[option] != usual[option]]
    return " ".join([name, *chosen])


def _shipped_file(game: Game, way: str) -> Path:
    options = "-".join(str(value) for value in game.options.values())
    return WEIGHTS / way / f"{game.name}-{options}" / NETWORK


def _learned(way: str) -> Callable[[Game], bool]:
    """Return a test whether weights are shipped for a game and torch is there to read them."""
    return lambda game: _shipped_file(game, way).exists() and find_spec("torch") is not None


register_player("policy", policy, _learned("alphazero"))
register_player("ppo", ppo, _learned("ppo"))
register_player("alphazero", alphazero, _learned("alphazero"))
register_player("memory", memory)
