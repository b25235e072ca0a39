"""Players by spoken name: `random`, `minimax:depth=3`, `mcts:simulations=400`.

    NAME                       default options
    NAME:LEVEL                 a level, which is a name for several options
    NAME:OPTION=VALUE,…        these options
    program:command="…"        any program, see `cc_env.play.program`; values may be quoted
    PACKAGE.MODULE.CLASS:…     a class or function of another package that can be imported

The class or function is called with the game and the options as keyword arguments, and returns a
`cc_env.referee.Player`. `of` takes a function of observations, such as a trained policy, as well.

Shapes: C planes, H rows and W columns of an observation.
"""

import inspect
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from cc_env import options, trust
from cc_env.catalogue import GAMES
from cc_env.errors import BadPlayer, CcEnvError, MissingExtra, UnknownOption, listed, suggestion
from cc_env.exact.player import PerfectPlayer
from cc_env.exact.tables import Tables
from cc_env.game import Game, Turn
from cc_env.learned.files import evaluation_of, fingerprint
from cc_env.referee import Clock, Decision, Player, is_player
from cc_env.rules import Position
from cc_env.search import greedy, limits
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.compare import Compared, compare
from cc_env.search.mcts import TreeSearch
from cc_env.search.scores import expected
from cc_env.search.workspace import MOST_DEPTH

Factory = Callable[..., Player]
Function = Callable[[NDArray[np.int8], dict[str, Any]], Any]  # (observation, info) -> action


@dataclass(frozen=True)
class RandomPlayer:
    """Plays a uniformly random legal action."""

    game: Game

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return a random legal action."""
        return Decision(int(rng.choice(self.game.choices(position))))


@dataclass(frozen=True)
class FunctionPlayer:
    """Plays what a function chooses that is told what a learner in an environment is told.

    That is the observation, int8[C, H, W], and an info with the `action_mask`, int8[num_actions],
    and the `seat`, 0 or 1.
    """

    game: Game
    function: Function

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the function's action."""
        mask, seat = self.game.action_mask(position), self.game.to_move(position)
        observation = self.game.observe(position)
        return Decision(self.function(observation, {"action_mask": mask, "seat": seat}))


class GreedyPlayer:
    """Looks one turn ahead: wins if it can, else maximizes the evaluation; breaks ties randomly."""

    def __init__(self, game: Game, *, evaluation: Any = None) -> None:
        """Use this evaluation, see `learned.files.evaluation_of`; by default the game's first.

        Raises UnknownOption for an evaluation that the game does not have.
        """
        self._game, self._evaluation = game, evaluation_of(game, evaluation)
        self.fingerprint = fingerprint(self._evaluation)
        greedy.scores(game, game.initial, self._evaluation)  # compiles

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the first decision of one of the best turns."""
        actions, scores = greedy.scores(self._game, position, self._evaluation)
        highest = max(scores)
        best = [action for action, score in zip(actions, scores, strict=True) if score == highest]
        return Decision(int(rng.choice(best)), expected(highest), {"score": highest})


class MinimaxPlayer:
    """Alpha-beta search; deterministic unless a time limit interrupts it."""

    def __init__(
        self,
        game: Game,
        *,
        level: str | None = None,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        evaluation: Any = None,
        table_megabytes: float | None = None,
        tables: str | os.PathLike[str] | Tables | None = None,
        selective: bool = False,
    ) -> None:
        """Limit each decision to `depth` turns, `nodes` positions or `seconds`, whatever is first.

        A clock shortens `seconds`, see `allowance`. A level is a name for such limits; limits given
        here override it. The default level is "normal". The transposition table has 16 megabytes,
        unless the level or `table_megabytes` says otherwise. `evaluation` is the name of one of the
        game's evaluations; `tables` are exact values, or the folder that has them. `selective`
        searches late moves less deeply, see `cc_env.search.alphabeta`. Raises UnknownOption for an
        unknown level or evaluation, BadOption for a limit out of range or a folder that is not
        there, MissingTable for one without tables of the game, BadTable for a damaged one.
        """
        given: dict[str, Any] = {"depth": depth, "nodes": nodes, "seconds": seconds}
        given = {name: value for name, value in given.items() if value is not None}
        levels = {**LEVELS, **game.search.levels}
        if level is not None and level not in list(levels):
            has = f"{suggestion(level, levels)}it has: {listed(levels)}"
            raise UnknownOption(f"minimax has no level {level!r}; {has}")
        if level is not None or not given:
            given = {**levels[level or "normal"], **given}
        self._depth, self._nodes, self._seconds = map(given.get, ("depth", "nodes", "seconds"))
        limits.whole("depth", self._depth, MOST_DEPTH)
        limits.whole("nodes", self._nodes)
        limits.check_seconds(self._seconds)
        chosen = evaluation_of(game, evaluation)
        self.fingerprint = fingerprint(chosen)
        table = given.get("table_megabytes", 16) if table_megabytes is None else table_megabytes
        self._search = AlphaBeta(
            game,
            chosen,
            table_megabytes=table,
            tables=tables_of(game, tables),
            selective=selective,
        )

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the first decision of the principal variation."""
        seconds = allowance(self._seconds, clock)
        result = self._search.search(
            position, depth=self._depth, nodes=self._nodes, seconds=seconds
        )
        return Decision(result.action, result.value, result.details())

    def compare(
        self, position: Position, turns: Sequence[Turn], left: Callable[[], float]
    ) -> Compared:
        """Return the values of these turns, see `cc_env.search.compare`."""
        depth = self._depth or MOST_DEPTH
        return compare(self._search, position, turns, left=left, depth=depth)

    def stop(self) -> None:
        """End a search that runs in another thread with what it has found."""
        self._search.stop()


