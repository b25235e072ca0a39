"""The opponents of a learner: itself, players by name, and snapshots of itself."""

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.network import Evaluator, Network
from cc_env.core.game import Game
from cc_env.envs.opponents import BatchPolicy, DecisionBatch, Opponent, random_policy, wrap_player
from cc_env.errors import BadOption
from cc_env.players.specs import check_spec
from training.runs.config import check_between, check_wholes

ITSELF, SNAPSHOTS = "itself", "snapshots"


def by_network(evaluator: Evaluator) -> BatchPolicy:
    """Return a Choose that samples from the policy of a network."""

    def choose(asked: DecisionBatch, rng: np.random.Generator) -> NDArray[np.int64]:
        logits = np.where(asked.masks, evaluator(asked.observations)[0], -np.inf)
        sums = np.exp(logits - logits.max(1, keepdims=True), dtype=np.float64).cumsum(1)
        bounds = rng.random((len(sums), 1)) * sums[:, -1:]
        return np.asarray((sums <= bounds).sum(1))

    return choose


@dataclass(frozen=True, kw_only=True)
class PoolSettings:
    """The settings of the pool."""

    names: tuple[str, ...] = ("random", "minimax:depth=1", "minimax:depth=2", "minimax:depth=3")
    named_share: float = 0.5  # share of the games against `names`, each equally often
    snapshot_share: float = 0.2  # share of the games against snapshots; the rest is self-play
    snapshots: int = 4  # number of snapshots kept, the newest ones

    def __post_init__(self) -> None:
        """Raise BadOption if there is no such player or a value is out of range."""
        for name in self.names:
            check_spec(name)
        check_wholes(self, snapshots=1)
        check_between(self, 0, 1, "named_share", "snapshot_share")
        if self.self_share <= 0:
            shares = f"named_share={self.named_share}, snapshot_share={self.snapshot_share}"
            raise BadOption(f"{shares}; their sum is below 1")

    @property
    def self_share(self) -> float:
        """The share of the games against itself."""
        return 1 - self.named_share - self.snapshot_share


class Pool:
    """The opponents. Shares are weights: before the first snapshot the others have more games."""

    def __init__(
        self, game: Game, network: Network, settings: PoolSettings, device: str = "cpu"
    ) -> None:
        """Begin without snapshots; raise BadOption if a player cannot be made."""
        self.joined = 0  # number of snapshots so far
        self.networks = [copy.deepcopy(network) for _ in range(settings.snapshots)]  # ring
        self._settings, self._device = settings, device
        share = settings.named_share / max(1, len(settings.names))
        named = [Opponent(name, wrap_player(name, game), share) for name in settings.names]
        self._itself = Opponent(ITSELF, random_policy, settings.self_share)
        self._places = [Opponent(SNAPSHOTS, random_policy, 0.0) for _ in self.networks]
        self.opponents = [self._itself, *named, *self._places]

    @property
    def newest(self) -> Network | None:
        """The network of the newest snapshot; None before the first."""
        return self.networks[(self.joined - 1) % len(self.networks)] if self.joined else None

    def follow(self, network: Network) -> None:
        """Let the opponent "itself" play with a copy of this network."""
        self._itself.choose = by_network(Evaluator(network, self._device))

    def join(self, network: Network) -> None:
        """Add a snapshot of the network; if the pool is full, it replaces the oldest."""
        self.networks[self.joined % len(self.networks)].load_state_dict(network.state_dict())
        self.joined += 1
        self.renew()

    def renew(self) -> None:
        """Let the snapshots play with the present weights of their networks."""
        count = min(self.joined, len(self.networks))
        for place, network in zip(self._places[:count], self.networks[:count], strict=True):
            place.choose = by_network(Evaluator(network, self._device))
            place.share = self._settings.snapshot_share / count

    def take_scores(self) -> dict[str, float]:
        """Return the learner's mean score, 0 to 1, against each opponent since the last call."""
        scores: dict[str, list[float]] = {}
        for opponent in self.opponents:
            scores.setdefault(opponent.name, []).extend(opponent.take_points())
        return {name: float(np.mean(points)) for name, points in scores.items() if points}
