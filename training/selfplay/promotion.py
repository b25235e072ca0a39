"""Evaluation in training: the newest player against rivals and the best one so far, and the truth.

On boards that are solved the log tells, too, which share of the player's decisions is right: of
those in all positions that are drawn, `accuracy`; of those where an action can be wrong,
`accuracy_where_free`. The positions are the same at every evaluation. See
`cc_env.accuracy.decisions`.
"""

import copy
import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from agents.network import Evaluator, Network, save
from agents.network_players import PolicyPlayer
from agents.shipped_weights import NETWORK
from cc_env.accuracy.decisions import measure, sample_uniform
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadOption, format_list, is_integer
from cc_env.games.factory import make_game
from cc_env.match.referee import Player
from cc_env.players.specs import check_spec
from cc_env.tablebase.tablebase import Tablebase
from training import arena
from training.runs.checkpoints import Saved
from training.runs.training_run import Run

NEWEST, BEST = "newest", "best"


@dataclass(frozen=True, kw_only=True)
class Rivals:
    """The players that networks are evaluated against, and the exact values."""

    names: tuple[str, ...] = ("random", "minimax:depth=1", "minimax:depth=3")
    anchor: str = "minimax:depth=3"  # the rival whose Elo is 0
    games: int = 40  # per opponent; even
    positions: int = 500  # drawn from tables of exact values, to judge decisions in; 0: none
    tables: str | None = None  # the folder of the tables; None: those that ship

    def __post_init__(self) -> None:
        """Raise BadOption if a player does not exist, or the number of games is not even."""
        for name in self.names:
            check_spec(name)
        if self.anchor not in self.names:
            raise BadOption(
                f"anchor {self.anchor!r} is not a rival; there are: {format_list(self.names)}"
            )
        if not is_integer(self.games, 2) or self.games % 2:
            raise BadOption(f"games={self.games!r}; it is even, 2 or more")
        if not is_integer(self.positions, 0):
            raise BadOption(f"positions={self.positions!r}; it is a whole number, 0 or more")


def meet(
    game: Game,
    newest: Player,
    best: Player | None,
    rivals: Rivals,
    seed: int,
    workers: int | None = 0,
) -> dict[str, float]:
    """Return the newest player's score, 0 to 1, against each rival and "best", and its "elo".

    Without a best player there is no score for it; `workers` are those of `arena.hold`. On a
    solved board its accuracies are added. Raises BadTable where the file of a table is damaged.
    """
    entrants: dict[str, str | Player] = {NEWEST: newest}
    if best is not None:
        entrants[BEST] = best
    entrants |= {name: name for name in rivals.names}
    standings = arena.hold(
        entrants,
        game.name,
        options=game.options,
        games=rivals.games,
        seed=seed,
        anchor=rivals.anchor,
        workers=workers,
    ).standings
    others = [name for name in (BEST, *rivals.names) if name in entrants]
    scores = {name: standings.pair(NEWEST, name).line.score.value for name in others}
    ratings = {player.name: player.elo.value for player in standings.players}
    return {**scores, "elo": ratings[NEWEST], **_accuracies(game, newest, rivals)}


def challenge(
    trained: str, newest: Network, best: Network | None, run: Run, config: Any, **playing: Any
) -> tuple[dict[str, float], bool]:
    """Let the newest network's policy meet the rivals and the best network's; save it if it wins.

    The first network wins, and one that scores `config.gate` against the best one. `trained` is the
    name of the algorithm, `playing` are options of `PolicyPlayer`. Returns the scores of `meet` and
    whether the newest network won. Raises as `meet`, and OSError.
    """
    game = config.make_game()
    player = PolicyPlayer(game, Evaluator(newest), **playing)
    other = None if best is None else PolicyPlayer(game, Evaluator(best), **playing)
    scores = meet(game, player, other, config.rivals, run.step)
    wins = best is None or scores[BEST] >= config.gate
    if wins:
        about = {"trained": trained, "step": run.step, "config": asdict(config), **scores}
        save(run.path / NETWORK, newest, game, about)
    return scores, wins


class Best:
    """The best network of a run so far; None before the first evaluation."""

    def __init__(self, trained: str, config: Any, run: Run) -> None:
        """Begin without one; `trained` and `config` are those of `challenge`."""
        self.network: Network | None = None
        self._trained, self._config, self._run = trained, config, run

    def meet(self, newest: Network) -> dict[str, float]:
        """Let a network play the rivals and the best one, which it replaces if it wins.

        Returns the scores, and raises, as `challenge`.
        """
        newest = copy.deepcopy(newest)
        scores, wins = challenge(self._trained, newest, self.network, self._run, self._config)
        if wins:
            self.network = newest
        return scores

    def parts(self) -> dict[str, Network]:
        """Return the network by name, for `training.runs.state`; nothing before there is one."""
        return {} if self.network is None else {BEST: self.network}

    def expect(self, saved: Saved) -> None:
        """Make a network to load a checkpoint's into, if the checkpoint has one."""
        if any(name.startswith(f"{BEST}.") for name in saved.arrays):
            self.network = Network(self._config.make_game(), self._config.network)


def charts(game: Game, rivals: Rivals) -> dict[str, list[str]]:
    """Return the charts of what `meet` says: title and columns of the log."""
    exact = {"share of decisions that keep the exact value": ["accuracy", "accuracy_where_free"]}
    return {
        "score against": [*rivals.names, BEST],
        f"Elo; {rivals.anchor} has 0": ["elo"],
        **(exact if _exam_of(game, rivals) else {}),
    }


def _accuracies(game: Game, player: Player, rivals: Rivals) -> dict[str, float]:
    exam = _exam_of(game, rivals)
    if exam is None:
        return {}
    measured = measure(player, *exam)
    told = {"accuracy": measured.kept, "accuracy_where_free": measured.kept_with_choice}
    return {name: share for name, share in told.items() if not math.isnan(share)}


def _exam_of(game: Game, rivals: Rivals) -> tuple[Tablebase, tuple[Position, ...]] | None:
    """Return tables and positions of a solved game; None where its start is in no table.

    Raises BadOption for a folder that is not there.
    """
    if game.numbering is None or not rivals.positions:
        return None
    return _drawn(game.name, tuple(game.options.items()), rivals)


@lru_cache(1)
def _drawn(
    name: str, options: tuple[tuple[str, Any], ...], rivals: Rivals
) -> tuple[Tablebase, tuple[Position, ...]] | None:
    game = make_game(name, **dict(options))
    tables = Tablebase(game) if rivals.tables is None else Tablebase(game, rivals.tables)
    if game.initial not in tables:
        return None
    return tables, tuple(sample_uniform(tables, rivals.positions))
