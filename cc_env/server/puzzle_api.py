"""Puzzles over HTTP: those that ship with the games' default options.

GET  /puzzles          of each game: the ratings of its puzzles, their themes and a first rating of
                       a solver; the daily puzzle; the date in UTC
GET  /puzzles/daily    the daily puzzle, as POST /puzzle
POST /puzzle           {"game", "number"}: board, task, rating and themes of a puzzle
POST /puzzle/turn      {"game", "number", "turns", "turn"}: the judgment of a turn by the proof
POST /puzzle/solution  {"game", "number", "turns"}: the best turns from here to the goal, with the
                       piece that moves first

`turns` are the solver's turns so far, which have to be correct, as lists of action ids; `turn` is
the next one. While it is unfinished, its judgment is the state after it. The server stores nothing
between requests: it derives the replies of the defender again.
"""

import datetime
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadOption, check_integer, check_name, invalid_value
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import rungs
from cc_env.play import reasons, view
from cc_env.puzzles.attempt import Attempt, Verdict
from cc_env.puzzles.difficulty import daily_puzzle, describe_difficulty, puzzle_rating
from cc_env.puzzles.puzzle import Puzzle, shipped_puzzles
from cc_env.puzzles.themes import THEME_NOTES
from cc_env.registry.catalogue import GAMES
from cc_env.server.jobs import call_function
from cc_env.server.json_routes import Data, Fields, json_route
from cc_env.server.lobby import Lobby
from cc_env.server.positions import (
    check_actions,
    check_turn,
    parse_actions,
    position_state,
    replay,
    replay_states,
    solution_data,
    turn_ends,
)
from cc_env.server.preparation import PUZZLES
from cc_env.server.requests import client_address

PUZZLE_FIELDS = "game", "number"
# Level of the ladder whose Elo is the first rating of a solver.
FIRST_LEVEL = 2
# Decisions of a turn.
_MAX_DECISIONS = 100


async def _get_index(request: Request) -> Response:
    """Return the ratings and themes of all puzzles."""
    lobby: Lobby = request.app.state.lobby
    data = await lobby.run_in_worker(client_address(request), _index_data, _today())
    return JSONResponse(data)


async def _get_daily(request: Request) -> Response:
    """Return the puzzle of today."""
    lobby: Lobby = request.app.state.lobby
    data = await lobby.run_in_worker(client_address(request), _daily_data, _today())
    return JSONResponse(data)


async def _show(lobby: Lobby, fields: Fields, address: str) -> Data:
    """Return a puzzle when what judges of its turns need is prepared."""
    await lobby.prepare(check_name("game", fields.get("game"), GAMES), PUZZLES)
    data = await lobby.run_in_worker(address, _puzzle_data, fields)
    return {**data, "date": _today().isoformat()}


async def _run_search(
    function: Callable[..., Data], lobby: Lobby, fields: Fields, address: str
) -> Data:
    """Return the result of a function that searches for a goal."""
    job = partial(call_function, function, (fields,))
    return await lobby.run_analysis(job, lobby.limits.decision_seconds, address)


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


@lru_cache(maxsize=len(GAMES))
def _load_puzzles(name: str) -> tuple[Game, list[Puzzle]]:
    """Return a game and its puzzles, which are read once."""
    game = make_game(name)
    return game, shipped_puzzles(game)


def _parse_puzzle(fields: Mapping[str, object]) -> tuple[Game, Puzzle]:
    """Return the requested puzzle; raise UnknownOption or BadOption for an invalid request."""
    game, puzzles = _load_puzzles(check_name("game", fields.get("game"), GAMES))
    number = check_integer("number", fields.get("number"), 1, len(puzzles))
    return game, puzzles[number - 1]


# Puzzles and their lists


def _index_data(date: datetime.date) -> Data:
    game, puzzle = daily_puzzle(date)
    return {
        "date": date.isoformat(),
        "daily": {"game": game.name, "number": puzzle.number},
        "games": {name: _list_data(name) for name in GAMES},
        "theme_notes": THEME_NOTES,
    }


@lru_cache(maxsize=len(GAMES))
def _list_data(name: str) -> Data:
    """Return the ratings of a game's puzzles, and the numbers of the puzzles of each theme."""
    game, puzzles = _load_puzzles(name)
    ladder = rungs(game)
    themes: dict[str, list[int]] = {}
    for puzzle in puzzles:
        for theme in puzzle.themes:
            themes.setdefault(reasons.describe_theme(game, theme), []).append(puzzle.number)
    return {
        "ratings": [puzzle_rating(puzzle, ladder) for puzzle in puzzles],
        "first_rating": round(ladder[FIRST_LEVEL - 1].elo.value),
        "themes": themes,
    }