class MCTSPlayer:
    """Monte-Carlo tree search."""

    def __init__(
        self,
        game: Game,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
        playout: str = "evaluation",
        exploration: float = 1.0,
        evaluation: Any = None,
        tables: str | os.PathLike[str] | Tables | None = None,
    ) -> None:
        """Limit each decision to `simulations` or `seconds`; the default is 1000 simulations.

        `playout`, "random" or "evaluation", is how leaves are evaluated; `exploration` is the
        constant of UCB1; `tables` are exact values, or the folder that has them. Raises
        UnknownOption for an unknown playout or evaluation, BadOption for a number out of range or
        a folder that is not there, MissingTable for one without tables of the game, BadTable for a
        damaged one.
        """
        self._simulations, self._seconds = simulations, seconds
        if simulations is None and seconds is None:
            self._simulations = 1000
        limits.whole("simulations", simulations)
        limits.check_seconds(seconds)
        chosen = evaluation_of(game, evaluation)
        self.fingerprint = fingerprint(chosen)
        self._search = TreeSearch(
            game,
            chosen,
            playout=playout,
            exploration=exploration,
            tables=tables_of(game, tables),
        )

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the most visited decision."""
        seconds = allowance(self._seconds, clock)
        result = self._search.search(position, rng, simulations=self._simulations, seconds=seconds)
        return Decision(result.action, result.value, result.details())

    def stop(self) -> None:
        """End a search that runs in another thread with what it has found."""
        self._search.stop()


def tables_of(game: Game, tables: str | os.PathLike[str] | Tables | None) -> Tables | None:
    """Return exact values, or those in a folder; raise BadOption as `Tables`, MissingTable."""
    if tables is None or isinstance(tables, Tables):
        return tables
    return Tables(game, tables).some()


def _perfect(
    game: Game,
    *,
    level: str | None = None,
    tables: str | None = None,
    depth: int | None = None,
    seconds: float | None = None,
) -> Player:
    """Return a player that keeps the exact value, by the tables that ship if no folder is given.

    Where no table has a position it searches with the tables in memory, see `MinimaxPlayer`. Raises
    UnknownOption for a level other than "delay", else as `MinimaxPlayer`.
    """
    if level not in (None, "delay"):
        raise UnknownOption(f"perfect has no level {level!r}; it has: delay")
    known = tables_of(game, tables) or Tables(game)
    search = MinimaxPlayer(game, depth=depth, seconds=seconds, tables=known)
    return PerfectPlayer(game, known, search, delay=level is not None)


class BotPlayer:
    """Plays like one of the game's own bots."""

    def __init__(self, game: Game, bot: str) -> None:
        """Use the bot with this name; raise BadPlayer if the game does not have it."""
        if bot not in game.search.bots:
            played = listed(name for name, entry in GAMES.items() if bot in entry.bots)
            raise BadPlayer(f"{bot} does not play {game.name}, only: {played}")
        self._game, self._name = game, bot
        self._bot = game.search.bots[bot](game)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the bot's decision."""
        self._game.choices(position)
        return Decision(self._bot(position, rng))

    def fresh(self) -> "BotPlayer":
        """See `cc_env.referee.Player.fresh`."""
        return BotPlayer(self._game, self._name)


