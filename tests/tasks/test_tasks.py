"""Tasks in words: their keys, judges, splits and files."""

import json
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from cc_env.core.rules import ONGOING
from cc_env.errors import BadOption, BadRecord, UnknownOption
from cc_env.games.factory import make_game
from cc_env.puzzles import shipped_puzzles
from cc_env.puzzles.judge import Judge
from cc_env.puzzles.puzzle import PEOPLE, SETS
from cc_env.registry.catalogue import GAMES
from cc_env.tablebase.tablebase import Tablebase
from cc_env.tasks import Task, grade, make_tasks, read_tasks
from cc_env.tasks.generation import MAX_KEY_SHARE, canonical_text
from cc_env.tasks.task import BOARD, KINDS, LEGAL, PUZZLE, SPLITS, WINNER
from cc_env.text.board import board_text
from cc_env.text.turns import legal_turn_texts

# All games with their defaults, and those with tables.
SUBJECTS = [*((name, {}) for name in GAMES), *(("capture_conquer", {"size": n}) for n in (4, 5))]
SIZE_4 = "capture_conquer", {"size": 4}


@pytest.fixture(params=SUBJECTS, ids=lambda subject: f"{subject[0]}{[*subject[1].values()]}")
def game(request):
    name, options = request.param
    return make_game(name, **options)


def all_tasks(game, count):
    return [task for kind in KINDS for task in make_tasks(game, kind, count)]


def check_keys(game, count):
    """Check that the judge accepts each key, and refuses what differs from it."""
    for task in all_tasks(game, count):
        assert grade(task, task.solution) == 1.0, task
        assert grade(task, "") == 0.0
        for text in legal_turn_texts(game, task.position):
            accepts = task.kind in (PUZZLE, LEGAL) and text in task.key
            accepts &= task.kind == PUZZLE or len(task.key) == 1
            assert grade(task, f"<answer>{text}</answer>") == accepts, (task, text)


def puzzles_by_position(game):
    return {puzzle.position: puzzle for name in SETS for puzzle in shipped_puzzles(game, name)}


def check_puzzles(game, count):
    """Check that exactly the turns that are proven to solve a puzzle are accepted."""
    puzzles = puzzles_by_position(game)
    for task in make_tasks(game, PUZZLE, count):
        puzzle = puzzles[task.position]
        if puzzle.proof:
            winning = set(Judge(game, puzzle).winning_turns(puzzle.position, puzzle.turns))
        else:
            turns, tables = game.finished_turns(task.position), Tablebase(game)
            winning = {turn for turn, after in turns if tables.probe(after).value < 0}
        for turn in game.turns(task.position):
            text = game.turn_text(task.position, turn)
            assert grade(task, f"<turn>{text}</turn>") == (turn in winning), (task, text)


def check_winners(game, count):
    """Check that the number of turns in the key of a won position is the least possible one."""
    puzzles = shipped_puzzles(game, PEOPLE)
    for task in make_tasks(game, WINNER, count):
        winner, number = task.key[0].split()
        if game.players[game.to_move(task.position)] == winner:
            puzzle = replace(puzzles[0], position=task.position, task="win", turns=int(number))
            judge = Judge(game, puzzle)
            assert judge.turns_to_goal(task.position, int(number)) == int(number), task


def test_judge_accepts_keys_and_refuses_other_turns(game):
    check_keys(game, 12)


@pytest.mark.slow
def test_judge_accepts_every_key_and_refuses_other_turns(game):
    check_keys(game, 200)


def test_accepted_turns_of_puzzles_are_those_that_win(game):
    check_puzzles(game, 6)


@pytest.mark.slow
def test_accepted_turns_of_all_puzzles_are_those_that_win(game):
    check_puzzles(game, 1000)


def test_winners_of_puzzles_need_as_many_turns(game):
    if game.options.get("size") not in (4, 5):
        check_winners(game, 6)


@pytest.mark.slow
def test_winners_of_all_puzzles_need_as_many_turns(game):
    if game.options.get("size") not in (4, 5):
        check_winners(game, 1000)


