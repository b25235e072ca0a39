"""Review of served games over HTTP.

POST /review   {"room", "tokens"?}: the review as lines of JSON, each sent as soon as it is known:
               the game as POST /open returns it; the quality of each turn; that of turns which a
               longer search confirms or changes; the moments, accuracies and the first player's
               final chances
POST /retry    {"game", "options"?, "start"?, "actions", "turn"}: the judgment of a turn at a
               moment, as that of POST /puzzle/turn; every turn that loses at most
               `review.MAX_RETRY_LOSS` percent of the winning chances is correct
"""

from collections.abc import AsyncGenerator, Sequence
from functools import partial

from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.errors import BadOption
from cc_env.match.referee import Player
from cc_env.play import reasons, review
from cc_env.play.analysis import TimeBudget, TurnAssessment, assess_turn, first_turn
from cc_env.play.descriptions import winning_chances
from cc_env.play.importing import ImportedGame
from cc_env.play.review import (
    MOMENT_SECONDS,
    TURN_SECONDS,
    ReviewedTurn,
    review_turn,
    reviewer_spec,
)
from cc_env.server.analysis_api import game_data, open_served_game
from cc_env.server.jobs import PlayerJob
from cc_env.server.json_routes import Data, Fields, json_route, stream_route
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby
from cc_env.server.positions import (
    POSITION_FIELDS,
    check_turn,
    parse_actions,
    position_state,
    replay,
    replay_request,
    replay_states,
    solution_data,
    turn_ends,
)

# Reviewed turns that are kept in memory.
MAX_KNOWN_TURNS = 4096


async def _review(lobby: Lobby, fields: Fields, address: str) -> AsyncGenerator[Data, None]:
    """Return the parts of a review; raise CcEnvError if the game cannot be reviewed."""
    imported, seats = await open_served_game(lobby, fields, address)
    limit = lobby.limits.max_reviewed_turns
    if (count := len(imported.turns)) > limit:
        raise BadOption(f"the game has {count:,} turns; expected: at most {limit:,}")
    data = await lobby.run_in_background(address, game_data, imported)
    return _Review(lobby, imported, address).parts({**data, "seats": seats})


class _Review:
    """The review of a game, computed turn by turn."""

    def __init__(self, lobby: Lobby, imported: ImportedGame, address: str) -> None:
        self._lobby, self._address = lobby, address
        self._game, self._turns = imported.game, imported.turns
        self._spec = reviewer_spec(imported.game)
        # Positions before each turn, and after the last.
        self._positions = [imported.start]
        for turn in imported.turns:
            self._positions.append(self._game.play_turn(self._positions[-1], turn))

    async def parts(self, data: Data) -> AsyncGenerator[Data, None]:
        """Yield the game's data, each turn, turns that a longer search changes, and the summary."""
        yield data
        reviewed: list[ReviewedTurn] = []
        for index in range(len(self._turns)):
            reviewed.append(await self._review_turn(index, TURN_SECONDS))
            yield _turn_data(reviewed[-1], index)
        seats = data["seats"]
        assert isinstance(seats, list)
        moments = list[int]()
        for index in review.moment_candidates(reviewed, seats[0] if len(seats) == 1 else None):
            if len(moments) == review.MAX_MOMENTS:
                break
            reviewed[index] = await self._review_turn(index, MOMENT_SECONDS)
            yield _turn_data(reviewed[index], index)
            if (reviewed[index].loss or 0.0) >= review.MIN_MOMENT_LOSS:
                moments.append(index)
        yield {
            "moments": [self._moment_data(index, reviewed[index]) for index in sorted(moments)],
            "accuracies": [_accuracy_data(reviewed, player) for player in (0, 1)],
            "final_chances": _final_chances(self._game, self._positions[-1]),
        }

    async def _review_turn(self, index: int, seconds: float) -> ReviewedTurn:
        """Return the review of a turn; that of an earlier search, so that reviews repeat."""
        position, turn = self._positions[index], self._turns[index]
        known, key = self._lobby.reviewed_turns, (repr(self._game), position, turn, seconds)
        if reviewed := known.get(key):
            return reviewed
        job = PlayerJob(partial(review_turn, turn=turn), self._spec, self._game, position)
        reviewed = known[key] = await self._lobby.run_analysis(job, seconds, self._address)
        if len(known) > MAX_KNOWN_TURNS:
            del known[next(iter(known))]
        return reviewed

    def _moment_data(self, index: int, reviewed: ReviewedTurn) -> Data:
        """Return a moment: its texts, the board, and the best turn as a solution."""
        game, position = self._game, self._positions[index]
        best = first_turn(game, position, reviewed.assessment.line)
        return {
            "turn": index,
            "text": game.readable_turn_text(position, reviewed.turn).strip(),
            "sign": reviewed.mark.sign if reviewed.mark else "",
            "reason": reviewed.reason,
            "change": reviewed.change,
            "state": position_state(replay(game, position, ())),
            "solution": solution_data(
                game, position, best, replay_states(replay(game, position, ()), best)
            ),
        }


