"""The report: a self-contained page that agrees with the tables."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import readable_turns

from cc_env.match import record
from cc_env.match.confidence import Interval
from cc_env.output import Terminal
from training import arena
from training.arena import charts, report
from training.arena.standings import Pair, PlayerResult, Standings, Tally
from training.arena.tables import show
from training.arena.wording import elo, milliseconds, percent, summary
from training.runs.chart_style import INK

HIGHEST, RAISER = "arena_players.Lowest:highest=True", "arena_players.Raiser"
STRANGE = "arena_players.Named:name=<b>$x_1$&'\""
COMMAND = "python -m training.evaluate random 'a & b'"


@pytest.fixture(scope="module")
def tournament(tmp_path_factory):
    config = arena.Config(players=("random", HIGHEST, RAISER, STRANGE), games=4)
    with pytest.warns(arena.ForfeitWarning, match="Raiser"):
        return arena.run_tournament(config, tmp_path_factory.mktemp("arena"), workers=0)


@pytest.fixture(scope="module")
def page(tournament):
    return report.to_html(tournament, COMMAND)


class Reader(HTMLParser):
    """Collects the references, tags, titles and text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.references, self.text, self.titles = set(), [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        attributes = dict(attrs)
        self.references += [
            attributes[key] for key in ("src", "href", "xlink:href") if key in attributes
        ]
        self.titles += [attributes["title"]] if "title" in attributes else []

    def handle_data(self, data):
        self.text.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    return reader


def test_report_is_self_contained(page):
    html = read(page)
    assert all(reference.startswith("#") for reference in html.references)
    assert not html.tags & {"link", "img", "iframe", "object", "embed", "base"}
    urls = set(re.findall(r"""https?://[^\s"'<>)\\]+""", page))
    assert urls == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "url(http" not in page
    assert "@import" not in page
    assert len(page) < 2_000_000


def test_report_matches_the_standings(tournament, page):
    text = "".join(read(page).text)
    for player in tournament.standings.players:
        assert player.name in text
        assert elo(player.elo) in text
        assert str(player.tally) in text
    assert summary(tournament.standings) in text
    assert COMMAND in text
    assert "lost 12 games by error: RuntimeError: lost my head" in text
    for name, value in (("seed", 0), ("max_turns", 200), ("seconds_per_turn", "no limit")):
        assert re.search(rf"{name}\s*{value}", text)
    for reason, count in tournament.standings.endings.items():
        assert re.search(rf"{reason}\s*{count}", text)


def test_cells_have_tooltips(page):
    hints = [
        title for title in read(page).titles if title.startswith(f"{HIGHEST} against random: ")
    ]
    assert len(hints) == 1
    assert re.search(r"\d+-\d+-\d+, [\d.]+ % \(", hints[0])


def test_names_are_escaped(page):
    html = read(page)
    assert "<b>$x" not in page
    assert STRANGE in "".join(html.text)


def test_example_games_show_every_position(tournament, page):
    data = json.loads(re.search(r"const \{ lines, games \} = (.*);\n", page)[1])
    best = tournament.standings.players[0].name
    examples = [record for record in tournament.records.values() if best in record.players][:6]
    assert len(data["games"]) == 6
    for game, example in zip(data["games"], examples, strict=True):
        assert game["title"] == " – ".join(example.players)
        assert len(game["frames"]) == len(example.turns) + 1
        pages = ["\n".join(data["lines"][i] for i in frame) for frame in game["frames"]]
        assert all(page.startswith("<svg") and page.endswith("</svg>") for page in pages)
        assert len(set(pages)) == len(pages)
        replayed = record.replay(example)
        texts = readable_turns(replayed.game, replayed.start, example.turns)
        for text, picture in zip(texts, pages[1:], strict=True):
            assert f"last {text}" in picture
        assert replayed.turns == list(example.turns)


def test_charts_use_the_text_color_of_the_page(tournament):
    for name in charts.names(tournament.standings):
        assert charts.to_png(name, tournament.standings).startswith(b"\x89PNG\r\n")
        svg = charts.to_svg(name, tournament.standings)
        assert svg.startswith("<svg")
        assert "currentColor" in svg
        assert INK not in svg


def test_ladder_shows_elo_intervals(tournament):
    (axes,) = charts.ladder(tournament.standings).axes
    players = tournament.standings.players
    assert next(label.get_text() for label in axes.get_yticklabels()).replace("\n", "") == HIGHEST
    bars = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2][: len(players)]
    for player, (low, high) in zip(players, bars, strict=True):
        assert (low, high) == (player.elo.low, player.elo.high)


def test_matrix_shows_scores_from_both_sides(tournament):
    (axes,) = charts.matrix(tournament.standings).axes
    (image,) = axes.images
    scores = image.get_array().filled(np.nan)
    assert np.isnan(np.diag(scores)).all()
    both = scores + scores.T
    assert both[~np.eye(4, dtype=bool)] == pytest.approx(1)
    best, second, *_ = (player.name for player in tournament.standings.players)
    assert scores[0, 1] == tournament.standings.pair(best, second).tally.score.value


def test_histogram_counts_every_game(tournament):
    (axes,) = charts.lengths(tournament.standings).axes
    assert sum(bar.get_height() for bar in axes.patches) == len(tournament.records)


def test_learning_tournament_has_a_learning_chart(tournament, tmp_path, capsys):
    assert "learning" not in charts.names(tournament.standings)
    players = f"memory:path={tmp_path / 'memory.sqlite'}", "minimax:depth=1"
    learned = arena.play_tournament(
        players, options={"size": 4}, games=20, opening_turns=0, learn=True
    )
    (axes,) = charts.learning(learned.standings).axes
    assert [len(line.get_ydata()) for line in axes.lines] == [10, 10]
    assert "Score while learning" in report.to_html(learned, COMMAND)
    report.write(learned, tmp_path, COMMAND)
    assert (tmp_path / "learning.png").exists()
    show(learned, Terminal())
    assert "score in each part of the games" in capsys.readouterr().out


def test_report_writes_all_files(tournament, tmp_path):
    assert report.write(tournament, tmp_path, COMMAND) == tmp_path / "report.html"
    names = {"ladder.png", "matrix.png", "seats.png", "lengths.png", "report.html"}
    assert {file.name for file in tmp_path.iterdir()} == names


@pytest.mark.parametrize(
    ("score", "verdict"),
    [
        (Interval(0.7, 0.6, 0.8), "a is stronger"),
        (Interval(0.6, 0.45, 0.7), "more games are needed"),
        (Interval(0.2, 0.1, 0.3), "b is stronger in this match; a leads by its other games"),
    ],
)
def test_summary_matches_the_interval(score, verdict):
    tally = Tally(7, 0, 3, score)
    ladder = tuple(PlayerResult(name, score, tally, {}) for name in "ab")
    pair = Pair(("a", "b"), tally, score)
    assert verdict in summary(Standings(ladder, (pair,), tally, (9,), {"conquest": 1}, {}))


def test_numbers_are_formatted():
    assert percent(0.5) == "50.0 %"
    assert elo(Interval(-12.3, -40, 16)) == "−12 ± 28"
    times = [milliseconds(seconds) for seconds in (0.000012, 0.0012, 0.0126, 0.25, 12.5)]
    assert times == ["0.01 ms", "1.2 ms", "13 ms", "250 ms", "12,500 ms"]
