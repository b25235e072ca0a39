"""Any number of boards of one game, stepped by one compiled call; the environments use them."""

import inspect
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env import games, randomness
from cc_env.envs import kernels
from cc_env.envs.kernels import (
    ACCEPTED,
    ATTEMPTS,
    DONE,
    OUTCOME,
    SEAT,
    STREAM,
    TERMINATED,
    TO_MOVE,
    TRUNCATED,
    TURNS,
    Autoreset,
    Replies,
    Seen,
    Settings,
)
from cc_env.envs.turns import TurnLog
from cc_env.errors import BadPosition, EpisodeOver, IllegalAction, UnknownOption, is_whole, listed
from cc_env.game import Game
from cc_env.referee import Clock, Player, anew
from cc_env.rules import Position

LONGEST = 1023  # turns back that a repetition is seen where no limit says how long games are
MOST_BOARDS = 2**31 - 1
MOST_KEYS = 2**27  # positions that all boards together remember for that: a gigabyte


class Boards:
    """A batch of boards; `seen` shows them after the last `reset` or `step`."""

    def __init__(
        self,
        game: Game,
        count: int = 1,
        *,
        replies: Replies = Replies.NONE,
        opponent: Player | None = None,
        seat: int | None = None,
        max_turns: int | None = None,
        repetitions: int | None = None,
        autoreset: Autoreset = Autoreset.DISABLED,
    ) -> None:
        """Make `count` boards, to be seeded and reset; raise UnknownOption on bad values.

        `opponent` takes the decisions that are not the seat's where they are ANSWERS; without one
        whoever uses the boards plays them.
        """
        _check(game, count, seat, max_turns, repetitions)
        if replies and max_turns == 1 and seat != 0:
            raise UnknownOption("max_turns=1; it is 2 or more where the opponent may move first")
        self.game, self.count, self.opponent = game, count, opponent
        self._playing: dict[int, tuple[int, Player]] = {}  # on a board: when asked last, and who
        self.settings = Settings(
            int(replies),
            -1 if seat is None else int(seat),
            int(max_turns or 0),
            int(repetitions or 0),
            int(autoreset),
            game.stagnation,
        )
        try:
            self.rows = np.zeros((count, len(game.initial) + 4), np.uint64)
            self.rows[:, DONE] = 1
            self._history = np.zeros((count, _keys(game, max_turns, repetitions)), np.uint64)
            self.seen = _nothing_seen(game, count, autoreset)
        except MemoryError:
            raise UnknownOption(f"num_envs={count}: there is not so much memory here") from None
        self._action = np.zeros(1, np.int64)

    def seed(
        self, seed: int | Sequence[int] | None, which: NDArray[np.bool_] | None = None
    ) -> None:
        """Give all boards or `which` of them random streams, from one seed or one seed each.

        From one seed, board i has the same stream whatever N is.
        """
        which = np.ones(self.count, np.bool_) if which is None else which
        if isinstance(seed, Sequence):
            streams = np.concatenate([randomness.streams(one, 1) for one in seed])
        else:
            streams = randomness.streams(seed, self.count)
        self.rows[which, STREAM] = streams[which]

    def reset(
        self, which: NDArray[np.bool_] | None = None, positions: Sequence[Position] = ()
    ) -> None:
        """Begin anew on all boards or `which` of them, from the start or from `positions`.

        `positions` has one for all boards or one for each. Raises BadPosition, and changes nothing,
        where the game is over in one of them. Replies that would end the game before the seat has
        anything to decide are drawn again.
        """
        which = np.ones(self.count, np.bool_) if which is None else which
        starts = np.array(positions or [self.game.initial], np.uint64)
        with self.all_or_nothing():
            for _ in range(ATTEMPTS if self.opponent else 1):  # replies in compiled code try there
                for board in np.flatnonzero(which).tolist():
                    self._playing.pop(board, None)
                kernels.reset(*self._args(), which, starts, self.seen)
                self._answer()
                which = which & self.done
                if not which.any():
                    return
            raise self.no_episode(starts[which.argmax() % len(starts)])

    def no_episode(self, start: Iterable[np.uint64]) -> BadPosition:
        """Return the error that says that no episode can begin there."""
        text = self.game.to_text(type(self.game.initial)(*start))
        over = "the game is over, or ends before there is anything to decide"
        return BadPosition(f"no episode can begin in '{text}': {over}")

    def step(self, actions: NDArray[np.int64]) -> None:
        """Play actions[i] on board i; raise IllegalAction or EpisodeOver, and change nothing.

        The actions of boards that begin anew in this step (NEXT_STEP) have no meaning.
        """
        if not self.opponent:
            self._step(actions)
            return
        with self.all_or_nothing():
            self._step(actions)
            self._answer()

    def _step(self, actions: NDArray[np.int64]) -> None:
        refused = kernels.step(*self._args(), actions, self.seen)
        if refused != ACCEPTED:
            raise self._refusal(refused, actions[refused])

    def _args(self) -> tuple[Position, Settings, NDArray[np.uint64], NDArray[np.uint64]]:
        """Return what the kernels begin with."""
        return self.game.initial, self.settings, self.rows, self._history

    def _answer(self) -> None:
        """Let the opponent decide on all boards until it is the seat's turn."""
        if self.opponent is None:
            return
        while True:
            seats = self.rows[:, SEAT].astype(np.int8)
            waiting = np.flatnonzero(~self.done & (self.seen.facts[TO_MOVE] != seats))
            if not len(waiting):
                return
            for board in waiting.tolist():
                action = self.choose(self.opponent, board)
                kernels.answer(*self._args(), board, action, self.seen)

    def _for_the_game(self, player: Player, board: int) -> Player:
        """Return the player anew for the game on a board, the same from its begin to its end."""
        turns, (asked, known) = self.turns(board), self._playing.get(board, (0, None))
        goes_on = asked < turns or (asked == turns and self.game.mid_turn(self.position(board)))
        if known is None or not goes_on:
            known = anew(player)
        self._playing[board] = turns, known
        return known

    def choose(self, player: Player, board: int = 0) -> int:
        """Return what a player chooses on a board, its randomness from the board's own stream.

        It is one player from call to call, made anew for each game. Raises IllegalAction where the
        choice is illegal; what the player raises comes through.
        """
        stream = self.rows[board, STREAM]
        self.rows[board, STREAM] = randomness.advance(stream)
        position = self.position(board)
        playing = self._for_the_game(player, board)
        action = playing.choose(position, np.random.default_rng(int(stream)), Clock()).action
        if not (is_whole(action, 0, self.game.num_actions - 1) and self.seen.masks[board, action]):
            raise self.game.illegal(position, action)
        return int(action)

    def play(self, action: object, log: TurnLog | None = None) -> None:
        """Play one action on the only board, as `step`, and note it in the log."""
        try:
            self._action[0] = operator.index(action)  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            raise self.game.illegal(self.position(), action) from None
        before = self.position() if log else None
        self.step(self._action)
        if log:
            log.add(before, int(self._action[0]))

    def _refusal(self, board: int, action: int) -> IllegalAction | EpisodeOver:
        where = f"board {board}: " if self.count > 1 else ""
        if self.rows[board, DONE]:
            return EpisodeOver(f"{where}the episode is over; call reset() before step({action})")
        error = self.game.illegal(self.position(board), int(action))
        return IllegalAction(f"{where}{error}")

    def draw(self, board: int = 0) -> int:
        """Return a random legal action of a board, drawn from its own stream."""
        legal = np.empty(self.game.num_actions, np.int32)
        return int(kernels.draw(self.game.initial, self.rows[board], legal))

    def position(self, board: int = 0) -> Position:
        """Return the position on a board."""
        return self._position(self.rows[board])

    def _position(self, row: NDArray[np.uint64]) -> Position:
        return type(self.game.initial)(*row[: len(self.game.initial)])

    def turns(self, board: int = 0) -> int:
        """Return how many turns were played on a board."""
        return int(self.rows[board, TURNS])

    def end(self, board: int = 0) -> dict[str, Any]:
        """Return of a game that the last step ended, or that is over, `outcome`; in one word by
        what rule or limit it came, as `ending`; and by a rule also the players' `score`.
        """
        row = self.rows[board] if self.rows[board, DONE] else self.seen.final_rows[board]
        outcome, position = int(self.seen.facts[OUTCOME, board]), self._position(row)
        if not self.seen.facts[TRUNCATED, board]:
            ending, score = self.game.ending(position), self.game.score(position)
            return {"outcome": outcome, "ending": ending, "score": score}
        at_limit = self.settings.max_turns and row[TURNS] >= self.settings.max_turns
        return {"outcome": outcome, "ending": "max_turns" if at_limit else "repetition"}

    def ended(self, board: int = 0) -> bool:
        """Return whether the game on a board is over, or ended in the last step."""
        return bool(self.seen.facts[[TERMINATED, TRUNCATED], board].any())

    def over(self, board: int = 0) -> tuple[int, str] | None:
        """Return outcome and ending, see `end`, of a board whose game is over, else None.

        That it is not before the first game, nor where the next one has begun in the same step.
        """
        if not (self.ended(board) and self.rows[board, DONE]):
            return None
        end = self.end(board)
        return end["outcome"], end["ending"]

    @property
    def occurred(self) -> NDArray[np.uint64]:
        """Return uint64[N, K]: keys of each board's positions so far, by turn, then 0.

        K is 0 where repetition is no limit, and no matter of the rules.
        """
        turns = self.rows[:, TURNS, np.newaxis]
        return np.where(np.arange(self._history.shape[1]) <= turns, self._history, np.uint64(0))

    @property
    def done(self) -> NDArray[np.bool_]:
        """Return bool[N]: whether the game on the board is over."""
        return np.asarray(self.rows[:, DONE], np.bool_)

    def snapshot(self) -> list[NDArray[Any]]:
        """Return copies of all that the boards are, for `restore`."""
        return [array.copy() for array in (self.rows, self._history, *self.seen)]

    def restore(self, snapshot: list[NDArray[Any]]) -> None:
        """Put the boards back to where they were."""
        arrays: list[NDArray[Any]] = [self.rows, self._history, *self.seen]
        for array, saved in zip(arrays, snapshot, strict=True):
            array[...] = saved

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Put the boards back to where they were if the block fails."""
        before = self.snapshot()
        try:
            yield
        except BaseException:
            self.restore(before)
            raise


def reset_options(options: object, known: Sequence[str] | None = None) -> Mapping[str, Any]:
    """Return the options of a reset; raise UnknownOption where one is not `known`, if that says."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        would_do = 'a dict, such as {"position": TEXT}'
        raise UnknownOption(f"options={options!r} of reset; wanted: None or {would_do}")
    if known and (unknown := [name for name in options if name not in known]):
        raise UnknownOption(f"reset has no option {listed(unknown)}; it has: {listed(known)}")
    return options


