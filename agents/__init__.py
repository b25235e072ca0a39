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

from collections.abc import Callable
from importlib.util import find_spec

from agents.defaults import CONTEMPT, MEMORY
from agents.shipped_weights import shipped_file, weights_file
from cc_env.core.game import Game
from cc_env.match.referee import Player
from cc_env.players.builtin import load_tables
from cc_env.players.specs import PLAYERS, make_player, register_player

__all__ = ["PLAYERS", "make_player", "register_player"]


def policy(
    game: Game, *, contempt: float = CONTEMPT, path: str | None = None, device: str = "cpu"
) -> Player:
    """Return a player that takes the most probable action of a network's policy."""
    from agents.network_players import PolicyPlayer, evaluator

    network = evaluator(weights_file(game, "alphazero", path), game, device)
    return PolicyPlayer(game, network, contempt=contempt, mirrored=network.mirrored)


def ppo(
    game: Game, *, contempt: float = 0.0, path: str | None = None, device: str = "cpu"
) -> Player:
    """Return a player that takes the most probable action of a network trained by PPO.

    The network predicts discounted results. Contempt, which is compared with these values, made
    the player weaker, so its default is 0.
    """
    from agents.network_players import PolicyPlayer, evaluator

    network = evaluator(weights_file(game, "ppo", path), game, device)
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
    from agents.network_players import AlphaZeroPlayer, evaluator

    network = evaluator(weights_file(game, "alphazero", path), game, device)
    return AlphaZeroPlayer(
        game,
        network,
        simulations=simulations,
        seconds=seconds,
        batch=batch,
        exploration=exploration,
        contempt=contempt,
        tables=load_tables(game, tables),
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
    from agents.memory_player import MemoryPlayer

    return MemoryPlayer(game, path=path, by=by, credit=credit, merge=merge)


def _learned(way: str) -> Callable[[Game], bool]:
    """Return a test whether weights are shipped for a game and torch is there to read them."""
    return lambda game: shipped_file(game, way).exists() and find_spec("torch") is not None


register_player("policy", policy, _learned("alphazero"))
register_player("ppo", ppo, _learned("ppo"))
register_player("alphazero", alphazero, _learned("alphazero"))
register_player("memory", memory)
