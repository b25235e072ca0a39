"""Analysis over HTTP. A position is a game, its options, a start and the decisions from there.

POST /setup    {"game", "options"?, "start"?}: who can play it, and who moves first
POST /open     {"room", "tokens"?}, or {"text", "game"?, "options"?, "which"?}, or {"game",
               "options"?, "start"?}: the game's setting, turns and players, and those who can play
               it; of a text also the titles of its "games", how many there are in "total", the
               first "refused" ones by line and reason, and "refused_total": the games after the
               first importing.MAX_GAMES are not read
POST /look     {"game", "options"?, "start"?, "actions"}: as `view.session_state`
POST /analyse  the same with "player" and "seconds": lines, chances of all moves, a heat map
POST /judge    the same with "turn", the actions of one: how good it is

Chances are per cent. Those of a position are the first player's, those of moves the mover's.
The server keeps nothing between requests. Work for a client that disconnects is cancelled.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadOption, IllegalAction, is_integer, is_number
from cc_env.match.match import Limits
from cc_env.match.referee import Decision
from cc_env.play import analysis, importing, view
from cc_env.play.analysis import Analysis, TurnAssessment
from cc_env.play.descriptions import winning_chances
from cc_env.play.importing import ImportedGame, ImportedGames
from cc_env.play.messages import read_object
from cc_env.play.session import HUMAN, GameSession
from cc_env.rendering.picture import heat
from cc_env.server import player_pool
from cc_env.server.jobs import Analyze, GameKey, Judge, game_of
from cc_env.server.limits import ConcurrencyLimit, ServerLimits
from cc_env.server.lobby import Lobby, known_game, known_start
from cc_env.server.requests import address_of, read_json, unless_gone

GONE = 499  # the status for who is gone, as nginx has it
LONGEST = 60  # seconds that can be asked for; the server may give fewer
LINES = 6  # turns of a line that are told
MAX_REFUSED_SHOWN = 20  # games of a text
_POSITION = "game", "options", "start", "actions"
FIELDS = {  # of what is asked, by its path
    "setup": ("game", "options", "start"),
    "open": ("room", "tokens", "text", "game", "options", "start", "which"),
    "look": _POSITION,
    "analyse": (*_POSITION, "player", "seconds"),
    "judge": (*_POSITION, "player", "seconds", "turn"),
}
Asked = Mapping[str, Any]


class Desk:
    """Answers what is asked about positions."""

    def __init__(self, lobby: Lobby) -> None:
        """Work with the games, the players and the cores of a lobby."""
        self._lobby = lobby
        self._concurrency = ConcurrencyLimit("analyses", lobby.limits.analyses_at_once)

    @contextmanager
    def admitted(self, address: str) -> Iterator[None]:
        """Take note of a request for as long as it lasts; raise BusyError for one too many."""
        self._lobby.rates.check("analyses", address)
        with self._concurrency.counting(address):
            yield

    async def setup(self, asked: Asked, address: str) -> dict[str, Any]:
        """Return the players that can play a game with these options, and who moves first."""
        return await self._lobby.compute(address, _setup, asked)

    async def open(self, asked: Asked, address: str) -> dict[str, Any]:
        """Return what can be analysed: a game that is served, one of a text, or a start."""
        if "room" not in asked:
            return await self._lobby.compute(address, _open, asked, self._lobby.limits)
        room, tokens = await self._lobby.find(str(asked["room"]), address), asked.get("tokens", [])
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise BadOption("tokens are a list of texts")
        room.check_analysis(tokens)
        session = room.session
        first, second = session.seats
        told = f"the game goes on after turn {len(session.match.turns)}; reload for what follows"
        imported = importing.game_from_match(session.match, (first.name, second.name), told)
        return await self._lobby.run_io(address, _opened, imported)

    async def look(self, asked: Asked, address: str) -> dict[str, Any]:
        """Return what there is to draw and to choose, and the last turn alone."""
        return await self._lobby.compute(address, _look, asked, self._lobby.limits)

    async def analyse(self, asked: Asked, address: str) -> dict[str, Any]:
        """Return what a player thinks of a position."""
        lobby, seconds = self._lobby, self._seconds(asked)
        key, position, spec = await lobby.compute(address, _subject, asked, lobby.limits)
        analysis = await lobby.study(Analyze(spec, key, position), seconds, address)
        return await lobby.compute(address, _analysed, key, position, analysis)

    async def judge(self, asked: Asked, address: str) -> dict[str, Any]:
        """Return what a player thinks of a turn."""
        lobby, seconds = self._lobby, self._seconds(asked)
        turn = _actions(asked.get("turn", []), lobby.limits.max_analyzed_decisions)
        key, position, spec = await lobby.compute(address, _subject, asked, lobby.limits)
        judgement = await lobby.study(Judge(spec, key, position, turn), seconds, address)
        return await lobby.compute(address, _judged, key, position, judgement)

    def _seconds(self, asked: Asked) -> float:
        """Return how long a player thinks; raise BadOption for what is not a time."""
        seconds = asked.get("seconds", 1)
        if not is_number(seconds, 0.01, LONGEST):
            raise BadOption(f"{str(seconds)[:40]!r} seconds; wanted: 0.01 to {LONGEST}")
        return min(float(seconds), self._lobby.limits.decision_seconds)


def _open(asked: Asked, limits: ServerLimits) -> dict[str, Any]:
    text = asked.get("text")
    named = asked.get("game")
    game = known_game(named, asked.get("options") or {}) if named else None
    if text is None and game:
        start = known_start(asked.get("start"), game)
        return _opened(ImportedGame(game, game.from_text(start) if start else game.initial))
    if not isinstance(text, str):
        raise BadOption("wanted: the text of a game or a position")
    imported, which = importing.read_games(text, game), asked.get("which", 0)
    if not is_integer(which, 0, len(imported.games) - 1):
        raise BadOption(f"there is no such game; there are {len(imported.games)}, from 0")
    most = limits.max_analyzed_decisions
    if sum(map(len, imported.games[which].turns)) > most:
        raise BadOption(f"a game has {most:,} decisions at most")
    return _opened(imported.games[which]) | _counted(imported) | {"which": which}


def _look(asked: Asked, limits: ServerLimits) -> dict[str, Any]:
    state = view.session_state(_session(asked, limits))
    return {**state, "turns": state["turns"][-1:]}


def _subject(asked: Asked, limits: ServerLimits) -> tuple[GameKey, Position, str]:
    """Return the game and the position to be analysed, and the player's spec; raises CcEnvError."""
    session = _session(asked, limits)
    if session.result is not None:
        raise IllegalAction(f"the game is over ({session.result.reason})")
    spec = player_pool.check(asked.get("player", "minimax:extreme"), session.game)
    return GameKey.of(session.game), session.position, spec


