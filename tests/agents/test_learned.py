"""Learned players: policies and tree searches."""

import numpy as np
import pytest
import torch

import agents
from agents.evaluator import load_evaluator
from agents.network import Network, load, save
from agents.network_players import AlphaZeroPlayer, PolicyPlayer, predict
from agents.network_weights import Size
from agents.shipped_weights import NETWORK
from cc_env.accuracy.decisions import measure, sample_uniform
from cc_env.errors import BadCheckpoint, BadOption
from cc_env.games.factory import make_game
from cc_env.learned_evaluation.network_file import short_hash
from cc_env.match.referee import Clock, play_match
from cc_env.players.specs import make_player
from cc_env.tablebase.tablebase import SHIPPED, Tablebase

# Positions, and turns that lead back to them.
CYCLES = {
    "capture_conquer": ("b5/b5/6/6/5r/5r b", ("0,0-2,0", "5,5-3,5", "2,0-0,0", "3,5-5,5")),
    "checkers": ("6B1/8/8/8/8/8/8/1R6 r", ("71-60", "06-17", "60-71", "17-06")),
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


def averaged_logits(game, file, position):
    """Return each legal action's mean logit over both mirror images, and both values."""
    (mirror,) = game.symmetries
    image = game.make_position(mirror.position(position))
    planes = np.stack([game.observe(position), game.observe(image)])
    logits, values = load_evaluator(file, game)(planes)
    legal = game.legal_actions(position).tolist()
    return {
        action: (logits[0, action] + logits[1, mirror.actions[action]]) / 2 for action in legal
    }, values


def test_policy_takes_the_legal_action_with_the_highest_logit(game, file):
    position = game.from_text("bb4/b2bb1/1b1r2/2r2r/4rr/3r1r b")
    logits, values = averaged_logits(game, file, position)
    decision = decide(game, f"policy:path={file}", position)
    assert decision.action == max(logits, key=logits.get)
    assert decision.value == pytest.approx(sum(values) / 2)


@pytest.mark.parametrize("kind", ["policy", "ppo"])
def test_ppo_networks_evaluate_no_symmetric_images(game, file, tmp_path, kind):
    """PPO trains on no mirror images; averaging over them made its players weaker."""
    position = game.from_text("bb4/b2bb1/1b1r2/2r2r/4rr/3r1r b")
    (logits,), (value,) = load_evaluator(file, game)(game.observe(position)[np.newaxis])
    path = tmp_path / "ppo.safetensors"
    save(path, load(file, game)[0], game, {"trained": "ppo"})
    decision = decide(game, f"{kind}:path={path}", position)
    legal = game.legal_actions(position).tolist()
    assert decision.action == max(legal, key=lambda action: logits[action])
    assert decision.value == pytest.approx(value)
    # PPO that started from weights of another algorithm.
    started = tmp_path / "started.safetensors"
    save(started, load(file, game)[0], game, {"trained": "ppo", "config": {"start": "runs/first"}})
    assert load_evaluator(started, game).mirrored
    about = {"trained": "ppo", "mirrored": False, "config": {"start": "runs/ppo"}}
    save(path, load(file, game)[0], game, about)
    assert not load_evaluator(path, game).mirrored


@pytest.mark.parametrize(
    ("contempt", "value", "repeats"),
    [(0.0, 0.01, False), (0.0, 0.0, True), (0.25, -0.2, False), (0.25, -0.3, True)],
)
@pytest.mark.parametrize("name", CYCLES)
def test_policy_repeats_positions_only_at_low_values(name, contempt, value, repeats):
    game, (text, cycle) = make_game(name), CYCLES[name]
    start = position = game.from_text(text)
    preferred_actions = {}
    for turn in cycle:
        (action,) = game.parse_turn(position, turn)
        preferred_actions[game.observe(position).tobytes()] = action
        position = game.apply(position, action)
    assert game.key(position) == game.key(start)

    def evaluate(planes):
        logits = np.zeros((len(planes), game.num_actions), np.float32)
        for row, board in zip(logits, planes, strict=True):
            row[preferred_actions.get(board.tobytes(), 0)] = 9
        return logits, np.full(len(planes), value, np.float32)

    player, rng = PolicyPlayer(game, evaluate, contempt=contempt), np.random.default_rng(0)
    for turn in cycle:
        if game.to_move(position) == 0:
            assert (
                player.choose(position, rng, Clock()).action == game.parse_turn(position, turn)[0]
            )
        position = game.play_turn(position, game.parse_turn(position, turn))
    again = player.choose(position, rng, Clock()).action
    assert (again == game.parse_turn(position, cycle[0])[0]) == repeats


def test_prediction_covers_the_legal_actions(game, file):
    position = game.from_text("bb4/b2bb1/1b1r2/2r2r/4rr/3r1r b")
    probabilities, value = predict(game, load_evaluator(file, game), position)
    logits, values = averaged_logits(game, file, position)
    assert list(probabilities) == list(logits)
    assert sum(probabilities.values()) == pytest.approx(1)
    first, second, *_ = probabilities
    odds = np.exp(logits[first] - logits[second])
    assert probabilities[first] / probabilities[second] == pytest.approx(odds, rel=1e-5)
    assert value == pytest.approx(sum(values) / 2)


def test_search_reports_statistics(game, file):
    decision = decide(game, f"alphazero:path={file},simulations=100")
    assert decision.details["nodes"] == 100
    assert sum(visits for _, visits in decision.details["visits"]) == 100
    assert decide(game, f"alphazero:path={file}").details["nodes"] == 64


def test_leaves_are_searched_with_an_evaluation(game, file):
    start = game.initial, np.random.default_rng(0), Clock()
    players = [
        make_player(f"alphazero:simulations=50,path={file}{options}", game)
        for options in ("", ",evaluation=learned", ",evaluation=standard")
    ]
    assert len({player.choose(*start).value for player in players}) == 3
    network, learned, standard = (player.fingerprint for player in players)
    assert network == standard
    assert learned == f"{network}-{short_hash(game.evaluation('learned'))}"


def test_search_finds_a_win(game, file):
    position = game.from_text("6/6/2b3/3r2/6/b4r b")
    decision = decide(game, f"alphazero:path={file},simulations=1", position)
    assert game.outcome(game.apply(position, decision.action)) == 0
    assert decision.value == 1


def test_search_respects_its_time_and_the_clock(game, file, stopwatch):
    # Every reading of the clock takes a second.
    stopwatch(tick=1)
    name = f"alphazero:path={file},seconds=30"
    clocks = Clock(), Clock(turn=20), Clock(turn=3)
    long, short, none = (decide(game, name, clock=clock).details["nodes"] for clock in clocks)
    assert long > short > none == 0


def test_search_receives_the_game_history(game, file, monkeypatch):
    player = make_player(f"alphazero:path={file},simulations=2", game)
    searches, search = [], player._search.search

    def record_search(position, **limits):
        searches.append((position, tuple(limits["earlier"])))
        return search(position, **limits)

    monkeypatch.setattr(player._search, "search", record_search)
    rng, position, history = np.random.default_rng(0), game.initial, []
    for _ in range(3):
        after = game.apply(position, player.choose(position, rng, Clock()).action)
        assert searches[-1] == (position, tuple(history))
        history += [position, after]
        position = game.apply(after, int(game.legal_actions(after)[0]))
    player.choose(game.initial, rng, Clock())
    assert searches[-1] == (game.initial, ())


def test_search_with_tables_keeps_the_exact_value(tmp_path):
    game = make_game("capture_conquer", size=4)
    torch.manual_seed(0)
    file = tmp_path / "network.safetensors"
    save(file, Network(game, Size(blocks=1, channels=8)), game, {})
    name = f"alphazero:path={file},simulations=16"
    names = name, f"{name},tables={SHIPPED}"
    tables = Tablebase(game)
    without, with_tables = (
        measure(make_player(name, game), tables, sample_uniform(tables, 100)) for name in names
    )
    assert with_tables.kept.value == 1 > without.kept.value


def test_learned_players_finish_a_match(game, file):
    names = f"policy:path={file}", f"alphazero:path={file},simulations=8"
    record = play_match(game, [make_player(name, game) for name in names], names=names)
    assert record.reason in ("conquest", "capture", "blocked", "repetition", "max_turns")


def test_weights_file_is_cached_until_it_changes(game, file, tmp_path):
    copy = tmp_path / "other.safetensors"
    copy.write_bytes(file.read_bytes())
    first = load_evaluator(copy, game)
    assert load_evaluator(copy, make_game("capture_conquer")) is first
    save(copy, Network(game, Size(blocks=1, channels=8)), game, {})
    assert load_evaluator(copy, game) is not first


def test_missing_or_foreign_weights_are_rejected(game, file, tmp_path):
    with pytest.raises(BadCheckpoint, match=r"options is .* expected"):
        make_player(f"policy:path={file}", make_game("capture_conquer", size=5))
    with pytest.raises(BadCheckpoint, match="no such file"):
        make_player(f"policy:path={tmp_path / 'none'}", game)
    with pytest.raises(
        BadCheckpoint,
        match=r"weights for \S+ size=7, only for: cannon, capture_conquer, capture_conquer size=5",
    ):
        make_player("alphazero", make_game("capture_conquer", size=7))
    advice = "train some with `cc_env train-alphazero` and use policy:path=FOLDER"
    with pytest.raises(BadCheckpoint, match=advice):
        make_player("policy", make_game("capture_conquer", size=7))


def test_run_folder_is_a_valid_path(game, file, tmp_path):
    (tmp_path / NETWORK).write_bytes(file.read_bytes())
    decisions = {decide(game, f"policy:path={path}").action for path in (tmp_path, file)}
    assert len(decisions) == 1


def test_bad_options_are_rejected(game, file):
    for options, message in (
        ("simulations=0", "simulations=0; expected: an integer, 1 or more"),
        ("seconds=-1", "seconds=-1; expected: 0 or more"),
        ("batch=0", "batch=0; expected: an integer, 1 or more"),
        ("evaluation=best", "no evaluation 'best'"),
        ("device=cuda:7", "device='cuda:7'; this machine has: cpu"),
        ("depth=3", "has no option depth; if it is part of path, quote the value: path="),
    ):
        with pytest.raises(BadOption, match=message):
            make_player(f"alphazero:path={file},{options}", game)


def test_learned_players_are_registered():
    assert {"policy", "alphazero", "ppo"} <= set(agents.PLAYERS)


def test_registration_does_not_import_torch():
    import subprocess
    import sys

    code = "import agents, sys; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_players_accept_any_evaluation_function(game):
    def evaluate(planes):
        count = len(planes), game.num_actions
        return np.zeros(count, np.float32), np.zeros(len(planes), np.float32)

    for player in (PolicyPlayer(game, evaluate), AlphaZeroPlayer(game, evaluate, simulations=5)):
        rng = np.random.default_rng(0)
        assert player.choose(game.initial, rng, Clock()).action in game.legal_actions(game.initial)
