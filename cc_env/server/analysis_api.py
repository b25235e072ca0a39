"""Analysis over HTTP. A position is a game, its options, a start and the decisions since then.

POST /players   {"game", "options"?, "start"?}: the available players, and the player to move first
POST /open      {"room", "tokens"?}, or {"text", "game"?, "options"?, "index"?}, or {"game",
                "options"?, "start"?}: a game's setting, turns, players, the available players, and
                the client's seats; of a text also the titles of its "games", their number
                ("total"), the first "broken" ones by line and reason, and their number
                ("broken_total"); at most importing.MAX_GAMES games are read
POST /position  {"game", "options"?, "start"?, "actions"}: the state of `view.session_state`
POST /analyze   these fields, "player" and "seconds": lines, chances of all moves, a heat map
POST /assess    those of /analyze and "turn", a list of actions: the quality of this turn

Chances are in percent. Those of a position are the first player's, those of moves the mover's.
The server stores nothing between requests. Work for a client that disconnects is cancelled.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadOption, check_integer, check_number, invalid_value
from cc_env.match.referee import Player
from cc_env.play import analysis, importing, reasons, view
from cc_env.play.analysis import Analysis, TimeBudget
from cc_env.play.descriptions import winning_chances
from cc_env.play.importing import ImportedGame, ImportedGames
from cc_env.rendering.picture import heat
from cc_env.search.compare import Variation
from cc_env.server.jobs import PlayerJob
from cc_env.server.json_routes import Data, Fields, json_route
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby, parse_game, parse_start
from cc_env.server.player_pool import allowed_players, normalize_spec
from cc_env.server.positions import POSITION_FIELDS, parse_actions, position_state, replay_request
from cc_env.server.requests import read_tokens

MAX_SECONDS = 60
MAX_LINE_TURNS = 6
MAX_LISTED_BROKEN_GAMES = 20


async def _list_players(lobby: Lobby, fields: Fields, address: str) -> Data:
    """Return the player specs that the page offers for a game, and the side that moves first."""
    return await lobby.run_in_worker(address, _players_data, fields)


async def _open(lobby: Lobby, fields: Fields, address: str) -> Data:
    """Return a game to analyze: a served game, a game in a text, or a start position."""
    if "room" not in fields:
        return await lobby.run_in_worker(address, _open_text, fields, lobby.limits)
    imported, seats = await open_served_game(lobby, fields, address)
    data = await lobby.run_in_background(address, game_data, imported)
    return {**data, "seats": seats}


async def open_served_game(
    lobby: Lobby, fields: Fields, address: str
) -> tuple[ImportedGame, list[int]]:
    """Return the served game of a request, and the seats of its client.

    Raises UnknownOption if there is no such game, IllegalAction if the client may not analyze it
    yet.
    """
    room = await lobby.find_room(str(fields.get("room")), address)
    tokens = read_tokens(fields)
    room.check_analysis(tokens)
    match = room.session.match
    first, second = room.session.seats
    result = f"the game continues after turn {len(match.turns)}; reload to update"
    imported = importing.game_from_match(match, (first.name, second.name), result)
    if match.result:
        text = reasons.describe_ending(room.session.game, match.result, room.session.detail)
        imported = replace(imported, result=text)
    return imported, sorted(room.seats(tokens))


async def _show_position(lobby: Lobby, fields: Fields, address: str) -> Data:
    """Return the state of a position, with the last turn only."""
    return await lobby.run_in_worker(address, _position_data, fields, lobby.limits)


async def _assess(lobby: Lobby, fields: Fields, address: str) -> Data:
    """Return a player's assessment of a turn."""
    turn = parse_actions(fields, "turn", lobby.limits.max_analyzed_decisions)
    return await _search(partial(assess_turn, turn=turn), lobby, fields, address)


async def _search(
    function: Callable[..., Data], lobby: Lobby, fields: Fields, address: str
) -> Data:
    """Return the result of `function`, that of a PlayerJob, for the requested position."""
    limits = lobby.limits
    seconds = check_number("seconds", fields.get("seconds", 1), 0.01, MAX_SECONDS)
    job = await lobby.run_in_worker(address, _player_job, function, fields, limits)
    return await lobby.run_analysis(job, min(seconds, limits.decision_seconds), address)


def _open_text(fields: Fields, limits: ServerLimits) -> Data:
    """Return a game in a text, or a start position; raise CcEnvError for an invalid request."""
    text = fields.get("text")
    game = parse_game(fields) if fields.get("game") else None
    if text is None and game:
        return game_data(ImportedGame(game, parse_start(fields, game)))
    if not isinstance(text, str):
        raise invalid_value("text", text, "games or a position")
    imported = importing.read_games(text, game)
    index = check_integer("index", fields.get("index", 0), 0, len(imported.games) - 1)
    limit = limits.max_analyzed_decisions
    if (count := sum(map(len, imported.games[index].turns))) > limit:
        raise BadOption(f"the game has {count:,} decisions; expected: at most {limit:,}")
    return game_data(imported.games[index]) | _import_data(imported) | {"index": index}


def _position_data(fields: Fields, limits: ServerLimits) -> Data:
    return position_state(replay_request(fields, limits))


