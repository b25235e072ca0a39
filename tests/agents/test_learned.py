"""Players that learned."""

import numpy as np
import pytest
import torch

import agents
from agents.network import Network, Size, load, save
from agents.network_players import AlphaZeroPlayer, PolicyPlayer, load_evaluator, predict
from agents.shipped_weights import NETWORK
from cc_env.accuracy.decisions import measure, sample_uniform
from cc_env.errors import BadCheckpoint, BadOption
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock, play_match
from cc_env.players.specs import make_player
from cc_env.tablebase.tablebase import SHIPPED, Tablebase

CYCLES = {  # a position, and turns that lead back to it
    "capture_conquer": ("b5/b5/6/6/5r/5r b", ("0,0-2,0", "5,5-3,5", "2,0-0,0", "3,5-5,5")),
    "checkers": ("6B1/8/8/8/8/8/8/1R6 r", ("71-60", "06-17", "60-71", "17-06")),  # counts them
}


@pytest.fixture(scope="module")
def file(game, tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "network.safetensors"
    save(path, Network(game, Size(blocks=1, channels=8)), game, {})
    return path


def decide(game, name, position=None, seed=0, clock=Clock()):  # noqa: B008
    rng = np.random.default_rng(seed)
    return make_player(name, game).choose(position or game.initial, rng, clock)


def both_ways(game, file, position):
    """Return the logit of each legal action, the mean of both ways to look, and both values."""
    (mirror,) = game.symmetries
    image = game.make_position(mirror.position(position))
    seen = np.stack([game.observe(position), game.observe(image)])
    logits, values = load_evaluator(file, game)(seen)
    legal = game.legal_actions(position).tolist()
    return {
        action: (logits[0, action] + logits[1, mirror.actions[action]]) / 2 for action in legal
    }, values


def test_a_policy_plays_the_legal_action_of_the_highest_logit(game, file):
    position = game.from_text("bb4/b2bb1/1b1r2/2r2r/4rr/3r1r b")
    logits, values = both_ways(game, file, position)
    decision = decide(game, f"policy:path={file}", position)
    assert decision.action == max(logits, key=logits.get)
    assert decision.value == pytest.approx(sum(values) / 2)


@pytest.mark.parametrize("kind", ["policy", "ppo"])
def test_a_network_of_ppo_is_asked_about_the_position_alone(game, file, tmp_path, kind):
    """It has learned from no mirror images: what it says of them made it weaker."""
    position = game.from_text("bb4/b2bb1/1b1r2/2r2r/4rr/3r1r b")
    (logits,), (value,) = load_evaluator(file, game)(game.observe(position)[np.newaxis])
    path = tmp_path / "ppo.safetensors"
    save(path, load(file, game)[0], game, {"trained": "ppo"})
    decision = decide(game, f"{kind}:path={path}", position)
    legal = game.legal_actions(position).tolist()
    assert decision.action == max(legal, key=lambda action: logits[action])
    assert decision.value == pytest.approx(value)


@pytest.mark.parametrize(("value", "comes_back"), [(0.0, False), (-0.2, False), (-0.3, True)])
@pytest.mark.parametrize("name", CYCLES)
def test_a_policy_comes_back_only_where_it_expects_little(name, value, comes_back):
    game, (text, cycle) = make_game(name), CYCLES[name]
    start = position = game.from_text(text)
    likes = {}  # in what it sees, to go round and round
    for turn in cycle:
        (action,) = game.parse_turn(position, turn)
        likes[game.observe(position).tobytes()] = action
        position = game.apply(position, action)
    assert game.key(position) == game.key(start)

    def stubborn(planes):
        logits = np.zeros((len(planes), game.num_actions), np.float32)
        for row, board in zip(logits, planes, strict=True):
            row[likes.get(board.tobytes(), 0)] = 9
        return logits, np.full(len(planes), value, np.float32)

    player, rng = PolicyPlayer(game, stubborn), np.random.default_rng(0)
    for turn in cycle:
        if game.to_move(position) == 0:
            assert (
                player.choose(position, rng, Clock()).action == game.parse_turn(position, turn)[0]
            )
        position = game.play_turn(position, game.parse_turn(position, turn))
    again = player.choose(position, rng, Clock()).action
    assert (again == game.parse_turn(position, cycle[0])[0]) == comes_back


def test_an_opinion_has_a_chance_for_each_legal_action(game, file):
    position = game.from_text("bb4/b2bb1/1b1r2/2r2r/4rr/3r1r b")
    chances, value = predict(game, load_evaluator(file, game), position)
    logits, values = both_ways(game, file, position)
    assert list(chances) == list(logits)
    assert sum(chances.values()) == pytest.approx(1)
    first, second, *_ = chances
    odds = np.exp(logits[first] - logits[second])
    assert chances[first] / chances[second] == pytest.approx(odds, rel=1e-5)
    assert value == pytest.approx(sum(values) / 2)


def test_a_search_says_what_it_found(game, file):
    decision = decide(game, f"alphazero:path={file},simulations=100")
    assert decision.details["nodes"] == 100
    assert sum(visits for _, visits in decision.details["visits"]) == 100
    assert decide(game, f"alphazero:path={file}").details["nodes"] == 64


def test_a_search_wins_where_it_can(game, file):
    position = game.from_text("6/6/2b3/3r2/6/b4r b")
    decision = decide(game, f"alphazero:path={file},simulations=1", position)
    assert game.outcome(game.apply(position, decision.action)) == 0
    assert decision.value == 1


def test_a_search_keeps_to_its_time_and_to_the_clock(game, file, stopwatch):
    stopwatch(tick=1)  # for each batch that is evaluated, and some more
    name = f"alphazero:path={file},seconds=30"
    clocks = Clock(), Clock(turn=20), Clock(turn=3)
    long, short, none = (decide(game, name, clock=clock).details["nodes"] for clock in clocks)
    assert long > short > none == 0


def test_a_search_knows_what_occurred_in_its_game(game, file, monkeypatch):
    player = make_player(f"alphazero:path={file},simulations=2", game)
    asked, search = [], player._search.search

    def spy(position, **limits):
        asked.append((position, tuple(limits["earlier"])))
        return search(position, **limits)

    monkeypatch.setattr(player._search, "search", spy)
    rng, position, passed = np.random.default_rng(0), game.initial, []
    for _ in range(3):
        after = game.apply(position, player.choose(position, rng, Clock()).action)
        assert asked[-1] == (position, tuple(passed))
        passed += [position, after]
        position = game.apply(after, int(game.legal_actions(after)[0]))
    player.choose(game.initial, rng, Clock())  # the next game
    assert asked[-1] == (game.initial, ())


def test_a_search_with_tables_keeps_the_value_whatever_the_network_says(tmp_path):
    game = make_game("capture_conquer", size=4)
    torch.manual_seed(0)
    file = tmp_path / "network.safetensors"
    save(file, Network(game, Size(blocks=1, channels=8)), game, {})
    names = f"alphazero:path={file}", f"alphazero:path={file},tables={SHIPPED}"
    tables = Tablebase(game)
    without, with_tables = (
        measure(make_player(name, game), tables, sample_uniform(tables, 60)) for name in names
    )
    assert with_tables.kept == 1 > without.kept


def test_it_plays_a_match_to_the_end(game, file):
    names = f"policy:path={file}", f"alphazero:path={file},simulations=8"
    played = play_match(game, [make_player(name, game) for name in names], names=names)
    assert played.reason in ("conquest", "capture", "blocked", "repetition", "max_turns")


def test_a_file_is_read_once_until_it_changes(game, file, tmp_path):
    copied = tmp_path / "other.safetensors"
    copied.write_bytes(file.read_bytes())
    first = load_evaluator(copied, game)
    assert load_evaluator(copied, make_game("capture_conquer")) is first
    save(copied, Network(game, Size(blocks=1, channels=8)), game, {})
    assert load_evaluator(copied, game) is not first


def test_weights_of_another_game_or_none_are_refused(game, file, tmp_path):
    with pytest.raises(BadCheckpoint, match=r"options is .* expected"):
        make_player(f"policy:path={file}", make_game("capture_conquer", size=5))
    with pytest.raises(BadCheckpoint, match="no such file"):
        make_player(f"policy:path={tmp_path / 'none'}", game)
    with pytest.raises(
        BadCheckpoint,
        match=r"weights for \S+ size=7, only for: cannon, capture_conquer, capture_conquer size=8",
    ):
        make_player("alphazero", make_game("capture_conquer", size=7))


def test_the_folder_of_a_run_will_do(game, file, tmp_path):
    (tmp_path / NETWORK).write_bytes(file.read_bytes())
    decisions = {decide(game, f"policy:path={path}").action for path in (tmp_path, file)}
    assert len(decisions) == 1


def test_bad_options_are_refused(game, file):
    for options, says in (
        ("simulations=0", "simulations=0; it is 1 or more"),
        ("seconds=-1", "seconds=-1; it is 0 or more"),
        ("batch=0", "batch=0; it is 1 or more"),
        ("device=cuda:7", "device='cuda:7'; this machine has: cpu"),
        ("depth=3", "has no option depth; it has: simulations, seconds"),
    ):
        with pytest.raises(BadOption, match=says):
            make_player(f"alphazero:path={file},{options}", game)


def test_they_are_in_the_table():
    assert {"policy", "alphazero", "ppo"} <= set(agents.PLAYERS)


def test_naming_them_does_not_import_torch():
    import subprocess
    import sys

    code = "import agents, sys; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_any_evaluation_will_do(game):
    def even(planes):
        count = len(planes), game.num_actions
        return np.zeros(count, np.float32), np.zeros(len(planes), np.float32)

    for player in (PolicyPlayer(game, even), AlphaZeroPlayer(game, even, simulations=5)):
        rng = np.random.default_rng(0)
        assert player.choose(game.initial, rng, Clock()).action in game.legal_actions(game.initial)
