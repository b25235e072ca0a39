"""Generated parts of the documentation agree with the library."""

import json
import re
import shutil
from copy import deepcopy

import numpy as np
import pytest

from agents.shipped_weights import COSTS, WEIGHTS
from cc_env.games.factory import game_option_defaults, make_game
from cc_env.registry.catalogue import GAMES
from docs.make import actions, api, notebooks, strength
from docs.make.blocks import BadBlock, Page, expand, without_generated_text
from docs.make.pages import DOCS, PAGES, find_outdated

README = DOCS.parent / "README.md"


def generate(block, path="environments/page.md"):
    page = Page(path)
    return expand(block, page), page


def rows(text):
    """Return the rows of the only table in a text, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_generated_parts_are_up_to_date(path):
    assert not [str(file) for file, _ in find_outdated(path)], "python -m docs.make updates them"


def test_expansion_preserves_the_surrounding_text():
    block = "<!-- make: planes mini_checkers -->"
    source = f"before\n\n{block}\n\nafter"
    text, _ = generate(source)
    assert text.startswith(f"before\n\n{block}\n\n| ")
    assert text.endswith(" |\n\n<!-- end -->\n\nafter")
    assert without_generated_text(text) == source


def test_expansion_replaces_only_generated_text():
    blocks = "<!-- make: planes morris -->\n\nbetween\n\n<!-- make: board morris -->\n"
    text, page = generate(blocks)
    again, other = generate(text.replace("| 0 |", "| 7 |"))
    assert (again, other.files) == (text, page.files)
    assert again.count("<!-- end -->") == 2
    assert "\n\nbetween\n\n" in again


def test_outdated_files_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("docs.make.pages.DOCS", tmp_path)
    monkeypatch.setattr("docs.make.pages.PICTURES", tmp_path / "pictures")
    page, picture = tmp_path / "page.md", tmp_path / "pictures/page-1.svg"
    page.write_text("<!-- make: board checkers -->\n")
    actual = dict(find_outdated(page))
    assert set(actual) == {page, picture}
    picture.parent.mkdir()
    for file, content in actual.items():
        file.write_bytes(content)
    assert not list(find_outdated(page))
    picture.write_text("<svg/>")
    assert dict(find_outdated(page)) == {picture: actual[picture]}
    picture.write_bytes(actual[picture])
    page.write_text("no board\n")
    assert dict(find_outdated(page)) == {picture: None}


def test_table_of_planes_has_every_plane():
    text, _ = generate("<!-- make: planes morris -->")
    game = make_game("morris")
    observation = game.observe(game.initial)
    for (index, name, ones), plane, name_of_plane in zip(
        rows(text), observation, game.planes, strict=True
    ):
        assert (name, int(ones)) == (name_of_plane, plane.sum())
        assert game.planes[int(index)] == name_of_plane


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("<!-- make: plans morris -->", "there is no block 'plans'"),
        ("<!-- make: options checkers\ncrowning: how\n-->", "no_progress_limit"),
        ("<!-- make: options mini_checkers\nfirst: who\nlast: who\n-->", "last"),
        ("<!-- make: endings morris\ntwo_left: lost\nno colon\n-->", "expected KEY: TEXT"),
        ("<!-- make: api cc_env.nothing -->", "no module cc_env.nothing"),
    ],
)
def test_invalid_blocks_are_rejected(block, why):
    with pytest.raises(BadBlock, match=why):
        generate(block)


def test_table_of_options_has_types_defaults_and_values():
    text, _ = generate(
        "<!-- make: options morris\n" + _texts(game_option_defaults("morris")) + "-->"
    )
    cells_of = {option: cells for option, *cells in rows(text)}
    assert cells_of["`free_move`"][:2] == ["`str`", "`'always'`"]
    assert cells_of["`free_move`"][2] == "`'always'`, `'moving_phase_only'`, `'never'`"
    text, _ = generate(
        "<!-- make: options checkers\n" + _texts(game_option_defaults("checkers")) + "-->"
    )
    assert {option: cells for option, *cells in rows(text)}["`no_progress_limit`"][0] == (
        "`int` or `None`"
    )


def _texts(keys):
    return "".join(f"{key}: text of {key}\n" for key in keys)


@pytest.mark.parametrize("name", GAMES)
def test_action_families_cover_every_id_once(name):
    game = make_game(name)
    ids = [id for family in actions.families(game) for id in range(family.first, family.last + 1)]
    assert ids == list(range(game.num_actions))


@pytest.mark.parametrize(
    ("name", "options"),
    [("capture_conquer", {"size": 4}), ("capture_conquer", {}), ("cannon", {"columns": 10})],
)
def test_ids_of_one_cell_are_first_id_plus_cell(name, options):
    game = make_game(name, **options)
    _, rows_, columns = game.observation_shape
    family = actions.families(game)[1]
    assert family.meaning.endswith("`first id + cell`")
    expected = np.stack([np.arange(rows_ * columns)] * 2, 1)
    assert np.array_equal(game.action_cells[family.first : family.last + 1], expected)


def test_bead_move_ids_follow_the_documented_formula():
    game = make_game("morris")
    points = game.action_cells[:24, 0]
    for start in range(24):
        for end in range(24):
            cells = game.action_cells[24 + 24 * start + end].tolist()
            assert cells == [points[start], points[end]]


@pytest.mark.parametrize("name", ["checkers", "mini_checkers", "capture_conquer", "cannon"])
def test_move_ids_ascend_by_start_then_by_end(name):
    game = make_game(name)
    first = actions.families(game)[0]
    cells = game.action_cells[first.first : first.last + 1].tolist()
    assert cells == sorted(cells)
    assert all(start != end for start, end in cells)


def test_example_actions_are_legal_and_match_their_notation():
    text, _ = generate("<!-- make: actions checkers -->")
    game = make_game("checkers")
    examples = [row for row in rows(text) if len(row) == 4 and row[0].isdecimal()]
    assert len(examples) == 7
    for action, _start, _end, notation in examples:
        assert int(action) in game.legal_actions(game.initial)
        assert game.action_text(game.initial, int(action)) == notation.strip("`")


def test_index_map_has_the_id_of_a_placed_bead():
    pictures = actions._by_cell(make_game("morris")).numbers
    assert [pictures[cell] for cell in make_game("morris").cell_names] == list(range(24))


def test_index_map_shows_action_ids_from_a_cell():
    text, page = generate("<!-- make: index_map checkers\nfrom: 4,4\n-->")
    ((path, svg),) = page.files.items()
    assert f"(../{path})" in text
    game = make_game("checkers")
    ids = [id for id, (start, _) in enumerate(game.action_cells.tolist()) if start == 36]
    assert len(ids) == 8
    assert all(f">{id}</text>" in svg for id in ids)


def test_endings_are_those_of_the_game():
    text, _ = generate("<!-- make: endings cannon\n" + _texts(make_game("cannon").endings) + "-->")
    assert [row[0].strip("`") for row in rows(text)] == list(make_game("cannon").endings)


@pytest.mark.parametrize(
    ("game", "player", "score", "results"),
    # Results in 0.1.0.
    [
        ("capture_conquer", "`policy`", "80.6 % (77.7 – 83.2)", "267-111-22"),
        ("checkers", "`policy`", "71.1 % (68.1 – 74.0)", "192-185-23"),
        ("morris", "`alphazero:simulations=64`", "71.5 % (65.6 – 76.8)", "131-24-45"),
    ],
)
def test_match_results_are_those_of_the_network(game, player, score, results):
    text, _ = generate(f"<!-- make: strength {game} -->")
    assert [player, score, results] in [[row[-7], *row[-2:]] for row in rows(text)]


def test_scores_of_the_readme_are_those_of_the_matches():
    text = README.read_text()
    lines = [line.split(" | ") for line in text.splitlines() if re.search(r"^\|.* % \([0-9]", line)]
    rows = [*strength.matches()]
    measured = {(row.player, row.opponent, row.score) for row in rows}
    costs = {(row.player, row.score, row.cost["core_hours"]) for row in rows}
    pairings = re.findall(r"`(\S+)`[^|]* against `(\S+)`", text)
    assert (len(lines), len(pairings)) == (6, 2)
    for _game, core_hours, *scores in lines:
        assert ("policy", scores[0], float(core_hours)) in costs
        for pairing, score in zip(pairings, scores, strict=True):
            assert (*pairing, score.removesuffix(" |")) in measured


def test_matches_on_different_processors_are_distinct(monkeypatch, tmp_path):
    """Of two matches on one processor, the current one is used even if the other has more games."""
    folder = next(path for path in WEIGHTS.glob("evaluation/*/") if "size=6" in path.name)
    copy = tmp_path / folder.relative_to(WEIGHTS)
    shutil.copytree(folder, copy)
    shutil.copy(WEIGHTS / COSTS, tmp_path)
    monkeypatch.setattr(strength, "WEIGHTS", tmp_path)
    for file in (copy / "measured").iterdir():
        if file.name != "equal_time.json":
            file.unlink()
    tournament = json.loads((copy / "measured/equal_time.json").read_text())
    (first,) = strength.matches()
    assert first.processor == "; ".join(tournament["processors"])
    assert first.is_current

    def add_match(name, **changes):
        changed = deepcopy(tournament)
        changed["config"]["decisions"] |= changes.get("decisions", {})
        changed["processors"] = changes["processors"]
        changed["pairs"][0]["tally"]["wins"] = changes["wins"]
        (copy / "measured" / name).write_text(json.dumps(changed))

    outdated = {first.player: "0" * 16}
    add_match("outdated.json", decisions=outdated, processors=[first.processor], wins=999)
    assert [*strength.matches()] == [first]
    add_match("repeated.json", processors=[first.processor], wins=998)
    add_match("elsewhere.json", processors=["another"], wins=7)
    rows = [(row.processor, row.tally["wins"]) for row in strength.matches()]
    assert sorted(rows) == sorted([(first.processor, 998), ("another", 7)])


def test_matches_of_earlier_searches_are_marked(monkeypatch):
    current_hash = strength._current_hash

    def changed_hash(name, *game):
        return "changed" if name.startswith("alphazero") else current_hash(name, *game)

    monkeypatch.setattr(strength, "_current_hash", changed_hash)
    text, _ = generate("<!-- make: strength checkers -->")
    marked = {row[-7] for row in rows(text) if row[-2].endswith(" †")}
    assert marked == {"`alphazero:seconds=0.1`", "`alphazero:simulations=64`"}


def test_derived_options_are_omitted_from_rows():
    text, _ = generate("<!-- make: strength capture_conquer -->")
    # The corner is 3 by default on 5×5.
    assert {row[0] for row in rows(text)} == {
        "`size=5`",
        "`size=5, corner=2`",
        "`size=6`",
        "`size=8`",
    }
    text, _ = generate("<!-- make: strength -->")
    assert {"`C&C 5×5, corner=2`", "`C&C 6×6`", "`checkers`"} <= {row[0] for row in rows(text)}


def test_lessons_have_boards_before_and_after():
    text, page = generate("<!-- make: lessons mini_checkers -->")
    assert text.count("\n### ") == len(page.files) >= 5
    assert all(svg.count("<g ") in (1, 2) for svg in page.files.values())


def test_notebook_page_has_its_outputs(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {
            "cell_type": "code",
            "source": ["1 + 1"],
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[1mhello\x1b[0m\n"]},
                {"data": {"text/plain": ["<x>"], "image/svg+xml": ["<svg/>"]}},
                {"data": {"text/plain": ["t"], "text/html": ["<b>t</b>\n\n<i>u</i>"]}},
            ],
        },
        {"cell_type": "code", "source": [], "outputs": []},
    ]
    file = tmp_path / "one.ipynb"
    file.write_text(json.dumps({"cells": cells}))
    page = Page("tutorials/one.md")
    text = notebooks.page_of(file, page)
    assert text.startswith("# Title\n\n```python\n1 + 1\n```\n\n```text\nhello\n```")
    assert "<b>t</b>\n<i>u</i>" in text
    assert page.files == {"pictures/tutorials-one-1.svg": "<svg/>"}


def test_api_reference_has_every_module():
    reference = " ".join(page.read_text() for page in (DOCS / "reference/api").glob("*.md"))
    words = [
        word
        for block in re.findall("<!-- make: api (.*?) -->", reference)
        for word in block.split()
    ]
    modules = [name for word in words for name in api.modules(word)]
    packages = [*api.modules("cc_env.*"), *api.modules("agents.*"), *api.modules("training.*")]
    assert sorted(modules) == sorted(packages)


def test_command_reference_has_every_command():
    text, _ = generate("<!-- make: commands cc_env.cli.commands -->")
    for command in ("play", "serve", "engine", "host", "perft"):
        assert f"## `cc_env {command}" in text
    assert "| `-d`, `--depth` | `5` |" in text
    assert "| `[PLAYER]` | `minimax:seconds=1` |" in text
    text, _ = generate("<!-- make: commands training.evaluate -->")
    assert "| `PLAYER…` |  | Player specs" in text
    assert "| `--workers` | one per core |" in text


def test_every_game_has_a_page_with_every_part():
    parts = "Rules", "Options", "Observation space", "Action space", "Rewards", "Endings"
    parts += "How strong our players are", "Versions"
    for name in GAMES:
        text = (DOCS / f"environments/{name}.md").read_text()
        heads = re.findall("^## (.*)$", text, re.MULTILINE)
        assert tuple(heads) == parts
        for block in ("lessons", "options", "planes", "actions", "index_map", "endings"):
            assert f"make: {block} {name}" in text


def test_keyword_tables_agree_with_the_classes():
    text, _ = generate((DOCS / "environments/index.md").read_text())
    assert "| `max_turns` | `200` | turns of both players" in text
    assert "| `autoreset_mode` | `NEXT_STEP` | " in text
    with pytest.raises(BadBlock, match="opponent"):
        generate("<!-- make: arguments single\nseat: which\n-->")
