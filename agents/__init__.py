"""Every player by its spoken name: those of the library, and those that run from a checkout.

`make("minimax:depth=3", game)` and the like; see `cc_env.players` for the names. Importing this
package adds the players below to the library's table, so that environments, records and the arena
know them too. torch is imported when the first of them is made.

    policy       a network alone, one forward pass a decision
    alphazero    a network with tree search: alphazero:simulations=64, alphazero:seconds=1
    ppo          a network trained by PPO, alone
    memory       what won most often in games that it remembers: memory:path=FILE

Each network takes `path=…`, the folder of a run or its file of weights; by default the run in
`weights/`, if there is one for the game.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from cc_env.errors import BadCheckpoint, listed
from cc_env.game import Game
from cc_env.players import PLAYERS, make, register
from cc_env.referee import Player

__all__ = ["PLAYERS", "make", "register"]

WEIGHTS = Path(__file__).parent / "weights"
MEMORY = "runs/memory.sqlite"
NETWORK = "best.safetensors"  # in the folder of a run
CONTEMPT = 0.25  # what a draw by repetition is thought to cost, of a win's 1


def policy(
    game: Game, *, contempt: float = CONTEMPT, path: str | None = None, device: str = "cpu"
) -> Player:
    """Return a player that follows a network's policy."""
    from agents.learned import PolicyPlayer, evaluator

    network = evaluator(_file(game, "alphazero", path), game, device)
    return PolicyPlayer(game, network, contempt=contempt, mirrored=network.mirrored)


def ppo(
    game: Game, *, contempt: float = 0.0, path: str | None = None, device: str = "cpu"
) -> Player:
    """Return a player that follows the policy of a network trained by PPO.

    Its values are of discounted results: contempt, which is weighed against them, made it weaker.
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
    path: str | None = None,
    device: str = "cpu",
) -> Player:
    """Return a player that searches by a network; the limits are those of `AlphaZeroPlayer`."""
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
    )


def memory(
    game: Game,
    *,
    path: str = MEMORY,
    by: str = "wins",
    credit: str = "result",
    merge: str = "add",
) -> Player:
    """Return a player that remembers; the options are those of `MemoryPlayer`."""
    from agents.memory import MemoryPlayer

    return MemoryPlayer(game, path=path, by=by, credit=credit, merge=merge)


def _file(game: Game, way: str, path: str | None) -> Path:
    if path is None:
        return shipped(game, way)
    where = Path(str(path))  # a name that is a number was read as one
    return where / NETWORK if where.is_dir() else where


def shipped(game: Game, way: str) -> Path:
    """Return the weights that come with this; raise BadCheckpoint where there are none."""
    path = _place(game, way)
    if not path.exists():
        there = listed(sorted(each.parent.name for each in (WEIGHTS / way).glob(f"*/{NETWORK}")))
        raise BadCheckpoint(
            f"no {way} weights for {game!r} come with this, only for: {there or 'nothing'}; "
            f"python -m training.{way} trains some, for path=…"
        )
    return path


def _place(game: Game, way: str) -> Path:
    options = "-".join(str(value) for value in game.options.values())
    return WEIGHTS / way / f"{game.name}-{options}" / NETWORK


def _learned(way: str) -> Callable[[Game], bool]:
    """Return what tells whether weights for a game come with this, and torch can read them."""
    return lambda game: _place(game, way).exists() and find_spec("torch") is not None


register("policy", policy, _learned("alphazero"))
register("ppo", ppo, _learned("ppo"))
register("alphazero", alphazero, _learned("alphazero"))
register("memory", memory)
