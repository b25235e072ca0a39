"""Every player by its spoken name: those of the library, and those that run from a checkout.

`make("minimax:depth=3", game)` and the like; see `cc_env.players` for the names. Importing this
package adds the players below to the library's table, so that environments, records and the arena
know them too. torch is imported when the first of them is made.

    policy       a network alone, one forward pass a decision
    alphazero    a network with tree search: alphazero:simulations=64, alphazero:seconds=1
    ppo          a network trained by PPO, alone

Each takes `path=FILE`, weights that training wrote; by default those in `weights/`, if there are
any for the game.
"""

from pathlib import Path

from cc_env.errors import BadCheckpoint
from cc_env.game import Game
from cc_env.players import PLAYERS, make, register
from cc_env.referee import Player

__all__ = ["PLAYERS", "make", "register"]

WEIGHTS = Path(__file__).parent / "weights"
NETWORK = "network.safetensors"


def policy(game: Game, *, path: str | None = None, device: str = "cpu") -> Player:
    """Return a player that follows a network's policy."""
    from agents.learned import PolicyPlayer, evaluator

    return PolicyPlayer(game, evaluator(_file(game, "alphazero", path), game, device))


def ppo(game: Game, *, path: str | None = None, device: str = "cpu") -> Player:
    """Return a player that follows the policy of a network trained by PPO."""
    from agents.learned import PolicyPlayer, evaluator

    return PolicyPlayer(game, evaluator(_file(game, "ppo", path), game, device))


def alphazero(
    game: Game,
    *,
    simulations: int | None = None,
    seconds: float | None = None,
    wave: int = 16,
    path: str | None = None,
    device: str = "cpu",
) -> Player:
    """Return a player that searches by a network; the limits are those of `AlphaZeroPlayer`."""
    from agents.learned import AlphaZeroPlayer, evaluator

    network = evaluator(_file(game, "alphazero", path), game, device)
    return AlphaZeroPlayer(game, network, simulations=simulations, seconds=seconds, wave=wave)


def _file(game: Game, way: str, path: str | None) -> Path:
    """Return the file of weights; raise BadCheckpoint where none was given and none is shipped."""
    if path is not None:
        return Path(path)
    options = "-".join(str(value) for value in game.options.values())
    shipped = WEIGHTS / way / f"{game.name}-{options}" / NETWORK
    if not shipped.exists():
        there = sorted(each.parent.name for each in (WEIGHTS / way).glob(f"*/{NETWORK}"))
        raise BadCheckpoint(
            f"no {way} weights for {game!r} come with this: there are {there or 'none'}; "
            f"train some, python -m training.{way}, and give path=FILE"
        )
    return shipped


for _factory in (policy, ppo, alphazero):
    register(_factory.__name__, _factory)