def _turn_data(reviewed: ReviewedTurn, index: int) -> Data:
    """Return the quality of a turn; `chances` are the first player's before it."""
    value = reviewed.assessment.value
    first_value = None if value is None else value * (1 - 2 * reviewed.mover)
    return {
        "turn": index,
        "chances": None if first_value is None else round(winning_chances(first_value), 1),
        "loss": None if reviewed.loss is None else round(reviewed.loss, 1),
        "mark": reviewed.mark and reviewed.mark.name,
        "sign": reviewed.mark and reviewed.mark.sign,
        "is_turning_point": reviewed.is_turning_point,
    }


def _accuracy_data(turns: Sequence[ReviewedTurn], player: int) -> Data | None:
    result = review.accuracy(turns, player)
    return result and {"percent": round(result.percent), "is_exact": result.is_exact}


def _final_chances(game: Game, position: Position) -> float | None:
    """Return the first player's chances after the last turn; None if the rules end nothing."""
    outcome = game.outcome(position)
    if outcome == ONGOING:
        return None
    return 50.0 if outcome == DRAW else 100.0 * (1 - outcome)


async def _retry(lobby: Lobby, fields: Fields, address: str) -> Data:
    """Return the judgment of a turn at a moment."""
    job = await lobby.run_in_worker(address, _retry_job, fields, lobby.limits)
    return await lobby.run_analysis(job, MOMENT_SECONDS, address)


def _retry_job(fields: Fields, limits: ServerLimits) -> PlayerJob[Data]:
    session = replay_request(fields, limits)
    session.check_in_progress()
    turn = parse_actions(fields, "turn", limits.max_analyzed_decisions)
    check_turn(session.game, session.position, turn)
    function = partial(judge_retry, turn=turn)
    return PlayerJob(function, reviewer_spec(session.game), session.game, session.position)


def judge_retry(
    game: Game, position: Position, player: Player, time: TimeBudget, *, turn: Turn
) -> Data:
    """Return the judgment of a turn, or the state after an unfinished one."""
    session = replay(game, position, ())
    states = replay_states(session, turn)
    if states[-1]["mid_turn"]:
        return {"is_finished": False, "states": states}
    assessment = assess_turn(game, position, turn, player, time)
    is_correct = (assessment.loss or 0.0) <= review.MAX_RETRY_LOSS
    reply: Turn = ()
    if not is_correct and assessment.played:
        reply = reasons.reply_of(game, position, assessment.played)
    after = session.position
    return {
        "is_finished": True,
        "is_correct": is_correct,
        "is_solved": is_correct,
        "message": _describe_retry(game, position, turn, assessment),
        "states": states,
        "reply_states": replay_states(session, reply),
        "arrow": turn_ends(game, after, reply),
    }


def _describe_retry(game: Game, position: Position, turn: Turn, assessment: TurnAssessment) -> str:
    """Return a sentence about a turn."""
    text, loss = game.readable_turn_text(position, turn).strip(), assessment.loss or 0.0
    if loss <= review.MAX_RETRY_LOSS:
        return f"{text} keeps the chances."
    played, best = assessment.played, assessment.best
    assert played is not None
    assert best is not None
    return f"{text} {reasons.explain_mistake(game, position, played, best)}."


ROUTES = [
    stream_route("/review", ("room", "tokens"), _review),
    json_route("/retry", (*POSITION_FIELDS, "turn"), _retry),
]
