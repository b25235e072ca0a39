"""Players' evaluations of positions, moves and turns."""

import numpy as np
import pytest

from cc_env.errors import IllegalAction
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.match import Match
from cc_env.match.referee import Decision, play_match
from cc_env.play import analysis
from cc_env.play.analysis import TimeBudget
from cc_env.play.descriptions import describe_decision
from cc_env.players.builtin import RandomPlayer
from cc_env.players.specs import make_player
from cc_env.registry.catalogue import GAMES
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.compare import compare

CHAIN = "6/1bb3/1brrr1/1r1r2/6/6 b"
# A game, a position, a turn that throws it away, and one that does not.
BLUNDERS = [
    ("capture_conquer", "6/brb2r/b3r1/6/3b2/r2b2 r", "1,1-1,3x1,2", "1,1-0,0"),
    ("mini_checkers", "1b3b/2w3/6/w3b1/6/b3w1 b", "34-23", "34-25"),
    ("morris", "..b...w.....wbb..w.w.... b 00", "CB", "OX"),
    (
        "cannon",
        "WwWwWwW1/1b1w1ww1/1ww4w/4w2w/bbb2bb1/b5b1/3wb1b1/1B1BbB1B b",
        "S 1 1 M 1 3",
        "S 1 1 M 0 0",
    ),
]


def running_budget(player):
    """Return a running time budget of one minute."""
    time = TimeBudget(60)
    time.start(player)
    return time


def test_compared_values_equal_minimax_values():
    game = make_game("mini_checkers")
    search = AlphaBeta(game)
    turns = [(int(action),) for action in game.legal_actions(game.initial)]
    comparison = compare(search, game.initial, turns, seconds_left=lambda: 60.0, depth=4)
    alone = search.search(game.initial, depth=4)
    assert comparison.depth == 4
    assert [variation.actions[:1] for variation in comparison.variations] == turns
    assert max(variation.score for variation in comparison.variations) == alone.score
    for variation in comparison.variations:
        after = game.play_turn(game.initial, variation.actions[:1])
        assert variation.score == -search.search(after, depth=3).score


def test_winning_move_has_the_value_of_a_win_at_any_time_limit():
    game = make_game("capture_conquer")
    won, lost = "6/brb2r/b3r1/6/3b2/r2b2 r", "4r1/6/r4b/b5/6/6 b"
    for text, best in ((won, "1,1-0,0"), (lost, "3,0-1,0x2,0")):
        position = game.from_text(text)
        turns = [(int(action),) for action in game.legal_actions(position)]
        comparison = compare(AlphaBeta(game), position, turns, seconds_left=lambda: 0.0)
        assert comparison.depth == 2
        assert len(comparison.variations) == len(turns)
        first = max(comparison.variations, key=lambda variation: variation.score)
        assert (first.value, game.turn_texts(position, first.actions)[0]) == (1.0, best)


@pytest.mark.parametrize(("name", "start", "bad", "good"), BLUNDERS)
def test_blunder_is_marked_and_own_choice_is_best(name, start, bad, good):
    game = make_game(name)
    position, player = game.from_text(start), make_player("minimax:depth=3", game)
    marks = {}
    for text in (bad, good):
        judgement = analysis.assess_turn(
            game, position, game.parse_turn(position, text), player, running_budget(player)
        )
        marks[text] = judgement.mark.name
        assert game.turn_texts(position, judgement.line)[0] == good
        assert judgement.loss == 0 if text == good else judgement.loss > 20
    assert marks == {bad: "blunder", good: "best"}


def test_grades_depend_on_the_loss():
    words = [analysis.mark_for_loss(loss).name for loss in (0, 1.9, 2, 9.9, 10, 19.9, 20, 30)]
    assert words == [*["best"] * 2, *["good"] * 2, *["doubtful"] * 2, "mistake", "blunder"]


def test_forced_move_is_not_graded():
    game = make_game("checkers")
    position = game.from_text("8/1b6/8/8/8/3b4/4r3/8 r")
    (turn,) = game.turns(position)
    for name in ("minimax:depth=2", "mcts:simulations=20"):
        player = make_player(name, game)
        judgement = analysis.assess_turn(game, position, turn, player, running_budget(player))
        assert (judgement.mark, judgement.loss) == (analysis.ONLY_MOVE, None)
        assert judgement.value is not None


def test_turns_of_several_decisions_are_graded_as_a_whole(game):
    position, player = game.from_text(CHAIN), make_player("minimax:depth=3", game)
    turns = sorted(game.turns(position), key=len)
    assert len(turns[-1]) > 1
    judgements = [
        analysis.assess_turn(game, position, turn, player, running_budget(player)) for turn in turns
    ]
    assert {
        len(turn) for turn, judgement in zip(turns, judgements, strict=True) if judgement.loss == 0
    }
    assert all(judgement.mark in analysis.MARKS for judgement in judgements)
    amid = game.play_turn(position, turns[-1][:1])
    partial = analysis.analyze(game, amid, player, running_budget(player))
    first_actions = {variation.actions[0] for variation in partial.variations}
    assert first_actions == set(game.legal_actions(amid).tolist())


@pytest.mark.parametrize("name", GAMES)
def test_players_with_values_evaluate_every_move(name):
    game, rng = make_game(name), np.random.default_rng(5)
    match = Match(game)
    for _ in range(12):
        match.play(int(rng.choice(game.legal_actions(match.position))))
    legal = set(game.legal_actions(match.position).tolist())
    for kind in ("minimax:depth=2", "mcts:simulations=20", "greedy"):
        player = make_player(kind, game)
        result = analysis.analyze(game, match.position, player, running_budget(player))
        assert {variation.actions[0] for variation in result.variations} == legal
        assert all(-1 <= variation.value <= 1 for variation in result.variations)
        if kind.startswith("mcts") and len(legal) > 1:
            assert set(result.policy) <= legal
            assert sum(result.policy.values()) == pytest.approx(1)
    player = make_player("random", game)
    silent = analysis.analyze(game, match.position, player, running_budget(player))
    assert (silent.value, silent.variations) == (None, ())
    game.play_turn(match.position, silent.line)


def test_policy_is_reported_in_analysis():
    game = make_game("mini_checkers")
    legal = game.legal_actions(game.initial).tolist()

    class Liking:
        def choose(self, position, rng, clock):
            return Decision(legal[0], 0.5, {"policy": ((legal[0], 0.75), (legal[1], 0.25))})

    player = Liking()
    result = analysis.analyze(game, game.initial, player, running_budget(player))
    assert result.policy == {legal[0]: 0.75, legal[1]: 0.25}
    description = dict(
        describe_decision(game, game.initial, player.choose(None, None, None), (legal[0],))
    )
    assert description["chances"] == "75 % for black to win, a draw is half"
    assert description["policy"] == f"25% {game.readable_action_text(game.initial, legal[1])}"


def test_cancelled_analysis_ends():
    game = make_game("capture_conquer")
    player, time = make_player("minimax:seconds=60", game), TimeBudget(60)
    time.cancel()
    time.start(player)
    assert time.seconds_left() == 0
    # Turns are compared to depth 2 at least, so that each has a value.
    assert analysis.analyze(game, game.initial, player, time).depth == 2


def test_finished_game_is_not_analyzed():
    game = make_game("capture_conquer")
    player = make_player("minimax:depth=2", game)
    finished = record.replay(play_match(game, [RandomPlayer(game)] * 2, seed=1)).position
    with pytest.raises(IllegalAction, match="over"):
        analysis.analyze(game, finished, player, running_budget(player))
