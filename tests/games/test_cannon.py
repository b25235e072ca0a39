"""Cannon: worked examples, recorded positions and games, counts, scores, options."""

import contextlib
import gzip
import itertools
import json

import gymnasium
import numpy as np
import pytest
from conftest import ORACLE

from cc_env.core.game import PlayedGame
from cc_env.core.grid import Grid
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.errors import BadOption, BadPosition, BadRecord, IllegalAction
from cc_env.games.cannon import bots, log
from cc_env.games.cannon.evaluation import STANDARD
from cc_env.games.factory import make_game
from cc_env.match.match import RESIGNED, Limits, Match
from cc_env.match.random_games import play_random_games
from cc_env.match.record import export_match, replay_foreign, valid_games
from cc_env.verification.perft import perft
from training.experiments import tune

RECORDED = ORACLE / "cannon.jsonl.gz"
# The cells of halls as xy.
HALLS = {"B": "17 37 57 77", "W": "00 20 40 60"}


@pytest.fixture(scope="module")
def cannon():
    return make_game("cannon")


def place(game, side, **letters):
    """Return a position with pieces on cells given as xy, by default halls as at the start."""
    cells = {}
    for letter, xys in (HALLS | letters).items():
        cells |= {(int(xy[1]), int(xy[0])): letter for xy in xys.split()}
    return game.from_text(f"{Grid(8, 8).board_text(cells)} {side}")


def commands(game, position, start=None):
    """Return all texts of the legal actions, such as 27M16, that begin with `start`."""
    short = set()
    for action in map(int, game.legal_actions(position)):
        for text in (
            game.action_text(position, action),
            *game.alternative_texts(position, action),
        ):
            _, x, y, kind, to_x, to_y = text.split()
            short.add(f"{x}{y}{kind}{to_x}{to_y}")
    return {text for text in short if start is None or text.startswith(start)}


# Worked examples


