"""Learned players. Importing this package registers them with `cc_env.players`.

`make_player("alphazero:simulations=64", game)` creates a player from a player spec, which
environments, records and the arena then accept, too. Networks need the package safetensors, and
torch only on a GPU (`device=cuda`).

    policy       a network without search, one forward pass per decision
    alphazero    a network with tree search: alphazero:simulations=64, alphazero:seconds=1
    ppo          a small network trained by PPO, without search
    memory       the choice with the most wins in remembered games: memory:path=FILE

Networks take `path=…`, the folder of a run or a weights file. The default is the network in
`weights/`, for games that have one.
"""

from collections.abc import Callable
from importlib.util import find_spec

from agents.defaults import CONTEMPT
from agents.reproductions.memory_player import MemoryPlayer
from agents.shipped_weights import shipped_path, weights_file
from cc_env.core.game import Game
from cc_env.match.referee import Player
from cc_env.players.builtin import as_tables
from cc_env.players.specs import PLAYERS, make_player, register_player

__all__ = ["PLAYERS", "make_player", "register_player"]


def policy(
    game: Game, *, contempt: float = 0.0, path: str | None = None, device: str = "cpu"
) -> Player:
    """Return a player that takes the most probable action of a network's policy.

    It repeats a position only if a draw, which has the value -`contempt`, is at least the network's
    value. A result by the rules of the game replaces the draw.
    """
    return _policy_player("policy", game, contempt, path, device)


def ppo(
    game: Game, *, contempt: float = 0.0, path: str | None = None, device: str = "cpu"
) -> Player:
    """Return a player like `policy`, by default with a small network trained by PPO."""
    return _policy_player("ppo", game, contempt, path, device)


def _policy_player(
    algorithm: str, game: Game, contempt: float, path: str | None, device: str
) -> Player:
    """Return a policy player with the weights at `path`, or those shipped for the algorithm."""
    from agents.evaluator import load_evaluator
    from agents.network_players import PolicyPlayer

    network = load_evaluator(weights_file(game, algorithm, path), game, device)
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
    evaluation: str | None = None,
    path: str | None = None,
    device: str = "cpu",
) -> Player:
    """Return a player that searches with a network; `tables` is a folder of exact values.

    A decision is limited by `simulations`, `seconds` or both. `batch` leaves of the tree are
    evaluated together, `exploration` is the weight of the policy in the PUCT formula, a draw by
    repetition has the value -`contempt`, and `path` is a weights file or a run folder. With
    `evaluation=learned`, the values of leaves come from the network and a short alpha-beta search.
    """
    from agents.evaluator import load_evaluator
    from agents.network_players import AlphaZeroPlayer

    network = load_evaluator(weights_file(game, "alphazero", path), game, device)
    return AlphaZeroPlayer(
        game,
        network,
        simulations=simulations,
        seconds=seconds,
        batch=batch,
        exploration=exploration,
        contempt=contempt,
        tables=as_tables(game, tables),
        evaluation=evaluation,
    )


def _is_available(kind: str) -> Callable[[Game], bool]:
    """Return a predicate: whether weights of a kind ship for a game and can be read."""
    return lambda game: shipped_path(game, kind).exists() and find_spec("safetensors") is not None


register_player("policy", policy, _is_available("policy"))
register_player("ppo", ppo, _is_available("ppo"))
register_player("alphazero", alphazero, _is_available("alphazero"))
register_player("memory", MemoryPlayer)