def make_game(environment: type, game: str, options: Mapping[str, Any]) -> Game:
    """Return the game of an environment; raise UnknownOption, with all keywords that it takes."""
    of_game = list(games.option_defaults(game))
    if unknown := sorted(set(options) - set(of_game)):
        parameters = inspect.signature(environment).parameters.values()
        own = [each.name for each in parameters if each.name not in ("game", "options")]
        near = get_close_matches(unknown[0], own + of_game, 1)
        meant = f", did you mean {near[0]}?" if near else ";"
        there = f"{game} has: {listed(of_game, 99)}; every game: {listed(own, 99)}"
        raise UnknownOption(f"there is no keyword {listed(unknown)}{meant} {there}")
    return games.make(game, **options)


def _keys(game: Game, max_turns: int | None, repetitions: int | None) -> int:
    """Return how many positions of a game are remembered, so that repetitions are seen."""
    return (max_turns or LONGEST) + 1 if repetitions or game.stagnation else 0


def _nothing_seen(game: Game, count: int, autoreset: Autoreset) -> Seen:
    shape = (count, *game.observation_shape)
    finals = count if autoreset == Autoreset.SAME_STEP else 0
    return Seen(
        np.zeros(shape, np.int8),
        np.zeros((count, game.num_actions), np.int8),
        np.zeros(count),
        np.zeros((4, count), np.int8),
        np.zeros((finals, *shape[1:]), np.int8),
        np.zeros((finals, len(game.initial) + 4), np.uint64),
    )