@pytest.mark.parametrize("rows", [8, 10])
@pytest.mark.parametrize("columns", [8, 10])
def test_start_has_three_columns_of_soldiers_on_boards_of_every_size(rows, columns):
    game = make_game("cannon", rows=rows, columns=columns)
    letters = game.pieces(game.initial)
    for row in range(rows):
        line = "".join(letters.get((row, column), ".") for column in range(columns))
        inner = ".w" if row < 3 else "b." if row >= rows - 3 else ".."
        assert line == {0: "Ww", rows - 1: "bB"}.get(row, inner) * (columns // 2)


def test_start_has_53_commands_and_37_actions(cannon):
    assert len(commands(cannon, cannon.initial)) == 53
    assert len(cannon.legal_actions(cannon.initial)) == 37
    assert commands(cannon, cannon.initial, "07") == {"07M16", "07M04", "07B03", "07B02"}


def test_soldier_near_an_enemy_steps_captures_and_retreats(cannon):
    position = place(cannon, "b", b="33", w="32")
    assert commands(cannon, position) == {"33M22", "33M32", "33M42", "33M15", "33M35", "33M55"}


def test_sideways_moves_must_capture(cannon):
    position = place(cannon, "b", b="24", w="34 23 55")
    assert commands(cannon, position) == {
        *("24M13", "24M23", "24M33", "24M34", "24M06", "24M26", "24M46")
    }


def test_cannon_bombs_and_shifts(cannon):
    position = place(cannon, "b", b="22 23 24", w="77", W="20 00 40", B="17 37 57")
    assert len(commands(cannon, position)) == 18
    assert {"22B20", "23B20", "24B20", "22B26", "22B27", "24M21", "22M25"} <= commands(
        cannon, position
    )


def test_piece_in_front_blocks_a_cannon(cannon):
    position = place(cannon, "b", b="25 34 43", w="52")
    legal = commands(cannon, position)
    assert {"43M52", "43M16", "43M45", "43M65"} <= legal
    assert not {"25M52", "43B61", "43B70"} & legal
    assert "43B07" in legal


def test_shift_captures_a_hall_only_by_option(cannon):
    letters = {"b": "21 22 23", "w": "77", "W": "20 00 40", "B": "17 37 57"}
    assert commands(cannon, place(cannon, "b", **letters), "23") == {
        *("23M12", "23M32", "23B25", "23B26")
    } | {
        command
        for command in commands(cannon, place(cannon, "b", **letters), "23")
        if command[2] == "B"
    }
    assert "21M20" in commands(cannon, place(cannon, "b", **letters))
    changed = make_game("cannon", shift_captures_hall=True)
    assert "23M20" in commands(changed, place(changed, "b", **letters))
    blocked = letters | {"b": "21 22 23 24"}
    assert "23M20" not in commands(changed, place(changed, "b", **blocked))


def test_four_in_a_row_are_two_cannons(cannon):
    position = place(cannon, "b", b="23 33 43 53", w="70")
    legal = commands(cannon, position)
    assert {"33M63", "43M13"} <= legal
    assert "23M53" not in legal


# Options


def test_retreat_requires_an_adjacent_enemy(cannon):
    behind = {"b": "33", "w": "34"}
    assert "33M15" not in commands(cannon, place(cannon, "b", **behind))
    eight = make_game("cannon", retreat_neighbours=8)
    assert "33M15" in commands(eight, place(eight, "b", **behind))
    hall = {"b": "33", "w": "77", "W": "32 00 20"}
    assert "33M35" not in commands(cannon, place(cannon, "b", **hall))


def test_retreat_may_cross_an_occupied_cell_by_default(cannon):
    letters = {"b": "33 34", "w": "32"}
    assert "33M35" in commands(cannon, place(cannon, "b", **letters))
    clear = make_game("cannon", retreat_clear_path=True)
    legal = commands(clear, place(clear, "b", **letters), "33")
    assert "33M35" not in legal
    assert "33M55" in legal


def test_bomb_may_cross_an_occupied_cell_by_default(cannon):
    letters = {"b": "24 25 26", "w": "22 21"}
    assert {"24B22", "24B21"} <= commands(cannon, place(cannon, "b", **letters))
    clear = make_game("cannon", bomb_clear_path=True)
    legal = commands(clear, place(clear, "b", **letters))
    assert "24B22" in legal
    assert "24B21" not in legal


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 9}, "rows=9; expected: 8 or 10"),
        ({"columns": "8"}, "columns='8'"),
        ({"retreat_neighbours": 6}, "retreat_neighbours=6; expected: 5 or 8"),
        ({"bomb_clear_path": "yes"}, "bomb_clear_path='yes'; expected: True or False"),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(BadOption, match=message):
        make_game("cannon", **options)


# Endings and scores


@pytest.mark.parametrize(
    ("letters", "command", "outcome", "ending", "score"),
    [
        ({"b": "21", "w": "70", "W": "20 00 40"}, "S 2 1 M 2 0", 0, "halls", (10.01, 0.01)),
        (
            {"b": "21", "w": "67", "W": "20 00 40", "B": "17 37 57"},
            *("S 2 1 M 2 0", 0, "halls", (8.01, 2.01)),
        ),
        ({"b": "33", "w": "32"}, "S 3 3 M 3 2", 0, "no_soldiers", (8.01, 2.0)),
        ({"b": "33", "w": "32", "W": "00 20 40"}, "S 3 3 M 3 2", 0, "no_soldiers", (10.01, 0.0)),
        (
            {"b": "33", "w": "32", "W": "00 20 40", "B": "17 37 57"},
            *("S 3 3 M 3 2", 0, "no_soldiers", (8.01, 2.0)),
        ),
        (
            {"b": "33", "w": "77", "B": "11 31 51 71"},
            *("S 3 3 M 3 2", 0, "no_moves", (6.01, 4.01)),
        ),
        (
            {"b": "33", "w": "77", "W": "00 20 40", "B": "11 31 51 71"},
            *("S 3 3 M 3 2", 0, "no_moves", (8.01, 2.01)),
        ),
        ({"b": "33", "w": "32", "B": "17 37 57"}, "S 3 3 M 3 2", 0, "no_soldiers", (6.01, 4.0)),
        (
            {"b": "33", "w": "77", "W": "20 00 40", "B": "17 37 57"},
            *("S 3 3 M 3 2", 0, "no_moves", (6.01, 4.01)),
        ),
        ({"b": "33", "w": "77", "B": "17 37 57"}, "S 3 3 M 3 2", 1, "no_moves", (4.01, 6.01)),
    ],
)
def test_each_ending_has_its_score(cannon, letters, command, outcome, ending, score):
    """The hall margin by the ending, and a hundredth for each soldier."""
    position = place(cannon, "b", **letters)
    after = cannon.play_turn(position, cannon.parse_turn(position, command))
    assert (cannon.outcome(after), cannon.ending(after)) == (outcome, ending)
    assert cannon.score(after) == pytest.approx(score)
    assert cannon.margin(after) == round(abs(int(score[0]) - int(score[1])))


