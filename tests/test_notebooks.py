"""The notebooks run from top to bottom and reproduce the results that they state."""

import json
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))

# Assertions after the last cell, in the short setting.
CHECKS = {
    "four_games": """
plays = [english.turn_texts(trap.position, report.line)[0] for report in trap_reports]
assert plays == 5 * ["55-44"] + 4 * ["55-46"], plays
men = [list(english.pieces(match.position).values()) for match in (trap, shot)]
assert [(pieces.count("r"), pieces.count("b")) for pieces in men] == [(10, 10), (7, 6)]
assert again.turns == turns and len(turns) == 23
assert exact == {"41-30": -1, "41-32": 0}
assert lost.score == (-1, 1)
assert (len(nine.legal_actions(walking)), len(nine.legal_actions(free))) == (9, 63)
assert {name: len(win.turns) for name, win in wins.items()} == {
    "free moves": 3,
    "no free moves": 5,
}
assert wins["free moves"].turns[0] == "OC-W"
assert [report.margin is None for report in siege_reports] == [True, True, True, False, False]
assert bombed.turns[-1] == "S 2 3 B 2 0" and bombed.result.reason == "halls"
for name, tournament in tournaments.items():
    scores = {row.name: row.tally.score.value for row in tournament.standings.players}
    assert scores["minimax:normal"] > scores["random"], name
assert counts["checkers"] == [7, 49, 302, 1469]
assert counts["mini_checkers"] == [5, 25, 106, 369]
assert counts["morris"] == [24, 552, 12144, 255024]
assert counts["cannon"] == [37, 1369, 49578, 1795889]
for choices, lengths, outcomes in walks.values():
    assert sum(map(len, choices)) == lengths.sum() and np.isin(outcomes, (-1, 0, 1, 2)).all()
    assert (outcomes >= 0).mean() > 0.95
""",
    "exact_values": """
starts = [tables.get(tables.game.initial) for tables in (TABLES["C&C 4×4"], TABLES["C&C 5×5"])]
assert [solved.value for solved in starts] == [0, 0]
where = "C&C 5×5"
random, greedy, deep = (accuracies[name][where] for name in ("random", "greedy", "minimax:depth=6"))
assert random.kept.value < greedy.kept.value < 1 and deep.kept.value > 0.95, (random, greedy, deep)
assert all(row[4] == row[3] for row in rows_of_draws if row[0].startswith("5×5"))
deepest = everywhere["learned evaluation, 8 turns"]
assert deepest.kept_with_choice.value > 0.95, deepest
shallow, deep = (suite[f"learned evaluation, {turns} turns"].kept.value for turns in (2, 8))
assert deep > shallow
""",
    "quickstart": """
score = tournament.standings.pair("learned:against=random", "random").tally.score
assert score.value > 0.8, score  # untrained it is 0.4 to 0.7
assert len(boards) == len(shortest.turns)
""",
    "self_play": """
standings = arena.play_tournament(("fresh", "random"), games=40).standings
fresh = standings.pair("fresh", "random").tally.score
assert fresh.value > 0.8, fresh  # untrained, from the same seed, it is 0.3
losses = [row["policy_loss"] for row in rows if "policy_loss" in row]
assert losses[-1] < losses[0], losses
assert max(gains) > 0, gains  # search found something better
""",
}


@pytest.mark.slow
# The kernel has warnings of its own.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, monkeypatch):
    monkeypatch.setenv("CC_ENV_SHORT", "1")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(CHECKS.get(path.stem, "None")))
    result = NotebookClient(notebook, timeout=None, kernel_name="python3").execute(cwd=path.parent)
    assert result.cells[-1].execution_count == sum(
        cell.cell_type == "code" for cell in result.cells
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_saved_outputs_come_from_one_run(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_saved_notebooks_are_small_without_errors_or_paths(path):
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not [
        output
        for output in outputs
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert not re.search(r"(?<![\w.])/(tmp|home|root|work|Users)/", json.dumps(outputs))
    assert path.stat().st_size < 400_000