def _check(
    game: Game, count: int, seat: int | None, max_turns: int | None, repetitions: int | None
) -> None:
    if not is_whole(count, 1, MOST_BOARDS):
        raise UnknownOption(f"num_envs={count!r}; it is 1 to {MOST_BOARDS:,}")
    if seat is not None and not (is_whole(seat, 0) and seat <= 1):
        raise UnknownOption(f"seat={seat!r}; it is 0 (moves first), 1, or None for a drawn seat")
    if max_turns is not None and not is_whole(max_turns, 1):
        raise UnknownOption(f"max_turns={max_turns!r}; it is 1 or more, or None for no limit")
    if repetitions is not None and not (is_whole(repetitions, 2) and max_turns):
        would_do = "it is None for no limit, or 2 or more with max_turns set"
        raise UnknownOption(f"repetitions={repetitions!r}; {would_do}")
    if count * _keys(game, max_turns, repetitions) > MOST_KEYS:
        most = MOST_KEYS // count - 1
        would_do = f"with {count} boards whose repetitions are counted it is {most:,} at most"
        raise UnknownOption(f"max_turns={max_turns}; {would_do}")
    if repetitions and game.stagnation:
        would_do = f"it is None for {game.name}, whose own rules end a game that repeats itself"
        raise UnknownOption(f"repetitions={repetitions!r}; {would_do}")