def test_scores_equal_all_recorded_scores(cannon):
    checked = 0
    with gzip.open(RECORDED, "rt") as file:
        for line in map(json.loads, file):
            if line["kind"] == "game" and line["end"]:
                position = cannon_of(line).from_text(f"{line['final']} {line['next']}")
                assert cannon.score(position) == pytest.approx(tuple(line["score"]), abs=1e-6)
                checked += 1
    assert checked > 80


def cannon_of(line):
    return make_game("cannon", rows=line["rows"], columns=line["cols"])


# Recorded positions and counts


def test_rules_agree_with_reference_positions(assert_agreement):
    """The recorded boards have 8 or 10 rows and columns."""
    assert_agreement(RECORDED, "cannon", 20_000)


@pytest.mark.parametrize(
    ("rows", "columns", "counts"),
    [
        (8, 8, [37, 1369, 49578, 1795889]),
        (10, 8, [37, 1369, 49543]),
        (10, 10, [47, 2209, 102366]),
        (8, 10, [47, 2209, 102415]),
    ],
)
def test_perft_equals_known_counts(rows, columns, counts):
    game = make_game("cannon", rows=rows, columns=columns)
    depths = range(1, len(counts) + 1)
    assert [perft(game, game.initial, depth) for depth in depths] == counts


@pytest.mark.parametrize(("size", "count"), [(8, 53), pytest.param(10, 67, marks=pytest.mark.slow)])
def test_commands_at_the_start_outnumber_actions(size, count):
    """A command of a bomb may name any soldier of its cannon, so commands outnumber actions."""
    game = make_game("cannon", rows=size, columns=size)
    texts = [
        game.action_text(game.initial, int(action)) for action in game.legal_actions(game.initial)
    ]
    ends = {text.split(maxsplit=3)[3] for text in texts}
    accepted = 0
    for column, row, end in itertools.product(range(size), range(size), ends):
        with contextlib.suppress(IllegalAction):
            log.parse_command(game, game.initial, f"S {column} {row} {end}")
            accepted += 1
    assert accepted == count


def test_random_games_end_and_commands_are_parsed_to_their_actions(cannon):
    playouts = play_random_games(cannon, 1000, seed=2)
    assert not playouts.unfinished
    for row in random_positions(cannon, seed=2):
        position = type(cannon.initial)(*row)
        for action in map(int, cannon.legal_actions(position)):
            command = cannon.action_text(position, action)
            assert log.parse_command(cannon, position, command) == (action,)


# Texts


def test_bomb_notation_accepts_any_soldier_of_the_cannon(cannon):
    turns = {cannon.parse_turn(cannon.initial, f"s 0 {y} b 0 2") for y in (5, 6, 7)}
    assert len(turns) == 1
    assert cannon.turn_text(cannon.initial, turns.pop()) == "S 0 5 B 0 2"
    with pytest.raises(IllegalAction, match="not legal"):
        cannon.parse_turn(cannon.initial, "S 2 5 B 0 2")


def test_track_of_a_bomb_leads_from_cannon_to_target(cannon):
    position = place(cannon, "b", b="24 25 26", w="22 70")
    (turn,) = [t for t in cannon.turns(position) if "B 2 2" in cannon.turn_text(position, t)]
    assert cannon.track(position, turn) == (((4, 2), (2, 2)), ((2, 2),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8/8 b", "8 rows of 8 cells"),
        ("b7/8/8/8/8/8/8/8 b", "w has just moved, so it needs a soldier"),
        ("bk6/8/8/8/8/8/8/w7 b", "made of b, B, w, W and numbers"),
        ("BBBBB2b/8/8/8/8/8/8/w7 b", "5 pieces B; expected: at most 4"),
        ("bbbbbbbb/bbbbb3/8/8/8/8/8/w7 b", "13 pieces b; expected: at most 12"),
        ("b6w/8/8/8/8/8/8/8 r", "side to move"),
        (1, "1 is not the text"),
    ],
)
def test_invalid_position_text_is_rejected(cannon, text, message):
    with pytest.raises(BadPosition, match=message):
        cannon.from_text(text)