def _bot(name: str) -> Factory:
    def make_bot(game: Game) -> Player:
        return BotPlayer(game, name)

    return make_bot


def _program(
    game: Game,
    *,
    command: str | None = None,
    protocol: str = "ugi",
    seconds: float | None = None,
    budget: float | None = None,
    start: float = 60,
) -> Player:
    from cc_env.play.program import ProgramPlayer  # imported only where it is used

    return ProgramPlayer(
        game, command=command, protocol=protocol, seconds=seconds, budget=budget, start=start
    )


LEVELS: dict[str, dict[str, Any]] = {  # unless the game defines its own
    "easy": {"depth": 1},
    "normal": {"depth": 3},
    "hard": {"depth": 6},
    "extreme": {"seconds": 2},
}

PLAYERS: dict[str, Factory] = {
    "random": RandomPlayer,
    "greedy": GreedyPlayer,
    "minimax": MinimaxPlayer,
    "mcts": MCTSPlayer,
    "perfect": _perfect,
    "program": _program,
    **{name: _bot(name) for entry in GAMES.values() for name in entry.bots},
}

LEARNED = "policy", "alphazero", "ppo", "memory"  # registered by `agents`, if that is imported

_NUMBERS = {  # the option that a player's number without a name is meant for
    "minimax": "depth",
    "perfect": "depth",
    "mcts": "simulations",
    "alphazero": "simulations",
}

_PLAYS: dict[str, Callable[[Game], bool]] = {  # which games a player plays, if not all
    "perfect": lambda game: game.numbering is not None
}


def make(name: str, game: Game, **changes: Any) -> Player:
    """Return the player with this spoken name, for `game`; `changes` override its options.

    Raises UnknownOption for an unknown player, level or option, with a list of the known ones;
    BadOption for a value out of range; BadPlayer if the player cannot be made; BadCheckpoint and
    MissingExtra as the player does.
    """
    factory, given = _parse(name)
    try:
        player = factory(game, **{**given, **changes})
    except (CcEnvError, MissingExtra, OSError):
        raise
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise BadPlayer(f"player {name!r} cannot be made: {why}") from error
    if not hasattr(player, "choose"):
        raise BadPlayer(f"player {name!r} is {player!r}, which has no method choose")
    return player


def of(opponent: object, game: Game) -> Player:
    """Return the player that `opponent` is or names, or who plays what this function chooses.

    Raises BadPlayer for anything else, and as `make`.
    """
    if isinstance(opponent, str):
        return make(opponent, game)
    if isinstance(opponent, type):
        would_do = f"a player that it makes, such as {opponent.__name__}(game)"
        raise BadPlayer(f"{opponent.__name__} is a class, not a player; wanted: {would_do}")
    if is_player(opponent):
        return cast(Player, opponent)
    if callable(opponent):
        return FunctionPlayer(game, opponent)
    would_do = "a player's name, an object with choose(position, rng, clock), or a function "
    would_do += "(observation, info) -> action"
    raise BadPlayer(f"{opponent!r} is not a player; wanted: {would_do}")


def check(name: str) -> None:
    """Raise UnknownOption or BadPlayer as `make` does for the name and the names of its options."""
    _parse(name)


def option_defaults(name: str) -> dict[str, Any]:
    """Return the options of the player with this spoken name, with their defaults.

    Raises UnknownOption and BadPlayer as `check`.
    """
    factory, _ = _parse(name)
    return _defaults(name, factory)