def _daily_data(date: datetime.date) -> Data:
    return {**_show_puzzle(*daily_puzzle(date)), "date": date.isoformat()}


def _puzzle_data(fields: Fields) -> Data:
    return _show_puzzle(*_parse_puzzle(fields))


def _show_puzzle(game: Game, puzzle: Puzzle) -> Data:
    return {
        "game": game.name,
        "number": puzzle.number,
        "setting": view.static_state(game),
        "start": game.to_text(puzzle.position),
        "state": position_state(replay(game, puzzle.position, ())),
        "task": reasons.describe_task(game, puzzle),
        "rating": puzzle_rating(puzzle, rungs(game)),
        "difficulty": describe_difficulty(puzzle, game),
        "themes": [reasons.describe_theme(game, theme) for theme in puzzle.themes],
    }


# Attempts


class _Judgment(NamedTuple):
    """The verdict of a turn, and the states after each decision of the turn and of the reply."""

    verdict: Verdict
    states: list[Data]
    reply_states: list[Data]


class _Line:
    """An attempt, and the session that shows its positions."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        """Replay the correct turns of a request; raise CcEnvError if it is invalid."""
        self.game, puzzle = _parse_puzzle(fields)
        self.attempt = Attempt(self.game, puzzle)
        self._session = replay(self.game, puzzle.position, ())
        turns = fields.get("turns", [])
        if not isinstance(turns, list) or len(turns) >= puzzle.turns:
            raise invalid_value("turns", turns, f"a list of fewer than {puzzle.turns} turns")
        for turn in turns:
            if not self.play(check_actions("turns", turn, _MAX_DECISIONS)).verdict.is_correct:
                raise BadOption(f"turns: {turn!r:.80} is wrong; expected: correct turns")

    def play(self, turn: Turn) -> _Judgment:
        """Judge a turn and play it with the reply; nothing can be played after a wrong turn.

        Raises CcEnvError as `Attempt.play`.
        """
        verdict = self.attempt.play(turn)
        return _Judgment(verdict, self.show(turn), self.show(verdict.reply or ()))

    def show(self, actions: Turn) -> list[Data]:
        """Play decisions without judging them; return the state after each."""
        return replay_states(self._session, actions)


def _judge_turn(fields: Fields) -> Data:
    """Return the judgment of a turn, or the state after an unfinished one."""
    line = _Line(fields)
    game, before = line.game, line.attempt.position
    turn = parse_actions(fields, "turn", _MAX_DECISIONS)
    check_turn(game, before, turn)
    after = game.play_turn(before, turn)
    if game.mid_turn(after):
        return {"is_finished": False, "states": line.show(turn)}
    verdict, states, reply_states = line.play(turn)
    return {
        "is_finished": True,
        "is_correct": verdict.is_correct,
        "is_solved": verdict.is_solved,
        "message": _describe_verdict(game, before, turn, verdict),
        "states": states,
        "reply_states": reply_states,
        "arrow": turn_ends(game, after, verdict.reply or ()),
    }


def _describe_verdict(game: Game, before: Position, turn: Turn, verdict: Verdict) -> str:
    """Return a sentence about a turn and the reply to it."""
    text = game.readable_turn_text(before, turn).strip()
    if verdict.reply is None:
        return f"{text} reaches the goal." if verdict.is_correct else f"{text} ends the game."
    clause = reasons.describe_reply(game, game.play_turn(before, turn), verdict.reply)
    if verdict.is_correct:
        return f"{text} is right. {clause}."
    return f"{clause}." if " and " in clause else f"{clause} and holds out."


def _find_solution(fields: Fields) -> Data:
    """Return the best turns of both sides from here to the goal."""
    line = _Line(fields)
    attempt, states = line.attempt, list[Data]()
    start, first, turns_left = attempt.position, attempt.solutions()[0], attempt.turns_left
    while not attempt.is_solved:
        _, turn_states, reply_states = line.play(attempt.solutions()[0])
        states += turn_states + reply_states
    return {**solution_data(line.game, start, first, states), "turns_left": turns_left}


ROUTES = [
    Route("/puzzles", _get_index),
    Route("/puzzles/daily", _get_daily),
    json_route("/puzzle", PUZZLE_FIELDS, _show),
    json_route(
        "/puzzle/turn", (*PUZZLE_FIELDS, "turns", "turn"), partial(_run_search, _judge_turn)
    ),
    json_route("/puzzle/solution", (*PUZZLE_FIELDS, "turns"), partial(_run_search, _find_solution)),
]