def test_stagnation_from_the_start_is_a_draw(cannon):
    assert cannon.score(cannon.initial) == (5.12, 5.12)
    assert cannon.ending(cannon.initial) == "stagnant"
    assert cannon.outcome(cannon.initial) == ONGOING


# Stagnation


def shots(game, count):
    """Yield positions with alternating bombs on empty cells, which change nothing else."""
    position = place(game, "b", b="24 25 26", w="61 62 63")
    for number in range(count):
        text = "S 6 1 B 6 5" if number % 2 else "S 2 4 B 2 2"
        (action,) = game.parse_turn(position, text)
        yield position, action
        position = game.apply(position, action)


@pytest.mark.parametrize("repetitions", [None, 2, 3])
def test_third_repetition_ends_the_game(cannon, repetitions):
    start = place(cannon, "b", b="24 25 26", w="61 62 63")
    match = Match(cannon, start, Limits(repetitions=repetitions))
    # The start position is not counted.
    for _, action in shots(cannon, 5):
        assert match.result is None
        match.play(action)
    assert match.result == (DRAW, "stagnant")
    assert match.score == (5.03, 5.03)


def test_halls_decide_a_stagnant_game(cannon):
    ahead = place(cannon, "b", b="24 25 26", w="61 62 63", W="00 20 40")
    assert cannon.repetition_outcome(ahead) == FIRST_WINS
    assert cannon.score(ahead) == (7.03, 3.03)
    behind = place(cannon, "w", b="24 25 26", w="61 62 63", B="17 37 57")
    assert cannon.repetition_outcome(behind) == SECOND_WINS
    assert cannon.score(behind) == (3.03, 7.03)
    level = place(cannon, "b", b="24 25 26", w="61 62 63", W="00 20 40", B="17 37 57")
    assert cannon.repetition_outcome(level) == DRAW
    assert cannon.score(level) == (5.03, 5.03)


@pytest.mark.parametrize("max_turns", [None, 50])
def test_environments_terminate_stagnant_games(cannon, max_turns):
    envs = gymnasium.make_vec(
        "cc_env/Cannon-v0", num_envs=2, opponent=None, max_turns=max_turns, repetitions=None
    )
    start = cannon.to_text(place(cannon, "b", b="24 25 26", w="61 62 63"))
    envs.reset(seed=0, options={"position": start})
    for number, (_, action) in enumerate(shots(cannon, 5), 1):
        _, rewards, terminated, truncated, _ = envs.step([action, action])
        assert terminated.all() == (number == 5)
        assert not truncated.any()
    assert not rewards.any()


def test_repetition_limit_is_rejected():
    with pytest.raises(BadOption, match="cannon, whose own rules end a game that repeats"):
        gymnasium.make("cc_env/Cannon-v0", repetitions=3)


@pytest.mark.parametrize("name", ["aggressive", "enhanced", "defensive", "neutral"])
def test_bots_compile_in_their_constructor(cannon, monkeypatch, name):
    calls = []
    monkeypatch.setattr(bots, "describe_actions", lambda game, position: calls.append(position))
    cannon.bots[name](cannon)
    assert calls


def test_distant_repetition_counts_without_a_turn_limit():
    from cc_env.envs.boards import REPETITION_WINDOW, Boards

    game = make_game("cannon")
    boards = Boards(game)
    boards.reset(starts=[place(game, "b", b="24 25 26", w="61 62 63")])
    boards._batch.episodes["turns"] = REPETITION_WINDOW - 1
    done = []
    for _, action in shots(game, 5):
        boards.step(np.array([action]))
        done.append(bool(boards.done[0]))
    assert done == [False] * 4 + [True]


# Commands and logs


