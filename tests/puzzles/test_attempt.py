"""Attempts to solve puzzles, the share that a player solves, and the terminal."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import command_line

from cc_env.__main__ import main
from cc_env.core.rules import ONGOING
from cc_env.errors import BadOption, BadRecord, Forfeit, IllegalAction, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.referee import Decision
from cc_env.play import reasons
from cc_env.puzzles import Attempt, shipped_puzzles, solve_rate
from cc_env.puzzles.judge import Judge
from cc_env.puzzles.puzzle import HARD, Puzzle, puzzle_path, read_puzzles, write_lines

GAME = make_game("capture_conquer")
PUZZLES = shipped_puzzles(GAME)
LONG = next(puzzle for puzzle in PUZZLES if puzzle.turns == 3)
LINE = {
    "position": "3b2/5r/b1r3/r2rb1/6/6 r",
    "task": "win",
    "turns": 2,
    "solutions": ["3,0-1,0x2,0"],
    "proof": "1 2 3",
    "themes": ["capture"],
    "failing_rungs": [1, 2],
}


def wrong_turn(puzzle):
    return next(t for t in GAME.turns(puzzle.position) if t not in puzzle.solutions)


class Solver:
    """A player that chooses solutions of a puzzle, by its judge."""

    def __init__(self, puzzle):
        self.puzzle, self.turns = puzzle, puzzle.turns
        self.judge = Judge(GAME, puzzle)
        self.rest = []

    def choose(self, position, rng, clock):
        if not self.rest:
            needed = self.judge.winning_turns(position, self.turns)
            self.rest = list(min(needed, key=needed.get))
            self.turns -= 1
        return Decision(self.rest.pop(0))


@pytest.mark.parametrize("puzzle", PUZZLES[::40], ids=lambda puzzle: str(puzzle.number))
def test_correct_turns_solve_a_puzzle_in_its_number_of_turns(puzzle):
    attempt = Attempt(GAME, puzzle)
    for turns_left in range(puzzle.turns, 0, -1):
        assert attempt.turns_left == turns_left
        verdict = attempt.play(attempt.solutions()[0])
        assert verdict.is_correct
        if verdict.is_solved:
            break
        assert verdict.reply is not None
        assert GAME.to_move(attempt.position) == GAME.to_move(puzzle.position)
    assert attempt.is_solved
    assert attempt.mistakes == 0
    with pytest.raises(BadOption, match="the puzzle is solved"):
        attempt.play(puzzle.solutions[0])


def test_every_solution_is_correct():
    puzzle = next(puzzle for puzzle in PUZZLES if len(puzzle.solutions) == 2)
    for turn in puzzle.solutions:
        assert Attempt(GAME, puzzle).play(turn).is_correct


def test_wrong_turn_is_refuted_and_leaves_the_position():
    attempt = Attempt(GAME, LONG)
    turn = wrong_turn(LONG)
    verdict = attempt.play(turn)
    assert not verdict.is_correct
    assert (attempt.position, attempt.mistakes, attempt.turns_left) == (LONG.position, 1, 3)
    answered = GAME.play_turn(GAME.play_turn(LONG.position, turn), verdict.reply)
    is_refuted = GAME.outcome(answered) != ONGOING or not Judge(GAME, LONG).winning_turns(
        answered, 2
    )
    assert is_refuted
    assert attempt.play(LONG.solutions[0]).is_correct


def test_only_one_whole_turn_is_judged():
    attempt = Attempt(GAME, LONG)
    turn = LONG.solutions[0]
    reply = next(GAME.turns(GAME.play_turn(LONG.position, turn)))
    for actions in ((), (*turn, *reply)):
        with pytest.raises(IllegalAction, match="is not one turn"):
            attempt.play(actions)
    assert attempt.position == LONG.position


def test_reply_holds_out_as_long_as_any():
    judge = Judge(GAME, LONG)
    after = GAME.play_turn(LONG.position, LONG.solutions[0])
    reply = judge.best_reply(after, 2)
    turns = [judge.turns_to_goal(GAME.play_turn(after, turn), 2) for turn in GAME.turns(after)]
    assert judge.turns_to_goal(GAME.play_turn(after, reply), 2) == max(turns)


def test_illegal_turn_is_an_error_and_no_mistake():
    attempt = Attempt(GAME, LONG)
    legal = GAME.legal_actions(LONG.position).tolist()
    illegal = next(action for action in range(GAME.num_actions) if action not in legal)
    with pytest.raises(IllegalAction):
        attempt.play((illegal,))
    assert attempt.mistakes == 0


def test_hint_names_the_piece():
    path, _ = GAME.track(LONG.position, LONG.solutions[0])
    assert Attempt(GAME, LONG).hint() == (
        f"3 turns left; begin at {GAME.cell_text(path[0], 'readable')}"
    )


def test_puzzle_without_a_proof_cannot_be_attempted():
    board = make_game("capture_conquer", size=4)
    with pytest.raises(BadOption, match="no proof"):
        Attempt(board, shipped_puzzles(board, HARD)[0])


def test_solver_solves_and_a_player_that_errs_does_not():
    for puzzle in PUZZLES[::60]:
        assert solve_rate(Solver(puzzle), GAME, [puzzle]).results[0].is_solved

    class Wrong(Solver):
        def choose(self, position, rng, clock):
            return Decision(wrong_turn(self.puzzle)[0])

    assert not solve_rate(Wrong(LONG), GAME, [LONG]).results[0].is_solved


def test_first_turn_alone_does_not_solve():
    class FirstOnly(Solver):
        def choose(self, position, rng, clock):
            if position == self.puzzle.position or self.rest:
                return super().choose(position, rng, clock)
            legal = Judge(GAME, self.puzzle).winning_turns(position, self.turns)
            return Decision(next(t for t in GAME.turns(position) if t not in legal)[0])

    assert not solve_rate(FirstOnly(LONG), GAME, [LONG]).results[0].is_solved


@pytest.mark.parametrize(("turns", "text"), [(1, "this turn"), (3, "in 3 turns")])
def test_task_is_described_in_words(turns, text):
    mover = GAME.players[GAME.to_move(LONG.position)]
    assert replace(LONG, turns=turns).describe_task(GAME) == f"{mover} to move wins {text}"


def test_task_of_a_capture_is_described_as_it_is_judged():
    game = make_game("morris")
    puzzle = next(each for each in shipped_puzzles(game) if each.task == "capture")
    mover, turns = game.players[game.to_move(puzzle.position)], puzzle.turns
    assert puzzle.describe_task(game) == (
        f"{mover} to move captures a piece in {turns} turns, before losing one"
    )
    assert reasons.describe_task(game, puzzle) == (
        f"{mover.capitalize()} to play and capture a bead in {turns} turns, before losing one"
    )


def test_rates_are_grouped_by_theme_turns_and_difficulty():
    rate = solve_rate("minimax:depth=3", GAME, PUZZLES[::5])
    assert rate.share.low < rate.share.value < rate.share.high
    assert sum(len(part.results) for part in rate.by_turns.values()) == len(rate.results)
    assert sum(len(part.results) for part in rate.by_difficulty.values()) == len(rate.results)
    for theme, part in rate.by_theme.items():
        assert all(theme in result.puzzle.themes for result in part.results)
    assert rate == solve_rate("minimax:depth=3", GAME, PUZZLES[::5])


def test_stronger_players_solve_more():
    shares = [
        solve_rate(spec, GAME, PUZZLES[::4]).share.value
        for spec in ("random", "minimax:depth=2", "minimax:depth=9")
    ]
    assert shares[0] < 0.2 < shares[1] < shares[2]
    assert shares[2] > 0.95


def test_workers_give_the_same_results():
    puzzles = [*PUZZLES[:6], *PUZZLES[:6]]
    alone = solve_rate("ladder:1", GAME, puzzles, seed=1)
    assert solve_rate("ladder:1", GAME, puzzles, seed=1, workers=2) == alone


def test_policy_functions_are_measured():
    def first(observation, info):
        return int(np.flatnonzero(info["action_mask"])[0])

    assert 0 <= solve_rate(first, GAME, PUZZLES[:10]).share.value <= 1


def test_player_that_forfeits_does_not_solve():
    class Silent:
        def choose(self, position, rng, clock):
            raise Forfeit("error", "no reply")

    rate = solve_rate(Silent(), GAME, [LONG])
    assert rate.share.value == 0
    assert rate.faults == ("error: no reply",)
    assert solve_rate("random", GAME, [LONG]).faults == ()


def test_no_puzzles_are_an_error():
    with pytest.raises(BadOption, match="there are no puzzles"):
        solve_rate("random", GAME, [])
    assert shipped_puzzles(make_game("capture_conquer", size=4)) == []
    with pytest.raises(UnknownOption, match="easy"):
        shipped_puzzles(GAME, "easy")


def test_files_are_written_as_they_are_read(tmp_path):
    path = tmp_path / "puzzles.jsonl"
    path.write_text(write_lines(PUZZLES[:20], GAME))
    assert read_puzzles(path, GAME) == PUZZLES[:20]
    path.write_text(json.dumps(LINE))
    (puzzle,) = read_puzzles(path, GAME)
    assert puzzle.to_json(GAME) == LINE
    assert isinstance(puzzle, Puzzle)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"position": "3b2/5r/b1r3/r2rb1/6/6 x"}, "3b2/5r"),
        ({"position": "b5/6/6/6/6/5b r"}, "not at the beginning of a turn"),
        ({"task": "draw"}, "draw"),
        ({"turns": 0}, "turns=0"),
        ({"turns": "2"}, "turns='2'"),
        ({"solutions": []}, "solutions: []"),
        ({"solutions": "3,0-1,0x2,0"}, "expected: a list of turns"),
        ({"solutions": ["0,0-5,5"]}, "'0,0-5,5' is not legal"),
        ({"themes": ["conquest"]}, "conquest"),
        ({"proof": [1, 2]}, "proof: [1, 2]; expected: a text of numbers"),
        ({"proof": "1 x"}, "proof: '1 x'; expected: a text of numbers"),
        ({"proof": "-1"}, "proof: '-1'; expected: a text of numbers"),
        ({"proof": "9" * 5000}, "expected: a text of numbers"),
        ({"themes": ["luck"]}, "unknown theme 'luck'"),
        ({"themes": "quiet"}, "themes: 'quiet'; expected: a list"),
        ({"themes": 3}, "themes: 3; expected: a list"),
        ({"themes": ["quiet", "quiet"]}, "expected: different values"),
        ({"themes": [["quiet"]]}, "unknown theme"),
        ({"failing_rungs": [0]}, "failing_rungs=0"),
        ({"failing_rungs": [99]}, "failing_rungs=99; expected: an integer, 1 to 8"),
        ({"failing_rungs": 5}, "failing_rungs: 5; expected: a list"),
        ({"failing_rungs": [3, 3]}, "failing_rungs: [3, 3]; expected: different values"),
        ({"missed_depth": -1}, "missed_depth=-1"),
    ],
)
def test_invalid_line_is_rejected_with_its_number(tmp_path, change, expected):
    path = tmp_path / "puzzles.jsonl"
    path.write_text(f"{json.dumps(LINE)}\n{json.dumps(LINE | change)}\n")
    with pytest.raises(BadRecord, match=r"puzzles\.jsonl, line 2: ") as refused:
        read_puzzles(path, GAME)
    assert expected in str(refused.value)


@pytest.mark.parametrize("name", ["position", "task", "turns", "solutions"])
def test_line_without_a_field_is_rejected(tmp_path, name):
    path = tmp_path / "puzzles.jsonl"
    path.write_text(json.dumps({key: value for key, value in LINE.items() if key != name}))
    with pytest.raises(BadRecord, match=rf"puzzles\.jsonl, line 1: it has no {name}"):
        read_puzzles(path, GAME)


# The terminal


def solve_in_terminal(monkeypatch, lines, *arguments):
    answers = iter(lines)

    def read(prompt):
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("cc_env.cli.puzzle_commands.line_reader", lambda: read)
    return command_line(main, "puzzle", *arguments)


def test_puzzle_is_solved_in_the_terminal(monkeypatch):
    puzzle = next(p for p in PUZZLES if p.turns == 2)
    attempt, lines = Attempt(GAME, puzzle), ["help"]
    while not attempt.is_solved:
        turn = attempt.solutions()[0]
        lines.append(GAME.readable_turn_text(attempt.position, turn))
        attempt.play(turn)
    output = solve_in_terminal(monkeypatch, lines, puzzle.number)
    assert f"puzzle {puzzle.number}: {reasons.describe_task(GAME, puzzle)}" in output
    assert all(f"{text} is correct" in output for text in lines[1:])
    assert "solved; " in output
    assert "solved at the first try: 1 of 2 puzzles" in output


def test_terminal_gives_hints_refutes_and_goes_on(monkeypatch):
    puzzle = PUZZLES[0]
    wrong = GAME.readable_turn_text(puzzle.position, wrong_turn(puzzle))
    lines = [wrong.replace("-", " "), "hint", "solution", "nonsense", "next", "quit"]
    output = solve_in_terminal(monkeypatch, lines, 1)
    assert f"{wrong} does not force the win" in output
    begin, _ = GAME.track(puzzle.position, puzzle.solutions[0])
    name = GAME.cell_text(begin[0], "readable")
    assert f"turns left; begin at {name}\n" in output
    assert f"correct: {GAME.readable_turn_text(puzzle.position, puzzle.solutions[0])}" in output
    assert re.search(r"error: 'nonsense' is not legal; legal: [a-f]\d", output)
    assert "puzzle 2: " in output
    assert "solved at the first try: 0 of 2 puzzles" in output


def test_puzzles_are_selected_by_theme_and_turns(monkeypatch):
    output = solve_in_terminal(
        monkeypatch, ["next"] * 3, "--theme", "quiet", "--turns", 3, "--seed", 1
    )
    numbers = [int(line.split()[1][:-1]) for line in output.splitlines() if line[:7] == "puzzle "]
    assert len(numbers) == 4
    for number in numbers:
        assert "quiet" in PUZZLES[number - 1].themes
        assert PUZZLES[number - 1].turns == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--theme", "luck"], "luck"),
        (["--turns", 40], "turns=40; expected: 2 or 3 or 4 or 5"),
        (["330", "--turns", 2], "puzzle 330 has: 5 turns, "),
        (["330", "--turns", 2], "the last one with these options is 224"),
        (
            ["--size", 4],
            "there are no puzzles of capture_conquer with size=4; there are puzzles of: cannon, ",
        ),
        (["9999"], "number=9999; expected: an integer, 1 to 330"),
        (["0"], "greater than or equal to 1"),
        (["--seed", -1], "greater than or equal to 0"),
    ],
)
def test_terminal_rejects_what_does_not_exist(arguments, expected):
    assert expected in command_line(main, "puzzle", *arguments, status=2, columns=300)


def test_solve_rate_command_checks_proofs_and_prints_groups(tmp_path):
    path = tmp_path / "few.jsonl"
    path.write_text(write_lines(PUZZLES[:5], GAME))
    output = command_line(main, "solve-rate", "greedy", "--file", path, "--check")
    assert "all 5 proofs are valid" in output
    assert "theme " in output


@pytest.fixture
def altered_file(tmp_path):
    """Return a function that writes a file whose second puzzle is altered."""

    def write(change):
        path = tmp_path / "few.jsonl"
        puzzle = next(p for p in PUZZLES[1:] if len(p.solutions) == 2 and p.turns == 2)
        path.write_text(write_lines([PUZZLES[0], change(puzzle)], GAME))
        return path

    return write


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda p: replace(p, proof=(9999, *p.proof)), "line 2: the proof has the turn 9999"),
        (lambda p: replace(p, proof=p.proof[:-1]), "line 2: the proof has no turn in '"),
        (lambda p: replace(p, proof=()), "line 2: the proof is missing"),
    ],
)
@pytest.mark.parametrize("command", [("solve-rate", "greedy"), ("puzzle",)])
def test_file_with_an_altered_proof_is_rejected(altered_file, command, change, expected):
    path = altered_file(change)
    output = command_line(main, *command, "--file", path, status=2, columns=300)
    assert f"{path}, {expected}" in output


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda p: replace(p, proof=(9999, *p.proof)), "line 2: the proof has the turn 9999"),
        (lambda p: replace(p, solutions=p.solutions[:1]), "line 2: the solutions are: "),
        (lambda p: replace(p, turns=p.turns + 1), "line 2: turns=3: fewer suffice"),
        (lambda p: PUZZLES[0], "puzzle 2: the position is that of 1"),
    ],
)
def test_check_names_the_first_invalid_puzzle(altered_file, change, expected):
    command = "solve-rate", "greedy", "--file", altered_file(change), "--check"
    assert expected in command_line(main, *command, status=2, columns=300)


def test_empty_file_is_an_error(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    assert "there are no puzzles" in command_line(main, "puzzle", "--file", path, status=2)


def test_wrong_puzzle_has_no_hint():
    impossible = replace(LONG, turns=1)
    with pytest.raises(BadRecord, match="nothing forces the goal within 1 turn"):
        Attempt(GAME, impossible).hint()


def test_capture_is_no_task_of_games_without_numbered_positions(tmp_path):
    path = tmp_path / "cannon.jsonl"
    game = make_game("cannon")
    turn = next(iter(game.turns(game.initial)))
    line = Puzzle(game.initial, "capture", 2, (turn,))
    path.write_text(write_lines([line], game))
    with pytest.raises(BadRecord, match="task 'capture' in cannon; expected: 'win'"):
        read_puzzles(path, game)


def test_name_of_a_file_has_the_options_that_matter(tmp_path):
    five = make_game("capture_conquer", size=5, corner=3)
    assert puzzle_path(tmp_path, five, HARD).name == "capture_conquer-size=5.hard.puzzles.jsonl"
    assert "corner=3" in puzzle_path(tmp_path, five, "people").name
