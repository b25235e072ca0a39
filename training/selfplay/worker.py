"""Self-play guided by tree search: many concurrent games; each decision becomes a sample.

In a fraction of the games another player has one seat. Its positions are searched too, for policy
and value targets, but the opponent chooses the actions.

Shapes: N boards; F fields of a position.
"""

import math
import time
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.defaults import CONTEMPT
from cc_env.core.game import Game
from cc_env.core.rules import DRAW, ONGOING
from cc_env.envs.boards import Boards
from cc_env.envs.opponents import DecisionBatch, Opponent, OpponentPool
from cc_env.errors import BadOption, BadPlayer, Forfeit, IllegalAction
from cc_env.match.match import effective_repetition_limit
from cc_env.players.specs import make_player
from cc_env.search.puct import Evaluate, Trees
from training.runs import checked
from training.runs.state import check_outputs
from training.selfplay.replay_buffer import Samples, top_actions, zero_samples

# Seat of the opponent in pure self-play.
NO_OPPONENT = -1


@dataclass(frozen=True, kw_only=True)
class GameSettings:
    """The settings of the games."""

    # Games start after 0 to `max_opening_turns` random turns.
    max_opening_turns: checked.OpeningTurns = 12
    # Longer games are drawn.
    max_turns: checked.Count = 100
    # A game is drawn at this occurrence of a position.
    repetitions: Annotated[int, checked.integers(2)] = 2
    # Player specs, and the fraction of games against them; the rest is self-play.
    opponents: checked.PlayerSpecs = ("minimax:depth=3", "minimax:depth=5")
    opponents_share: checked.Fraction = 0.25

    def check_opponents(self) -> None:
        """Raise BadOption for a share without opponents."""
        if self.opponents_share and not self.opponents:
            raise BadOption(
                f"opponents_share={self.opponents_share}, but there are no opponents; "
                "name some, or set it to 0"
            )

    def make_opponents(self, game: Game) -> list[Opponent]:
        """Return self-play, with index 0, and the opponents, if they have a share.

        Raises BadPlayer for a player that cannot play this game.
        """
        opponents = [Opponent("itself", _refuse_to_play, 1 - self.opponents_share)]
        for spec in self.opponents if self.opponents_share else ():
            try:
                player = make_player(spec, game)
            except BadOption as error:
                raise BadPlayer(
                    f"opponent {spec}: {error}; opponents_share=0 needs none"
                ) from error
            opponents.append(Opponent(spec, player, self.opponents_share / len(self.opponents)))
        return opponents


def _refuse_to_play(batch: DecisionBatch, rng: np.random.Generator) -> NDArray[np.int64]:
    """Stand for self-play in a pool of opponents; the network decides for both seats."""
    raise AssertionError("no opponent is to move in self-play")