def recorded_games():
    with gzip.open(RECORDED, "rt") as file:
        return [line for line in map(json.loads, file) if line["kind"] == "game"]


def log_line(data, client=0, action="NORMAL", meta=""):
    message = json.dumps({"meta": meta, "action": action, "data": data})
    return f"{message} Received from client {client}"


def logged(line):
    """Return the log of a recorded game in the format of the server."""
    messages = []
    for number, command in enumerate(line["cmds"]):
        action, meta, sender = "NORMAL", "", number % 2
        if line["end"] and number == len(line["cmds"]) - 1:
            seats, action = (sender, 1 - sender), "FINISH"
            meta = " : ".join(f"Player {seat + 1} SCORE : {line['score'][seat]}" for seat in seats)
        messages.append(log_line(command, sender, action, meta) + "\n")
    return "".join(messages)


def test_logs_of_recorded_games_round_trip():
    """All recorded endings occur."""
    games = recorded_games()
    by_ending = {line["end"]: line for line in games}
    assert by_ending.keys() >= {"halls", "no_soldiers", "no_moves", "stagnant"}
    for line in (*games[::8], *by_ending.values()):
        game = cannon_of(line)
        (logged_game,) = log.read(logged(line), game)
        position, commands = game.initial, []
        # Commands name the first soldier of a cannon.
        for turn in logged_game.turns:
            commands.append(game.turn_text(position, turn))
            position = game.play_turn(position, turn)
        assert log.FORMAT.write(game, logged_game) == logged(line | {"cmds": commands})
        assert game.key(position) == game.key(game.from_text(f"{line['final']} {line['next']}"))
        assert logged_game.scores == (tuple(line["score"]) if line["score"] else None)
        assert not logged_game.fault
        match = replay_foreign(game, logged_game)
        assert match.score == logged_game.scores
        assert (match.result.reason if match.result else None) == line["end"]


FIRST_MOVE = "S 2 5 M 1 4"
LOST = {0: "Player 1 SCORE : 0.12 : Player 2 SCORE : 10.12"}
LOST[1] = "Player 2 SCORE : 0.12 : Player 1 SCORE : 10.12"


@pytest.mark.parametrize("loser", [0, 1])
@pytest.mark.parametrize("fault", ["TIMEOUT", "INVALID MOVE", "UNEXPECTED STOP"])
def test_logs_with_faults_round_trip(cannon, fault, loser):
    action = "FINISH" if fault == "TIMEOUT" else "KILLPROC"
    meta = f"{fault} BY PLAYER {loser + 1} : {LOST[loser]}"
    for count in (0, 1):
        lines = [log_line(FIRST_MOVE)] * count + [log_line("", loser, action, meta)]
        text = "".join(f"{line}\n" for line in lines)
        (logged_game,) = log.read(text, cannon)
        assert log.FORMAT.write(cannon, logged_game) == text
        match = replay_foreign(cannon, logged_game)
        assert log.FORMAT.write(cannon, export_match(match, ("a", "b"))) == text


@pytest.mark.parametrize(
    "end", ["", "None Received from client 1\n", log_line("", 1, "KILLPROC") + "\n"]
)
def test_logs_with_other_endings_round_trip(cannon, end):
    text = f"{log_line(FIRST_MOVE)}\n{end}"
    (logged_game,) = log.read(text, cannon)
    assert log.FORMAT.write(cannon, logged_game) == text


def test_resignation_and_agreed_draw_are_logged(cannon):
    for end, last in (
        (lambda match: match.forfeit(1, RESIGNED), f"UNEXPECTED STOP BY PLAYER 2 : {LOST[1]}"),
        (Match.agree_on_draw, ""),
    ):
        match = Match(cannon)
        match.play(*log.parse_command(cannon, cannon.initial, FIRST_MOVE))
        end(match)
        text = log.FORMAT.write(cannon, export_match(match, ("a", "b")))
        lines = [log_line(FIRST_MOVE), log_line("", 1, "KILLPROC", last)][: 2 if last else 1]
        assert text.splitlines() == lines
    start = place(cannon, "b", b="24 25 26", w="61 62 63")
    with pytest.raises(BadRecord, match=r"begins in 'W1W1W1W1/.*' has no log"):
        log.FORMAT.write(cannon, PlayedGame(start, ()))
    with pytest.raises(BadRecord, match="without turns"):
        log.FORMAT.write(cannon, PlayedGame(cannon.initial, ()))


