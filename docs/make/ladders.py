"""Ladders, and the puzzles of the games, read from the shipped files."""

from collections import Counter

from cc_env.core.game import Game
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import rungs
from cc_env.players.decision_hash import is_stale
from cc_env.puzzles.puzzle import shipped_puzzles
from cc_env.registry.catalogue import GAMES
from cc_env.rendering.picture import draw
from cc_env.rendering.svg import to_svg
from docs.make.blocks import Block, maker, table


@maker
def ladder(block: Block) -> str:
    """Return the levels of a game's ladder; † marks players that have changed since."""
    game = block.game()
    rows = []
    for rung in rungs(game):
        mark = " †" if is_stale(rung, game) else ""
        value, low, high = rung.elo
        interval = f"{low:.0f} – {high:.0f}"
        milliseconds = f"{1000 * rung.seconds_per_turn:.2g}"
        rows.append(
            (rung.level, rung.name, f"`{rung.spec}`{mark}", f"{value:.0f}", interval, milliseconds)
        )
    return table(["#level", "name", "player spec", "#Elo", "#95 %", "#ms/turn"], rows)


@maker
def puzzle_counts(block: Block) -> str:
    """Return the number of puzzles of each game, by turns, and the share each level solves."""
    rows = []
    for name in GAMES:
        game = make_game(name)
        puzzles = shipped_puzzles(game)
        turns = Counter(puzzle.turns for puzzle in puzzles)
        by_turns = (str(turns[number]) for number in range(1, 6))
        rows.append((f"`{name}`", str(len(puzzles)), *by_turns, _solved_shares(game)))
    heads = ["#1 turn", *(f"#{number} turns" for number in range(2, 6))]
    return table(["game", "#puzzles", *heads, "% solved by level 1, 2, …"], rows)


def _solved_shares(game: Game) -> str:
    """Return the share of puzzles in percent that each level of the ladder solves."""
    puzzles = shipped_puzzles(game)
    shares = (
        sum(rung.level not in puzzle.failing_rungs for puzzle in puzzles) / len(puzzles)
        for rung in rungs(game)
    )
    return ", ".join(f"{100 * share:.0f}" for share in shares)


@maker
def puzzle(block: Block) -> str:
    """Return the picture of a puzzle, given a game and a number, its task and its solution."""
    game, number = block.game(), int(block.words[1])
    chosen = shipped_puzzles(game)[number - 1]
    task = chosen.describe_task(game)
    picture = draw(game, chosen.position, caption=task)
    texts = (game.readable_turn_text(chosen.position, turn) for turn in chosen.solutions)
    solution = " or ".join(f"`{text}`" for text in texts)
    image = block.page.picture(to_svg(picture), f"{game.name}, puzzle {number}: {task}")
    themes = ", ".join(chosen.themes)
    return f"{image}\n\nPuzzle {number} of `{game.name}` ({themes}). Solution: {solution}."