def _session(asked: Asked, limits: ServerLimits) -> GameSession:
    """Return the game as far as it is asked about; raises CcEnvError."""
    game = known_game(asked.get("game"), asked.get("options") or {})
    text = known_start(asked.get("start"), game)
    start = game.from_text(text) if text else None
    unlimited = Limits(max_turns=None, repetitions=None)
    session = GameSession(game, (HUMAN, HUMAN), start=start, limits=unlimited)
    for action in _actions(asked.get("actions", []), limits.max_analyzed_decisions):
        session.replay_decision(Decision(action), 0.0)
    return session


def _actions(given: object, most: int) -> Turn:
    if not isinstance(given, list) or len(given) > most:
        raise BadOption(f"decisions are a list of {most:,} at most")
    if not all(is_integer(action, 0) for action in given):
        raise BadOption("decisions are the numbers of actions")
    return tuple(given)


def _counted(imported: ImportedGames) -> dict[str, Any]:
    """Return the titles of the games that can be opened, and how many others a text has."""
    return {
        "games": list(map(_title, imported.games)),
        "total": imported.total,
        "refused": [broken._asdict() for broken in imported.refused[:MAX_REFUSED_SHOWN]],
        "refused_total": len(imported.refused),
    }


def _setup(asked: Asked) -> dict[str, Any]:
    game = known_game(asked.get("game"), asked.get("options") or {})
    text = known_start(asked.get("start"), game)
    start = game.from_text(text) if text else game.initial
    return {"players": player_pool.listed_players(game), "mover": game.to_move(start)}


