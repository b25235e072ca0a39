"""Whom a learner meets: itself, players by name, and snapshots of itself; many at a time."""

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.network import Evaluator, Network
from cc_env import players
from cc_env.envs.opponents import Asked, Choose, Opponent, by_player, drawn
from cc_env.errors import UnknownOption
from cc_env.game import Game
from training.config import check_between, check_wholes

ITSELF, SNAPSHOTS = "itself", "snapshots"


def by_network(evaluator: Evaluator) -> Choose:
    """Return how a network chooses: by its probabilities."""

    def choose(asked: Asked, rng: np.random.Generator) -> NDArray[np.int64]:
        logits = np.where(asked.masks, evaluator(asked.observations)[0], -np.inf)
        sums = np.exp(logits - logits.max(1, keepdims=True), dtype=np.float64).cumsum(1)
        bounds = rng.random((len(sums), 1)) * sums[:, -1:]
        return np.asarray((sums <= bounds).sum(1))

    return choose


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Who is in the pool, and in how many of the games."""

    names: tuple[str, ...] = ("random", "minimax:depth=1", "minimax:depth=2", "minimax:depth=3")
    named_share: float = 0.5  # of the games are against these, equally often,
    snapshot_share: float = 0.2  # and of the games against snapshots; the rest against itself
    snapshots: int = 4  # that are kept, the newest

    def __post_init__(self) -> None:
        """Raise UnknownOption where there is no such player, or a number is none."""
        for name in self.names:
            players.check(name)
        check_wholes(self, snapshots=1)
        check_between(self, 0, 1, "named_share", "snapshot_share")
        if self.self_share <= 0:
            shares = f"named_share={self.named_share}, snapshot_share={self.snapshot_share}"
            raise UnknownOption(f"{shares}; they are less than 1 in all")

    @property
    def self_share(self) -> float:
        """The share of games against itself, as it is."""
        return 1 - self.named_share - self.snapshot_share


class Pool:
    """The opponents. Shares are weights: as long as there is no snapshot the others have more."""

    def __init__(
        self, game: Game, network: Network, settings: Settings, device: str = "cpu"
    ) -> None:
        """Begin without snapshots; raise UnknownOption where a player cannot be made."""
        self.joined = 0  # snapshots so far
        self.networks = [copy.deepcopy(network) for _ in range(settings.snapshots)]  # theirs
        self._settings, self._device = settings, device
        share = settings.named_share / max(1, len(settings.names))
        named = [Opponent(name, by_player(name, game), share) for name in settings.names]
        self._itself = Opponent(ITSELF, drawn, settings.self_share)
        self._places = [Opponent(SNAPSHOTS, drawn, 0.0) for _ in self.networks]
        self.opponents = [self._itself, *named, *self._places]

    @property
    def newest(self) -> Network | None:
        """The network of the newest snapshot."""
        return self.networks[(self.joined - 1) % len(self.networks)] if self.joined else None

    def follow(self, network: Network) -> None:
        """Let the learner's other self play as this network does now."""
        self._itself.choose = by_network(Evaluator(network, self._device))

    def join(self, network: Network) -> None:
        """Take a snapshot of the network, in the place of the oldest where there is no more."""
        self.networks[self.joined % len(self.networks)].load_state_dict(network.state_dict())
        self.joined += 1
        self.renew()

    def renew(self) -> None:
        """Let the snapshots that joined play as their networks do now."""
        count = min(self.joined, len(self.networks))
        for place, network in zip(self._places[:count], self.networks[:count], strict=True):
            place.choose = by_network(Evaluator(network, self._device))
            place.share = self._settings.snapshot_share / count

    def take_scores(self) -> dict[str, float]:
        """Return the learner's mean score with each, by name, since the last call."""
        found: dict[str, list[float]] = {}
        for each in self.opponents:
            found.setdefault(each.name, []).extend(each.take_points())
        return {name: float(np.mean(points)) for name, points in found.items() if points}
