"""The opponents of a learner: itself, snapshots of itself, and other players.

Among the other players, those of similar strength play most of the games: prioritized fictitious
self-play with the weights p(1 − p), by Vinyals et al., "Grandmaster level in StarCraft II using
multi-agent reinforcement learning", 2019. So the opponents may be of any strength from the start.

Shapes: K players of the settings (`PoolSettings.names`).
"""

import copy
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from agents.evaluator import Evaluator
from agents.network import Network
from cc_env.core.game import Game
from cc_env.envs.opponents import BatchPolicy, DecisionBatch, Opponent
from cc_env.errors import BadOption
from cc_env.players.specs import make_player
from training.runs import checked

ITSELF, SNAPSHOTS = "itself", "snapshots"
# A player's weight is this plus p(1 − p) for the learner's score p against it, 0 to 1.
MIN_WEIGHT = 0.02
# The score is a moving average over about this number of games.
SCORE_GAMES = 100
# Each has a network.
MAX_SNAPSHOTS = 1000


def network_policy(evaluator: Evaluator) -> BatchPolicy:
    """Return a function that samples actions from the policy of a network.

    It raises TrainingDiverged if a logit is not finite.
    """

    def choose(batch: DecisionBatch, rng: np.random.Generator) -> NDArray[np.int64]:
        logits = np.where(batch.masks, evaluator(batch.observations)[0], -np.inf)
        sums = np.exp(logits - logits.max(1, keepdims=True), dtype=np.float64).cumsum(1)
        bounds = rng.random((len(sums), 1)) * sums[:, -1:]
        return np.asarray((sums <= bounds).sum(1))

    return choose


@dataclass(frozen=True, kw_only=True)
class PoolSettings:
    """The settings of the opponents."""

    names: checked.PlayerSpecs = (
        "random",
        "greedy",
        "minimax:depth=1",
        "minimax:depth=2",
        "minimax:depth=3",
    )
    # Shares of the games against `names`, if one of them is of similar strength, and against
    # snapshots, once there is one; the rest to 1 is that of self-play. They are relative weights:
    # if one is less, the fractions of the others grow.
    named_share: checked.Fraction = 0.7
    snapshot_share: checked.Fraction = 0.1
    # Maximum number of snapshots; the oldest one is replaced.
    snapshots: Annotated[int, checked.integers(1, MAX_SNAPSHOTS)] = 4

    def __post_init__(self) -> None:
        """Raise BadOption if a player spec is invalid or a value is out of range."""
        checked.check_fields(self)
        if self.self_share <= 0:
            shares = f"named_share={self.named_share}, snapshot_share={self.snapshot_share}"
            raise BadOption(f"{shares}; expected: a sum below 1")

    @property
    def self_share(self) -> float:
        """The share of the games against itself."""
        return 1 - self.named_share - self.snapshot_share


class LearningOpponents:
    """The opponents of a run, for `OpponentVecEnv`; a snapshot has the share 0 until it exists.

    `running_scores`, float64[K], are moving averages of the learner's scores, 0 to 1, against the
    players of the settings.
    """

    def __init__(
        self, game: Game, network: Network, settings: PoolSettings, device: str = "cpu"
    ) -> None:
        """Start without snapshots; raise BadOption if a player cannot be created."""
        self.snapshots_taken = 0
        # Networks of the snapshots: a ring buffer.
        self.networks = [copy.deepcopy(network) for _ in range(settings.snapshots)]
        self._settings, self._device = settings, device
        self._named = [Opponent(name, make_player(name, game)) for name in settings.names]
        self.running_scores = np.full(len(self._named), 0.5)
        player = network_policy(Evaluator(network, device))
        self._itself = Opponent(ITSELF, player, settings.self_share)
        self._snapshots = [Opponent(SNAPSHOTS, player, 0.0) for _ in self.networks]
        self.opponents = [self._itself, *self._named, *self._snapshots]
        self.refresh_shares()

    @property
    def newest_network(self) -> Network | None:
        """The network of the newest snapshot; None before the first snapshot."""
        if not self.snapshots_taken:
            return None
        return self.networks[(self.snapshots_taken - 1) % len(self.networks)]

    def set_current_evaluator(self, evaluator: Evaluator) -> None:
        """Use this evaluator of the learner's network for the opponent "itself"."""
        self._itself.player = network_policy(evaluator)

    def add_snapshot(self, network: Network) -> None:
        """Add a snapshot of the network; if the pool is full, it replaces the oldest one."""
        oldest = self.networks[self.snapshots_taken % len(self.networks)]
        oldest.load_state_dict(network.state_dict())
        self.snapshots_taken += 1
        self.refresh_snapshots()

    def restore(self, snapshots_taken: int, scores: NDArray[np.float64]) -> None:
        """Restore the number of snapshots and the scores, float64[K]; `networks` are restored."""
        self.snapshots_taken, self.running_scores = snapshots_taken, scores
        self.refresh_snapshots()
        self.refresh_shares()

    def refresh_snapshots(self) -> None:
        """Update the snapshot players to the current weights of `networks`."""
        count = min(self.snapshots_taken, len(self.networks))
        for snapshot, network in zip(self._snapshots[:count], self.networks[:count], strict=True):
            snapshot.player = network_policy(Evaluator(network, self._device))
            snapshot.share = self._settings.snapshot_share / count

    def refresh_shares(self) -> None:
        """Update the shares of the named players to `running_scores`.

        Together they have `named_share` if the learner scores 50 % against one of them, and less if
        none is of similar strength, so that self-play takes more of the games.
        """
        weights = MIN_WEIGHT + self.running_scores * (1 - self.running_scores)
        total = self._settings.named_share * weights.max(initial=0) / (MIN_WEIGHT + 0.25)
        for opponent, weight in zip(self._named, total * weights / weights.sum(), strict=True):
            opponent.share = float(weight)

    def take_scores(self) -> dict[str, float]:
        """Return the learner's mean score, 0 to 1, against each opponent since the last call.

        Also updates the running scores, which decide the named players' shares of future games.
        """
        for number, opponent in enumerate(self._named):
            for points in opponent.points:
                self.running_scores[number] += (points - self.running_scores[number]) / SCORE_GAMES
        self.refresh_shares()
        points_by_name: dict[str, list[float]] = {}
        for opponent in self.opponents:
            points_by_name.setdefault(opponent.name, []).extend(opponent.take_points())
        return {name: float(np.mean(points)) for name, points in points_by_name.items() if points}