def _opened(imported: ImportedGame) -> dict[str, Any]:
    game, position, turns = imported.game, imported.start, []
    for turn in imported.turns:
        turns.append([game.to_move(position), game.turn_text(position, turn), list(turn)])
        position = game.play_turn(position, turn)
    return {
        "game": game.name,
        "options": dict(game.options),
        "start": None if imported.start == game.initial else game.to_text(imported.start),
        "setting": view.static_state(game),
        "players": list(imported.players),
        "analysts": player_pool.listed_players(game),
        "result": imported.result,
        "turns": turns,
        "games": [],
        "which": 0,
    }


def _title(imported: ImportedGame) -> str:
    """Return a game in one line, for those who choose among several."""
    who = f"{imported.players[0]} – {imported.players[1]}, " if any(imported.players) else ""
    count = (
        f"{len(imported.turns)} turns" if imported.turns else imported.game.to_text(imported.start)
    )
    return f"{imported.game.name}: {who}{count}{f', {imported.result}' if imported.result else ''}"


def _analysed(key: GameKey, position: Position, analysis: Analysis) -> dict[str, Any]:
    game = game_of(key)
    heats = [heat(game, position, analysis.policy, ends=ends) for ends in (False, True)]
    best = analysis.lines[0].value if analysis.lines else 0.0
    return {
        "line": _texts(game, position, analysis.line),
        "chances": _chances_of_first(game, position, analysis.value),
        "depth": analysis.depth,
        "nodes": analysis.nodes,
        "moves": [_move(game, position, line.actions, line.value, best) for line in analysis.lines],
        "from": [[*cell, round(share, 4)] for cell, share in heats[0].items()],
        "to": [[*cell, round(share, 4)] for cell, share in heats[1].items()],
    }


def _move(game: Game, position: Position, line: Turn, value: float, best: float) -> dict[str, Any]:
    chances = winning_chances(value)
    loss = max(0.0, winning_chances(best) - chances)
    return {
        "action": line[0],
        "line": _texts(game, position, line),
        "chances": round(chances, 1),
        "mark": analysis.mark_for_loss(loss).name,
    }


def _judged(key: GameKey, position: Position, judgement: TurnAssessment) -> dict[str, Any]:
    game = game_of(key)
    return {
        "chances": _chances_of_first(game, position, judgement.value),
        "line": _texts(game, position, judgement.line),
        "loss": None if judgement.loss is None else round(judgement.loss, 1),
        "mark": judgement.mark and judgement.mark.name,
        "sign": judgement.mark and judgement.mark.sign,
    }


def _texts(game: Game, position: Position, line: Turn) -> list[str]:
    """Return the first turns of a line; the last one may be unfinished."""
    return [text.strip() for text in game.turn_texts(position, line)[:LINES]]


def _chances_of_first(game: Game, position: Position, value: float | None) -> float | None:
    if value is None:
        return None
    return round(winning_chances(value * (1 - 2 * game.to_move(position))), 1)


def _route(name: str) -> Route:
    async def answer(request: Request) -> Response:
        desk: Desk = request.app.state.desk
        limits: ServerLimits = request.app.state.lobby.limits
        work: Callable[[Asked, str], Coroutine[Any, Any, dict[str, Any]]] = getattr(desk, name)
        address = address_of(request)
        with desk.admitted(address):
            asked = await read_json(request, limits.max_request_bytes, limits.request_seconds)
            read_object(asked, f"a request to /{name}", FIELDS[name])
            told = await unless_gone(request, work(asked, address))
        return Response(status_code=GONE) if told is None else JSONResponse(told)

    return Route(f"/{name}", answer, methods=["POST"])


ROUTES = list(map(_route, FIELDS))