def _player_job(
    function: Callable[..., Data], fields: Fields, limits: ServerLimits
) -> PlayerJob[Data]:
    """Return the job of a requested analysis; raise CcEnvError if the request is invalid."""
    session = replay_request(fields, limits)
    session.check_in_progress()
    spec = normalize_spec(fields.get("player", "minimax:extreme"), session.game)
    return PlayerJob(function, spec, session.game, session.position)


def _import_data(imported: ImportedGames) -> Data:
    """Return the titles of the valid games, the number of all games, and the invalid ones."""
    return {
        "games": list(map(_title, imported.games)),
        "total": imported.total,
        "broken": [game._asdict() for game in imported.refused[:MAX_LISTED_BROKEN_GAMES]],
        "broken_total": len(imported.refused),
    }


def _players_data(fields: Fields) -> Data:
    """Return the player specs that the page offers for a game, and the side that moves first."""
    game = parse_game(fields)
    start = parse_start(fields, game)
    return {
        "players": allowed_players(game),
        "rungs": view.rung_names(game),
        "mover": game.to_move(start),
    }


def game_data(imported: ImportedGame) -> Data:
    """Return a game for the page: its options, static view data, turns, players and analysts.

    `games` and `index` are those of a text with a single game; no client has a seat.
    """
    game, position = imported.game, imported.start
    turns: list[list[object]] = []
    for turn in imported.turns:
        text = game.readable_turn_text(position, turn)
        turns.append([game.to_move(position), text, list(turn)])
        position = game.play_turn(position, turn)
    return {
        "game": game.name,
        "options": dict(game.options),
        "start": None if imported.start == game.initial else game.to_text(imported.start),
        "setting": view.static_state(game),
        "seats": [],
        "players": list(imported.players),
        "analysts": allowed_players(game),
        "result": imported.result,
        "turns": turns,
        "games": [],
        "index": 0,
    }


def _title(imported: ImportedGame) -> str:
    """Return one line that describes a game of a list."""
    game, players = imported.game, imported.players
    parts = [f"{players[0]} – {players[1]}"] if any(players) else []
    parts.append(f"{len(imported.turns)} turns" if imported.turns else game.to_text(imported.start))
    if imported.result:
        parts.append(imported.result)
    return f"{game.name}: {', '.join(parts)}"


def analyze_position(game: Game, position: Position, player: Player, time: TimeBudget) -> Data:
    """Return a player's analysis of a position as JSON."""
    result = analysis.analyze(game, position, player, time)
    best = result.variations[0].value if result.variations else 0.0
    return {
        "line": _turn_texts(game, position, result.line),
        "chances": _first_players_chances(game, position, result.value),
        "depth": result.depth,
        "nodes": result.nodes,
        "moves": [_move_data(game, position, other, best) for other in result.variations],
        "from": _heat_data(game, position, result, ends=False),
        "to": _heat_data(game, position, result, ends=True),
    }


def _heat_data(
    game: Game, position: Position, result: Analysis, *, ends: bool
) -> list[list[float]]:
    """Return (row, column, share) of the cells where moves begin, or end."""
    shares = heat(game, position, result.policy, ends=ends)
    return [[*cell, round(share, 4)] for cell, share in shares.items()]


def _move_data(game: Game, position: Position, variation: Variation, best: float) -> Data:
    """Return a move with its line, chances and grade, which depends on the `best` value.

    `turns_to_win` are the winner's own turns to the end of a proven win or loss.
    """
    line, chances = variation.actions, winning_chances(variation.value)
    loss = max(0.0, winning_chances(best) - chances)
    return {
        "action": line[0],
        "line": _turn_texts(game, position, line),
        "chances": round(chances, 1),
        "turns_to_win": reasons.turns_to_win(game, position, variation),
        "mark": analysis.mark_for_loss(loss).name,
    }


def assess_turn(
    game: Game, position: Position, player: Player, time: TimeBudget, *, turn: Turn
) -> Data:
    """Return a player's assessment of a turn as JSON."""
    assessment = analysis.assess_turn(game, position, turn, player, time)
    return {
        "chances": _first_players_chances(game, position, assessment.value),
        "line": _turn_texts(game, position, assessment.line),
        "loss": None if assessment.loss is None else round(assessment.loss, 1),
        "mark": assessment.mark and assessment.mark.name,
        "sign": assessment.mark and assessment.mark.sign,
    }


def _turn_texts(game: Game, position: Position, actions: Turn) -> list[str]:
    """Return the readable notation of a line's first turns; the last one may be unfinished."""
    return [text.strip() for text in game.readable_turn_texts(position, actions)[:MAX_LINE_TURNS]]


def _first_players_chances(game: Game, position: Position, value: float | None) -> float | None:
    """Return a value for the player to move as the first player's chances in percent."""
    if value is None:
        return None
    return round(winning_chances(value * (1 - 2 * game.to_move(position))), 1)


ROUTES = [
    json_route("/players", ("game", "options", "start"), _list_players),
    json_route("/open", ("room", "tokens", "text", "game", "options", "start", "index"), _open),
    json_route("/position", POSITION_FIELDS, _show_position),
    json_route(
        "/analyze", (*POSITION_FIELDS, "player", "seconds"), partial(_search, analyze_position)
    ),
    json_route("/assess", (*POSITION_FIELDS, "player", "seconds", "turn"), _assess),
]