def register(
    name: str, factory: Factory, plays: Callable[[Game], bool] = lambda game: True
) -> None:
    """Register a player under a spoken name in this process; `plays` says for which games.

    Raises BadPlayer for a name that is not an identifier.
    """
    if not name.isidentifier():
        raise BadPlayer(f"a player cannot be called {name!r}: letters, digits and _ only")
    PLAYERS[name] = factory
    _PLAYS[name] = plays


def who_plays(game: Game) -> list[str]:
    """Return the names of the players that play a game with these options, without making any."""
    others = {bot for entry in GAMES.values() for bot in entry.bots} - set(game.search.bots)
    names = [name for name in PLAYERS if name not in others]
    return [name for name in names if name not in _PLAYS or _PLAYS[name](game)]


@contextmanager
def named(**factories: Factory) -> Iterator[None]:
    """Register players while the block runs; raises BadPlayer as `register`."""
    before = dict(PLAYERS), dict(_PLAYS)
    try:
        for name, factory in factories.items():
            register(name, factory)
        yield
    finally:
        PLAYERS.clear()
        _PLAYS.clear()
        PLAYERS.update(before[0])
        _PLAYS.update(before[1])


def _parse(name: str) -> tuple[Factory, dict[str, Any]]:
    if not isinstance(name, str):
        raise BadPlayer(f"{name!r} is not the name of a player")
    kind, _, rest = name.partition(":")
    factory = _imported(kind) if "." in kind else PLAYERS.get(kind)
    if factory is None:
        known = f"there are: {listed(sorted(PLAYERS), 99)}, and MODULE.NAME of any module that can "
        known += "be imported"
        if kind in LEARNED:
            known += f"; {kind} is known after cc_env.checkout.know_learned_players()"
        raise UnknownOption(f"there is no player {kind!r}; {suggestion(kind, PLAYERS)}{known}")
    defaults = _defaults(kind, factory)
    words = options.split(rest)
    levels = [word for word in words if "=" not in word]
    numbers = [level for level in levels if level.isdecimal()]
    if numbers and kind in _NUMBERS:
        near = f"{kind}:{_NUMBERS[kind]}={numbers[0]}"
        raise UnknownOption(f"player {kind} has no level {numbers[0]!r}; did you mean {near}?")
    if levels and "level" not in defaults:
        raise UnknownOption(f"player {kind} has no levels, such as {levels[0]!r}")
    given = options.read(word if "=" in word else f"level={word}" for word in words)
    if unknown := sorted(set(given) - set(defaults)):
        has = (
            f"{suggestion(unknown[0], defaults)}it has: {listed(_with_values(defaults)) or 'none'}"
        )
        raise UnknownOption(f"player {kind} has no option {listed(unknown)}; {has}")
    if factory is _program:
        trust.check_program(str(given.get("command")))
    return factory, given


def _defaults(kind: str, factory: Factory) -> dict[str, Any]:
    """Return a player's options with their defaults; raise BadPlayer if it takes no game."""
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if not parameters:
        raise BadPlayer(f"player {kind!r} cannot be made with a game: it takes no arguments")
    return {parameter.name: parameter.default for parameter in parameters[1:]}


def _with_values(defaults: Mapping[str, Any]) -> list[str]:
    """Return the names of options, those with a default other than None as NAME=VALUE."""
    return [name if value is None else f"{name}={value}" for name, value in defaults.items()]


def _imported(path: str) -> Factory:
    module, _, name = path.rpartition(".")
    try:
        factory = getattr(trust.load(module, path), name)
    except (ImportError, AttributeError) as error:
        raise BadPlayer(f"player {path!r} cannot be imported: {error}") from error
    if not callable(factory):
        raise BadPlayer(f"player {path!r} is not a class or a function: {factory!r}")
    trust.allow(path)
    return factory  # type: ignore[no-any-return]


def allowance(seconds: float | None, clock: Clock) -> float | None:
    """Return the thinking time in seconds: as asked, within a safe share of the clock's time."""
    bound = max(0.0, min(0.75 * clock.turn - 0.02, clock.game / 25))
    if bound == math.inf:
        return seconds
    return bound if seconds is None else min(seconds, bound)