def test_second_selection_replaces_the_first(cannon):
    turn = log.parse_command(cannon, cannon.initial, "S 0 5 S 2 5 M 1 4")
    assert cannon.turn_text(cannon.initial, turn) == "S 2 5 M 1 4"


@pytest.mark.parametrize("selected", ["S 0 0", "S 0 1", "S 7 2", "S 4 4"])
def test_selected_soldier_must_be_able_to_act(cannon, selected):
    # The soldier on 00 is blocked.
    position = place(cannon, "b", b="00 66", w="01 50", W="20 40 60 72")
    assert log.parse_command(cannon, position, "S 6 6 M 6 5")
    message = f"{selected} selects no soldier that can do anything in 'b1W.*'; these can: S 6 6$"
    with pytest.raises(IllegalAction, match=message):
        log.parse_command(cannon, position, f"{selected} S 6 6 M 6 5")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("M 1 4", "expected: one M or B"),
        ("S 2 5", "expected: one M or B"),
        ("S 2 5 M 1 4 M 1 3", "expected: one M or B"),
        ("S 2 5 X 1 4", "is not a command"),
        ("S 2 5 M 1", "is not a command"),
        ("S 1 2 M 2 4", "not legal"),
        ("", "expected: one M or B"),
    ],
)
def test_invalid_command_is_rejected(cannon, command, message):
    with pytest.raises(IllegalAction, match=message):
        log.parse_command(cannon, cannon.initial, command)


EQUAL_SCORES = "Player 1 SCORE : 5.12 : Player 2 SCORE : 5.12"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["S 2 5 M 1 4"], "line 1: move 1: .* expected: a message"),
        (
            [log_line("S 2 5 M 1 4"), log_line("S 2 5 M 1 4")],
            "line 2: move 2: a command from client 0",
        ),
        (
            [log_line("S 4 8 M 5 7")],
            "S 4 8 M 5 7' is not legal.*; read with rows=8, columns=8",
        ),
        (
            [log_line("1 10 10 150", action="INIT")],
            "INIT '1 10 10 150'; expected: .* 8 8 .*columns=8;",
        ),
        ([log_line("", meta="TIMEOUT BY PLAYER 7")], "expected: TIMEOUT or .* BY PLAYER 1 or 2"),
        ([log_line("", meta="Player 1 SCORE : 5")], "the score of the other player is missing"),
        ([log_line("S 2 5 M 1 4", action="FINISH")], "line 1: move 1: FINISH without scores"),
        ([log_line("S 2 5 M 1 4"), log_line("S 1 2 M 9 9", 1)], "line 2: move 2: .* not legal"),
        (["{oops} Received from client 0"], "line 1: move 1: not JSON"),
        ([log_line("S 2 5 M 1 4", action="MOVE")], "action 'MOVE'; expected: one of"),
        (['{"meta": 1} Received from client 0'], "expected strings for: meta, action, data"),
        ([], "the log is empty"),
        (["", " "], "the log is empty"),
        *(
            (
                [
                    log_line("S 2 5 M 1 4", action=action, meta=EQUAL_SCORES),
                    log_line("S 1 2 M 0 3", 1),
                ],
                f"line 2: move 2: a message after the game has ended, with {action}",
            )
            for action in ("FINISH", "KILLPROC", "STAGNANT")
        ),
    ],
)
def test_broken_log_is_reported_with_line_and_move(cannon, lines, message):
    with pytest.raises(BadRecord, match=message):
        list(valid_games("text", log.read("\n".join(lines), cannon)))


TIMEOUT_META = "TIMEOUT BY PLAYER 1 : Player 1 SCORE : 0.12 : Player 2 SCORE : 10.12"


