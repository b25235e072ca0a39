"""The search for puzzles in games between opponents of a ladder."""

import json
from functools import partial

import pytest
from conftest import command_line

from cc_env.cli.application import run
from cc_env.games.factory import make_game
from cc_env.puzzles.judge import check_puzzle
from cc_env.puzzles.proof import check_proof
from cc_env.puzzles.puzzle import Puzzle, read_puzzles
from training.experiments import puzzles as mining
from training.experiments.puzzles import Miner, canonical_text, mine_games, select

GAME = make_game("mini_checkers")
GAMES = 80
# Morris: a win in one turn among many moves.
EASY = ".bw..b.ww...b.b.bwbbb.bw b 00 fb"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("mined") / "part"
    return mine_games(Miner(GAME, ["win"]), GAMES, 0, path)


def test_mined_puzzles_have_proofs_and_plausible_alternatives(found):
    assert len(found) >= 3
    for puzzle in found:
        check_proof(GAME, puzzle)
        assert mining.MIN_TURNS <= puzzle.turns <= mining.MAX_TURNS
        assert len(list(GAME.turns(puzzle.position))) > mining.MIN_ALTERNATIVES


def test_interrupted_mining_resumes_with_the_same_puzzles(found, tmp_path):
    path = tmp_path / "part"
    mine_games(Miner(GAME, ["win"]), GAMES // 2, 0, path)
    with path.open("a") as file:
        file.write('{"number": ')
    assert mine_games(Miner(GAME, ["win"]), GAMES, 0, path) == found


def test_seeds_give_different_puzzles(found, tmp_path):
    assert mine_games(Miner(GAME, ["win"]), GAMES, 1, tmp_path / "part") != found


def test_progress_that_was_altered_is_rejected(tmp_path):
    path = tmp_path / "part"
    miner = Miner(GAME, ["win"])
    mine_games(miner, 2, 0, path)
    settings, first, second = path.read_text().splitlines()
    path.write_text(f"{settings}\n{second}\n{first}\n")
    with pytest.raises(mining.BadRecord, match="line 2: game 1; expected: 0"):
        mine_games(miner, 2, 0, path)
    path.write_text(f"{settings}\n[]\n")
    with pytest.raises(mining.BadRecord, match="line 2"):
        mine_games(miner, 2, 0, path)


@pytest.mark.parametrize(
    ("name", "tasks", "one_turn", "seed"),
    [
        ("checkers", ["win"], False, 0),
        ("mini_checkers", ["capture"], False, 0),
        ("mini_checkers", ["win"], True, 0),
        ("mini_checkers", ["win"], False, 1),
    ],
)
def test_progress_of_another_search_is_rejected(tmp_path, name, tasks, one_turn, seed):
    path = tmp_path / "part"
    mine_games(Miner(GAME, ["win"]), 1, 0, path)
    miner = Miner(make_game(name), tasks, one_turn=one_turn)
    with pytest.raises(mining.BadRecord, match="line 1: another search"):
        mine_games(miner, 2, seed, path)


def test_selection_is_distinct_ordered_and_balanced(found):
    by_difficulty = {len(puzzle.failing_rungs) for puzzle in found}
    chosen = select(GAME, [*found, *found], len(by_difficulty))
    assert [len(puzzle.failing_rungs) for puzzle in chosen] == sorted(by_difficulty)
    everything = select(GAME, [*found, *found], 1000)
    texts = {canonical_text(GAME, puzzle.position) for puzzle in everything}
    assert len(texts) == len(everything)


def test_symmetric_positions_have_one_text():
    game = make_game("capture_conquer")
    position = game.play_turn(game.initial, list(game.turns(game.initial))[1])
    (symmetry,) = game.symmetries
    assert game.to_text(symmetry.position(position)) != game.to_text(position)
    assert canonical_text(game, symmetry.position(position)) == canonical_text(game, position)


def test_command_writes_a_file_of_puzzles(tmp_path):
    path = tmp_path / "puzzles.jsonl"
    command = "-g", "mini_checkers", "--games", 60, "--number", 2, "--out", path
    output = command_line(partial(run, mining.app), *command)
    assert f"{path}: 2 of " in output.replace("\n", "")
    assert len(read_puzzles(path, GAME)) == 2
    assert json.loads(path.read_text().splitlines()[0])["task"] == "win"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "draw"], "error: unknown task 'draw'"),
        (["--out", "nowhere/x"], "error: nowhere/x: there is no folder nowhere"),
        (["-g", "cannon", "--task", "capture"], "error: task 'capture' in cannon; expected: 'win'"),
    ],
)
def test_command_rejects_bad_input_before_it_plays(monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert command_line(partial(run, mining.app), *arguments, status=2).startswith(message)
    assert not list(tmp_path.iterdir())


class ScriptedMiner(Miner):
    """A miner for which every move of the first player has a known number of turns to the goal."""

    def __init__(self, turns_to_goal):
        super().__init__(GAME, ["win"])
        self.searched = []
        self.turns_to_goal = turns_to_goal

    def _turns_to_goal(self, position, task):
        self.searched.append(position)
        return self.turns_to_goal.get(position)

    def _make_puzzle(self, position, task, turns):
        yield Puzzle(position, task, turns, ())


def game_positions(count):
    """Return successive positions of a game that is long enough."""
    positions = [GAME.initial]
    while len(positions) < count:
        last = positions[-1]
        positions.append(GAME.play_turn(last, next(iter(GAME.turns(last)))))
    return positions


@pytest.mark.parametrize("second", [2, 3, 4])
def test_combination_after_the_skipped_turns_counts_whatever_its_length(second):
    positions = game_positions(12)
    miner = ScriptedMiner({positions[0]: 3, positions[2]: 5, positions[10]: second})
    found = list(miner.mine_positions(positions))
    assert [puzzle.position for puzzle in found] == [positions[0], positions[10]]
    assert miner.searched == [positions[0], positions[10]]


def test_only_the_first_position_of_a_combination_counts():
    positions = game_positions(12)
    miner = ScriptedMiner({positions[1]: 3, positions[3]: 2})
    miner._make_puzzle = lambda position, task, turns: (
        [Puzzle(position, task, turns, ())] if turns < 3 else []
    )
    assert list(miner.mine_positions(positions)) == []


@pytest.fixture(scope="module")
def morris():
    return make_game("morris")


@pytest.mark.parametrize("one_turn", [False, True])
def test_wins_in_one_turn_are_puzzles_on_request(monkeypatch, morris, one_turn):
    last = morris.from_text(EASY)
    miner = Miner(morris, ["win"], one_turn=one_turn)
    monkeypatch.setattr(miner, "_positions", lambda record: [last])
    puzzles = list(miner.mine_game((0, 0)))
    assert [puzzle.turns for puzzle in puzzles] == [1] * one_turn
    for puzzle in puzzles:
        # A mill removes any of the beads.
        assert len({turn[0] for turn in puzzle.solutions}) <= mining.MAX_SOLUTIONS
        assert len(puzzle.solutions) > mining.MAX_SOLUTIONS
        assert puzzle.failing_rungs == (1,)
        check_puzzle(morris, puzzle)


def test_command_adds_wins_in_one_turn_of_some_games(monkeypatch, tmp_path, morris):
    monkeypatch.setattr(Miner, "_positions", lambda *_: [morris.from_text(EASY)])
    path = tmp_path / "puzzles.jsonl"
    command = "-g", "morris", "--games", 1, "--one-turn", 2, "--out", path
    output = command_line(partial(run, mining.app), *command)
    # The same position.
    assert f"{path}: 1 of 2 puzzles" in output.replace("\n", "")
    assert [puzzle.turns for puzzle in read_puzzles(path, morris)] == [1]


def test_last_turn_that_does_not_win_is_no_puzzle(monkeypatch, morris):
    miner = Miner(morris, ["win"], one_turn=True)
    monkeypatch.setattr(miner, "_positions", lambda record: [morris.initial])
    assert list(miner.mine_game((0, 0))) == []


def test_captures_by_force_are_found_in_morris(morris):
    puzzles = list(Miner(morris, ["capture"]).mine_game((0, 10)))
    assert puzzles
    for puzzle in puzzles:
        assert puzzle.task == "capture"
        check_proof(morris, puzzle)