def test_winners_of_tables_are_those_after_best_play():
    game = make_game("capture_conquer", size=4)
    tables, players, tasks = Tablebase(game), set(), make_tasks(game, WINNER, 30)
    for task in tasks:
        position, turns = task.position, [0, 0]
        players.add(game.to_move(position))
        while (actions := tables.probe(position).best) and task.key != ("draw",):
            turns[game.to_move(position)] += not game.mid_turn(position)
            position = game.apply(position, actions[0])
        winner = game.outcome(position)
        assert task.key == ("draw",) or task.key == (f"{game.players[winner]} {turns[winner]}",)
    assert players == {0, 1}


def neighboring_positions(game, position):
    """Yield the valid ongoing positions that differ in one field, such as the beads in hand."""
    for field, value in product(position._fields, (0, 1)):
        other = position._replace(**{field: np.uint64(value)})
        is_valid = game.is_valid(type(position)(*np.array(other)[:, np.newaxis])).all()
        is_state = field not in ("options", "shape", "size")
        if is_state and is_valid and game.outcome(other) == ONGOING:
            yield other


def test_positions_with_other_legal_turns_have_other_prompts(game):
    for task in make_tasks(game, LEGAL, 60):
        for position in neighboring_positions(game, task.position):
            key = tuple(dict.fromkeys(legal_turn_texts(game, position)))
            assert key == task.key or replace(task, position=position).prompt != task.prompt


def test_prompt_has_what_the_board_does_not_show():
    game = make_game("morris")
    task = make_tasks(game, LEGAL, 1)[0]
    for hands, remark in (("55", ", in hand: white 5, black 5"), ("00", "")):
        position = game.from_text(f"..........w...wbwbw.bb.. w {hands}")
        prompt = replace(task, position=position).prompt
        assert f"You are white (w). White to move{remark}.\n" in prompt


def test_splits_share_no_position_up_to_symmetry(game):
    positions = {split: set() for split in SPLITS}
    for task in all_tasks(game, 60):
        for symmetry in (None, *game.symmetries):
            position = symmetry.position(task.position) if symmetry else task.position
            positions[task.split].add(game.to_text(position))
    assert all(positions.values())
    assert not any(one & other for one, other in combinations(positions.values(), 2))


def test_positions_of_a_kind_differ_up_to_symmetry_and_exchange_of_players(game):
    for kind in KINDS:
        texts = [canonical_text(game, task.position) for task in make_tasks(game, kind, 60)]
        assert len(set(texts)) == len(texts)


def test_canonical_text_is_the_same_for_exchanged_players():
    game = make_game("capture_conquer")
    position = game.apply(game.initial, 6)
    exchanged = position._replace(player=1 - position.player)
    assert canonical_text(game, position) == canonical_text(game, exchanged)
    assert canonical_text(game, position) != canonical_text(game, game.initial)


def test_no_answer_is_frequent(game):
    for kind in (PUZZLE, LEGAL, BOARD, WINNER):
        tasks = make_tasks(game, kind, 60)
        keys = [task.key for task in tasks]
        assert all(keys.count(key) <= MAX_KEY_SHARE * 60 for key in keys)


def test_tasks_are_at_least_two_thousand():
    subjects = [make_game(name, **options) for name, options in SUBJECTS]
    assert sum(len(make_tasks(game, kind)) for game in subjects for kind in KINDS) >= 2000


def test_games_without_suitable_positions_have_no_tasks(monkeypatch):
    monkeypatch.setattr("cc_env.tasks.generation.MAX_LEGAL", 1)
    assert not make_tasks(make_game("morris"), LEGAL, 1)
    assert not make_tasks(make_game("elsewhere.tictactoe"), PUZZLE, 1)


def test_same_seed_gives_the_same_tasks(game):
    for kind in KINDS:
        lines = [[t.to_json() for t in make_tasks(game, kind, 5, seed=n)] for n in (1, 1, 2)]
        assert lines[0] == lines[1]
        assert not lines[0] or lines[0] != lines[2]


def legal_task(**changes):
    return replace(make_tasks(make_game("capture_conquer", size=4), LEGAL, 1)[0], **changes)


@pytest.mark.parametrize("separator", ["; ", ";", ", ", ",", "\n", ";\n", ",\n"])
def test_legal_turns_have_any_separator(separator):
    task = legal_task()
    assert grade(task, f"All: <answer>{separator.join(reversed(task.key))}</answer>") == 1.0