def test_faults_in_logs_are_read(cannon):
    (logged_game,) = log.read(log_line("", action="FINISH", meta=TIMEOUT_META), cannon)
    assert logged_game == PlayedGame(
        cannon.initial, (), outcome=SECOND_WINS, scores=(0.12, 10.12), fault="time"
    )
    match = replay_foreign(cannon, logged_game)
    assert (match.result, match.score) == ((SECOND_WINS, "time"), (0.12, 10.12))
    (killed,) = log.read(log_line("", action="KILLPROC"), cannon)
    # The log does not contain the losing player.
    assert (killed.outcome, killed.fault) == (ONGOING, "error")
    assert replay_foreign(cannon, killed).result is None


def test_message_after_a_fault_is_rejected(cannon):
    lines = log_line("", action="FINISH", meta=TIMEOUT_META), log_line("S 2 5 M 1 4")
    with pytest.raises(BadRecord, match="line 2: move 1: a message after"):
        list(valid_games("text", log.read("\n".join(lines), cannon)))


def test_silent_client_loses_on_time(cannon):
    text = "\n".join((log_line("S 2 5 M 1 4"), "None Received from client 1"))
    (logged_game,) = log.read(text, cannon)
    assert (len(logged_game.turns), logged_game.fault, logged_game.outcome, logged_game.scores) == (
        1,
        "time",
        0,
        None,
    )
    assert replay_foreign(cannon, logged_game).result == (FIRST_WINS, "time")
    (logged_game,) = log.read("None Received from client 0\n", cannon)
    assert (logged_game.fault, logged_game.outcome) == ("time", SECOND_WINS)


def test_message_after_silence_is_rejected(cannon):
    lines = log_line("S 2 5 M 1 4"), "None Received from client 1", log_line("S 1 2 M 0 3", 1)
    with pytest.raises(BadRecord, match=r"line 3: move 2: a message after .*, with None"):
        list(valid_games("text", log.read("\n".join(lines), cannon)))


def test_scores_that_contradict_the_rules_are_rejected(cannon):
    meta = "Player 1 SCORE : 8.12 : Player 2 SCORE : 2.09"
    (logged_game,) = log.read(log_line("S 2 5 M 1 4", action="FINISH", meta=meta), cannon)
    with pytest.raises(BadRecord, match=r"scores 8\.12 - 2\.09, but no result after turn 1"):
        replay_foreign(cannon, logged_game)
    for fault in ("TIMEOUT", "INVALID MOVE", "UNEXPECTED STOP"):
        (logged_game,) = log.read(log_line("", meta=f"{fault} BY PLAYER 2 : {meta}"), cannon)
        with pytest.raises(
            BadRecord, match=r"scores are 10\.12 - 0\.12, by the file 8\.12 - 2\.09"
        ):
            replay_foreign(cannon, logged_game)

    line = next(recorded for recorded in recorded_games() if recorded["end"])
    (logged_game,) = log.read(logged(line | {"score": [1.5, 2]}), cannon_of(line))
    ours = "{:g} - {:g}".format(*line["score"])
    with pytest.raises(BadRecord, match=f"by the rules .* are {ours}, by the file 1.5 - 2"):
        replay_foreign(cannon_of(line), logged_game)


def test_turn_after_stagnation_is_rejected(cannon):
    position = place(cannon, "b", b="24 25 26", w="61 62 63")
    turns = [(action,) for _, action in shots(cannon, 7)]
    with pytest.raises(BadRecord, match=r"turn 6: the game was already over \(stagnant\)"):
        replay_foreign(cannon, PlayedGame(position, tuple(turns)))


@pytest.mark.parametrize("rows", [8, 10])
def test_weights_cover_every_row_of_the_board(rows):
    game = make_game("cannon", rows=rows, columns=10)
    weights = game.evaluations["standard"].weights
    assert (weights == STANDARD[rows].weights).all()
    counts = [random_positions(game, seed) for seed in range(2)]
    counted = tune.features(game, np.concatenate(counts)).any(0)
    assert counted[:rows].all()
    assert not counted[rows:10].any()
    assert np.count_nonzero(weights[:rows]) >= rows - 1


def random_positions(game, seed):
    """Return the positions of a random game."""
    rng, position, positions = np.random.default_rng(seed), game.initial, []
    while game.outcome(position) == ONGOING and len(positions) < 300:
        positions.append(position)
        position = game.apply(position, int(rng.choice(game.legal_actions(position))))
    return np.array(positions, np.uint64)