class SelfPlayGames:
    """Games on N boards; in a fraction of them an opponent has one seat.

    `opponent_seats`, int64[N], has the opponent's seat in each, or NO_OPPONENT.
    """

    def __init__(
        self, game: Game, settings: GameSettings, count: int, rng: np.random.Generator
    ) -> None:
        """Create `count` boards and the opponents; `start` starts the games.

        `rng` seeds all random numbers. Raises BadPlayer for a player that cannot play this game.
        """
        self.boards = Boards(
            game,
            count,
            max_turns=settings.max_turns,
            repetitions=effective_repetition_limit(game, settings.repetitions),
            max_opening_turns=settings.max_opening_turns,
        )
        self.boards.reset(streams=rng.integers(2**64, size=count, dtype=np.uint64))
        self.opponent_seats = np.full(count, NO_OPPONENT, np.int64)
        self._pool = OpponentPool(settings.make_opponents(game), game)

    def start(self, selected: NDArray[np.bool_]) -> None:
        """Start games on the selected boards, bool[N], after random turns."""
        if not selected.any():
            return
        self.boards.reset(selected)
        opponents = self._pool.opponent_indices(self.boards, np.arange(self.boards.count))
        self.opponent_seats[:] = np.where(opponents == 0, NO_OPPONENT, 1 - self.boards.seats)

    def choose(self, actions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Write the opponents' decisions into `actions`, int64[N]; return their boards, bool[N].

        Raises BadPlayer if an opponent forfeits or chooses an illegal action.
        """
        is_to_move = np.asarray(self.boards.to_move == self.opponent_seats)
        numbers = np.flatnonzero(is_to_move)
        indices = self._pool.opponent_indices(self.boards, numbers)
        for index in np.unique(indices).tolist():
            own = numbers[indices == index]
            try:
                actions[own] = self._pool.reply(index, self.boards, own)
            except (Forfeit, IllegalAction) as error:
                name = self._pool.opponents[index].name
                raise BadPlayer(f"opponent {name}: {error}") from error
        return is_to_move


@dataclass(frozen=True, kw_only=True)
class SelfPlaySettings(GameSettings):
    """The settings of self-play."""

    # Concurrent games in each worker.
    boards: checked.Boards = 128
    # Simulations per decision, at the start and at the end of the run; None: constant.
    simulations: checked.Simulations = 64
    last_simulations: Annotated[int | None, checked.integers(1, checked.MAX_SIMULATIONS)] = None
    # Number of actions that the search considers at the root.
    considered: checked.Count = 16
    # A repetition has the value -contempt for the player to move.
    contempt: Annotated[float, checked.numbers(-1, 1)] = CONTEMPT
    # Weight of the search value in value targets; the rest is the result of the game.
    value_mix: checked.Fraction = 0.5

    def __post_init__(self) -> None:
        """Raise BadOption if a value is out of range or a player spec is invalid."""
        checked.check_fields(self)
        self.check_opponents()

    def simulations_at(self, progress: float) -> int:
        """Return the simulations per decision at `progress` through the run, 0 to 1.

        They grow geometrically: good networks learn more from longer searches (Wu et al.,
        "MiniZero", 2023).
        """
        last = self.last_simulations or self.simulations
        return round(self.simulations * math.pow(last / self.simulations, min(1.0, progress)))


@dataclass
class SelfPlayTally:
    """Counts and times of self-play.

    Turns, draws and wins are those of finished games; `points` are those in games against
    opponents, 1 per win and 0.5 per draw; `evaluated` counts positions for the network.
    """

    decisions: int = 0
    games: int = 0
    turns: int = 0
    draws: int = 0
    first_wins: int = 0
    opponent_games: int = 0
    points: float = 0.0
    evaluated: int = 0
    network_seconds: float = 0.0
    search_seconds: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "SelfPlayTally") -> "SelfPlayTally":
        return SelfPlayTally(
            *(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        )

    def metrics(self, seconds: float) -> dict[str, float]:
        """Return the metrics for the log.

        Rates are per second of the `seconds` of wall-clock time; shares are of the time of all
        workers.
        """
        games = max(1, self.games)
        return {
            "games": self.games,
            "decisions_per_second": self.decisions / seconds,
            "evaluated_per_second": self.evaluated / seconds,
            "network_share": self.network_seconds / self.seconds,
            "search_share": self.search_seconds / self.seconds,
            "turns_per_game": self.turns / games,
            "draws_percent": 100 * self.draws / games,
            "first_wins_percent": 100 * self.first_wins / games,
            **({"opponents": self.points / self.opponent_games} if self.opponent_games else {}),
        }


PlayedSamples = list[tuple[Samples, SelfPlayTally]]


class _Decision(NamedTuple):
    """A decision with its policy targets and the search value for the player to move."""

    position: NDArray[np.uint64]  # [F]
    mover: np.int64
    actions: NDArray[np.int16]  # [MAX_ACTIONS]
    policy: NDArray[np.float16]  # [MAX_ACTIONS]
    value: float


class SelfPlayWorker:
    """Many self-play games, which continue from call to call."""

    def __init__(self, game: Game, settings: SelfPlaySettings, seed: Any) -> None:
        """Start the games; `seed` is an argument of `np.random.default_rng`."""
        self._game, self._settings = game, settings
        self._rng = np.random.default_rng(seed)
        self._games = SelfPlayGames(game, settings, settings.boards, self._rng)
        self._boards = self._games.boards
        self._trees = Trees(
            game,
            settings.boards,
            simulations=max(settings.simulations, settings.last_simulations or 1),
            contempt=settings.contempt,
            considered=settings.considered,
        )
        # The network of the evaluations in the trees.
        self._evaluate: Evaluate | None = None
        # The decisions of the current game on each board.
        self._decisions: list[list[_Decision]] = [[] for _ in range(settings.boards)]
        self._stopped = False
        self._start_games(np.ones(settings.boards, np.bool_))

    def play(
        self, evaluate: Evaluate, decisions: int, simulations: int | None = None
    ) -> tuple[Samples, SelfPlayTally]:
        """Take `decisions` on each board; return the samples of the games that ended.

        `simulations` per decision default to those of the settings. Raises TrainingDiverged if the
        network returns values that are not finite.
        """
        start = time.perf_counter()
        tally = SelfPlayTally()
        if evaluate is not self._evaluate:
            self._trees.clear_cache()
            self._evaluate = evaluate
        samples = [zero_samples(self._game, 0)]
        for _ in range(decisions):
            if self._stopped:
                break
            self._search(evaluate, simulations or self._settings.simulations, tally)
            self._decide()
            is_finished = self._boards.done
            finished = np.flatnonzero(is_finished).tolist()
            samples += [self._finish(board, tally) for board in finished]
            self._start_games(is_finished)
        tally.decisions = decisions * self._settings.boards
        tally.seconds = time.perf_counter() - start
        return Samples(*map(np.concatenate, zip(*samples, strict=True))), tally

    def stop(self) -> None:
        """Make `play` in another thread return after the current decisions."""
        self._stopped = True

    def _search(self, evaluate: Evaluate, simulations: int, tally: SelfPlayTally) -> None:
        """Search on every board; add times and the number of evaluated positions to the tally."""
        clock = time.perf_counter
        previous = clock()
        rows, earlier = self._boards.positions, self._boards.position_keys
        self._trees.restart(rows, self._rng, earlier=earlier, simulations=simulations)
        while (planes := self._trees.select()) is not None:
            if not len(planes):
                continue
            selected = clock()
            logits, values = evaluate(planes)
            check_outputs(logits, values)
            evaluated = clock()
            self._trees.expand(logits, values)
            tally.evaluated += len(planes)
            tally.network_seconds += evaluated - selected
            tally.search_seconds += selected - previous
            previous = evaluated
        tally.search_seconds += clock() - previous

    def _decide(self) -> None:
        """Store the decisions of the search, play them and those of the opponents."""
        search = self._trees.results()
        actions, policy = top_actions(search.actions, search.policy, is_policy=True)
        columns = self._boards.positions.copy(), self._boards.to_move.copy(), actions, policy
        for game, *decision in zip(self._decisions, *columns, search.values.tolist(), strict=True):
            game.append(_Decision(*decision))
        self._games.choose(search.selected_actions)
        self._boards.step(search.selected_actions)

    def _finish(self, board: int, tally: SelfPlayTally) -> Samples:
        """Return the samples of a finished game, and count it."""
        result = int(self._boards.outcomes[board])
        is_draw = result in (DRAW, ONGOING)
        tally.games += 1
        tally.turns += self._boards.turns(board)
        tally.draws += is_draw
        tally.first_wins += result == 0
        if (seat := self._games.opponent_seats[board]) != NO_OPPONENT:
            tally.opponent_games += 1
            tally.points += 0.5 if is_draw else float(result != seat)
        columns = zip(*self._decisions[board], strict=True)
        positions, movers, actions, policy, search_values = map(np.array, columns)
        results = np.zeros(len(movers)) if is_draw else np.where(movers == result, 1.0, -1.0)
        mix = self._settings.value_mix
        values = mix * search_values + (1 - mix) * results
        return Samples(positions, actions, policy, values.astype(np.float32))

    def _start_games(self, selected: NDArray[np.bool_]) -> None:
        """Start games on the selected boards, bool[boards], after random turns."""
        for board in np.flatnonzero(selected).tolist():
            self._decisions[board] = []
        self._games.start(selected)