def test_legal_turns_have_any_notation():
    task = legal_task()
    texts = [task.game.turn_text(task.position, t) for t in task.game.turns(task.position)]
    assert grade(task, f"<answer>{', '.join(texts)}</answer>") == 1.0


@pytest.mark.parametrize(
    "change",
    [
        lambda key: key[1:],
        lambda key: (*key, key[0]),
        lambda key: (*key[1:], key[1]),
        lambda key: (*key[1:], "a1-a1"),
        lambda key: (*key, "a1-a1"),
    ],
    ids=["missing", "added twice", "twice instead", "illegal instead", "illegal added"],
)
def test_incomplete_or_wrong_lists_are_refused(change):
    task = legal_task()
    assert grade(task, f"<answer>{'; '.join(change(task.key))}</answer>") == 0.0


def test_boards_need_all_pieces_but_no_exact_spaces():
    task = make_tasks(make_game("checkers"), BOARD, 1)[0]
    (board,) = task.key
    assert grade(task, "<answer>\n{}\n</answer>".format(board.replace(" ", "  "))) == 1.0
    assert grade(task, board) == 0.0
    assert grade(task, f"<answer>{board.replace('.', 'x', 1)}</answer>") == 0.0


def test_unchanged_boards_are_wrong(game):
    for task in make_tasks(game, BOARD, 60):
        board = board_text(game, task.position, game.to_move(task.position))
        assert grade(task, f"<answer>{board}</answer>") == 0.0


def test_last_answer_counts():
    task = make_tasks(make_game("capture_conquer"), WINNER, 1)[0]
    assert grade(task, f"<answer>draw</answer> or {task.solution}") == 1.0
    assert grade(task, f"{task.solution} or <answer>draw</answer>") == 0.0


def test_reply_must_be_a_string():
    with pytest.raises(BadOption, match="reply=None"):
        grade(legal_task(), None)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [(("who",), {}), ((LEGAL, 0), {}), ((LEGAL, "1"), {}), ((LEGAL, 1), {"seed": -1})],
)
def test_invalid_arguments_are_refused(arguments, options):
    with pytest.raises(BadOption if arguments[0] == LEGAL else UnknownOption):
        make_tasks(make_game("capture_conquer", size=4), *arguments, **options)


def test_files_contain_all_of_a_task(game, tmp_path):
    path, tasks = tmp_path / "tasks.jsonl", all_tasks(game, 3)
    path.write_text("".join(task.to_json() + "\n" for task in tasks), "utf-8")
    read = list(read_tasks(path))
    assert [task.to_json() for task in read] == [task.to_json() for task in tasks]
    assert all(isinstance(task, Task) and grade(task, task.solution) == 1.0 for task in read)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "essay"}, "essay"),
        ({"game": "chess"}, "chess"),
        ({"game": "os"}, "os"),
        ({"options": {"size": 99}}, "99"),
        ({"options": 3}, "options: 3; expected: an object"),
        ({"options": []}, r"options: \[\]; expected: an object"),
        ({"position": "b"}, "b"),
        ({"question": None}, "None"),
        ({"key": []}, "key"),
        ({"key": [1]}, "key"),
        ({"kind": PUZZLE, "key": ["a1-a1"]}, "a1-a1"),
        ({"kind": BOARD, "key": ["one", "two"]}, "2 texts"),
        ({"split": "exam"}, "exam"),
    ],
)
def test_broken_lines_are_refused_with_their_number(changes, message, tmp_path):
    path, task = tmp_path / "tasks.jsonl", legal_task()
    good = json.loads(task.to_json())
    path.write_text(f"{json.dumps(good)}\n{json.dumps(good | changes)}\n")
    with pytest.raises(BadRecord, match=f"line 2.*{message}"):
        list(read_tasks(path))


def test_file_of_something_else_is_refused_with_the_missing_fields(tmp_path):
    path = tmp_path / "puzzles.jsonl"
    path.write_text('{"position": "x", "question": "?"}')
    with pytest.raises(BadRecord, match="line 1: it has no kind, game, options, key, split"):
        list(read_tasks(path))


@pytest.mark.parametrize("line", ["[]", "3", "{}", "{", '"a"', "[" * 100_000])
def test_other_json_is_refused(line, tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(line)
    with pytest.raises(BadRecord, match="line 1"):
        list(read_tasks(path))
