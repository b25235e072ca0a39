"""cc_env mine-puzzles: find puzzles in games between players of a ladder.

A position becomes a puzzle if the player to move can force the goal in two to five own turns, at
most two first decisions do so, and at least two plausible ones fail. Plausible are those that a
search of one turn scores no worse than a piece below a solution. Of the positions of one
combination only the first counts, and after a puzzle the next ten turns of the game are skipped.

With `--one-turn`, the position before the last turn of a game becomes a puzzle, too, if this turn
wins. As no other decision scores as well, plausible are those that the weakest player of the ladder
makes in five attempts, because beginners overlook such wins.

The same seed gives the same puzzles. An interrupted run resumes when the command is repeated: the
puzzles of finished games are in FILE.part, those of one turn in FILE.one-turn.part.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import track

from cc_env.cli.application import create_app, run
from cc_env.cli.arguments import (
    FILE,
    GameName,
    GameOptions,
    Size,
    check_parent,
    game_options,
)
from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadRecord, SearchLimit
from cc_env.files import append_atomically, drop_partial_line, read_lines, write_atomically
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import rungs
from cc_env.match.match import Limits
from cc_env.match.openings import exact_opening
from cc_env.match.record import Record
from cc_env.match.referee import Clock, Player, play_match
from cc_env.output import Terminal
from cc_env.players.specs import make_player
from cc_env.puzzles.judge import Judge
from cc_env.puzzles.puzzle import (
    PEOPLE,
    WIN,
    Puzzle,
    check_task,
    parse_puzzle,
    puzzle_path,
    write_lines,
)
from cc_env.puzzles.solve_rate import solve_rate
from cc_env.puzzles.themes import themes_of
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.scores import PROVEN

MIN_TURNS, MAX_TURNS = 2, 5
MAX_SOLUTIONS, MIN_ALTERNATIVES = 2, 2
# Alternatives may score less than a solution in a search of one turn, by about one piece.
MAX_SCORE_LOSS = 100
MAX_PROOF_LENGTH = 500
# Own turns of a capture by force, which alpha-beta does not detect.
_MAX_CAPTURE_TURNS = 4
_OPENING_TURNS = 4
# Attempts of each rung at a puzzle.
ATTEMPTS = 5
_LIMITS = Limits(max_turns=150, repetitions=3)
# Turns of a game between two puzzles.
_MIN_DISTANCE = 10
# Positions of a search for a win, and of the search of a proof.
_FILTER_NODES, _PROOF_NODES = 100_000, 3_000_000

app = create_app()
console = Terminal()


@app.command()
def search(
    game_name: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    games: Annotated[int, typer.Option(min=1, help="Games to search.")] = 1000,
    number: Annotated[int, typer.Option(min=1, help="Puzzles to keep.")] = 300,
    task: Annotated[
        list[str] | None, typer.Option(help="Tasks: win, capture.", show_default="win")
    ] = None,
    one_turn: Annotated[
        int,
        typer.Option(
            min=0, help="Games to search for wins in one turn that the weakest level overlooks."
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the games.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(**FILE, help="File to write the puzzles to.", show_default="the game's name"),
    ] = None,
) -> None:
    """Find puzzles in games between the players of a game's ladder."""
    game = make_game(game_name, **game_options(option, size, game_name))
    tasks = [check_task(game, name) for name in task or [WIN]]
    path = out or puzzle_path(Path(), game, PEOPLE)
    check_parent(path)
    found = mine_games(Miner(game, tasks), games, seed, path.with_name(f"{path.name}.part"))
    if one_turn:
        part = path.with_name(f"{path.name}.one-turn.part")
        found += mine_games(Miner(game, [WIN], one_turn=True), one_turn, seed, part)
    selected = select(game, found, number)
    write_atomically(path, write_lines(selected, game))
    console.print(f"{path}: {len(selected)} of {len(found)} puzzles from {games:,} games")


def mine_games(miner: "Miner", games: int, seed: int, path: Path) -> list[Puzzle]:
    """Return the puzzles of games between players of the ladder; `path` stores the progress.

    Raises BadRecord if `path` has the progress of another search.
    """
    settings = miner.settings | {"seed": seed}
    if not path.exists() or not path.stat().st_size:
        write_atomically(path, f"{json.dumps(settings)}\n")
    found, finished = _resume(path, miner.game, settings)
    numbers = track(
        range(finished, games),
        "mining",
        console=console,
        transient=True,
        disable=not console.shows_progress,
    )
    for index in numbers:
        puzzles = list(miner.mine_game((seed, index)))
        found += puzzles
        entry = {"number": index, "puzzles": [puzzle.to_json(miner.game) for puzzle in puzzles]}
        append_atomically(path, f"{json.dumps(entry, ensure_ascii=False)}\n")
    return found


def _resume(path: Path, game: Game, settings: dict[str, Any]) -> tuple[list[Puzzle], int]:
    """Return the puzzles in the file of an interrupted run, and the number of its games."""
    drop_partial_line(path)
    found: list[Puzzle] = []
    games = 0
    for line_number, line in read_lines(path):
        try:
            entry = json.loads(line)
            if line_number == 1:
                if entry != settings:
                    raise BadRecord(f"another search; expected: {json.dumps(settings)}")
                continue
            if entry["number"] != games:
                raise BadRecord(f"game {entry['number']!r:.20}; expected: {games}")
            found += [parse_puzzle(puzzle, game) for puzzle in entry["puzzles"]]
        except (ValueError, KeyError, TypeError) as error:
            raise BadRecord(f"{path}, line {line_number}: {error!s:.500}") from error
        games += 1
    return found, games


class Miner:
    """Searches games of a ladder for puzzles."""

    def __init__(self, game: Game, tasks: Sequence[str], *, one_turn: bool = False) -> None:
        """Read the ladder of the game; with `one_turn`, only wins in one turn are puzzles."""
        self.game, self.tasks, self.one_turn = game, tasks, one_turn
        self._rungs = rungs(game)
        self._players: dict[str, Player] = {}
        self._search = AlphaBeta(game, table_megabytes=4)

    @property
    def settings(self) -> dict[str, Any]:
        """What the puzzles of a game depend on, as JSON."""
        return {
            "game": self.game.name,
            "options": dict(self.game.options),
            "players": [rung.spec for rung in self._rungs],
            "tasks": list(self.tasks),
            "one_turn": self.one_turn,
        }

    def _player(self, spec: str) -> Player:
        if spec not in self._players:
            self._players[spec] = make_player(spec, self.game)
        return self._players[spec]

    def mine_game(self, seed: tuple[int, int]) -> Iterator[Puzzle]:
        """Yield the puzzles of one game."""
        rng = np.random.default_rng(seed)
        # The strongest are slow, and err rarely.
        specs = [rung.spec for rung in self._rungs[: max(2, len(self._rungs) - 2)]]
        players = [self._player(str(rng.choice(specs))) for _ in range(2)]
        start = exact_opening(self.game, _OPENING_TURNS, rng)
        record = play_match(
            self.game, players, start=start, limits=_LIMITS, seed=int(rng.integers(2**31))
        )
        if self.one_turn:
            *_, last = self._positions(record)
            yield from self._make_puzzle(last, WIN, 1)
        else:
            yield from self.mine_positions(self._positions(record))

    def mine_positions(self, positions: Iterable[Position]) -> Iterator[Puzzle]:
        """Yield the puzzles among successive positions of a game."""
        # Own turns to the goal in the last position that was searched, by mover and task.
        previous: dict[tuple[int, str], int] = {}
        next_turn = 0
        for number, position in enumerate(positions):
            if number < next_turn:
                continue
            mover = self.game.to_move(position)
            for task in self.tasks:
                turns = self._turns_to_goal(position, task)
                is_new = turns is not None and previous.get((mover, task), 0) <= turns
                previous[mover, task] = turns or 0
                if is_new and turns is not None and turns >= MIN_TURNS:
                    for puzzle in self._make_puzzle(position, task, turns):
                        next_turn = number + _MIN_DISTANCE
                        yield puzzle
            if next_turn > number:
                # What follows the skipped turns is another combination.
                previous.clear()

    def _positions(self, record: Record) -> Iterator[Position]:
        """Yield the positions between the turns of a game."""
        game = self.game
        position = game.initial if record.start is None else game.from_text(record.start)
        for text in record.turns:
            yield position
            position = game.play_turn(position, game.parse_turn(position, text))

    def _turns_to_goal(self, position: Position, task: str) -> int | None:
        """Return the own turns in which the mover can force the goal; None if not soon."""
        game = self.game
        limit = MAX_TURNS if task == WIN else _MAX_CAPTURE_TURNS
        if rules.turns_to_draw(position) <= 2 * limit:
            return None
        if task == WIN:
            result = self._search.search(position, depth=2 * limit - 1, nodes=_FILTER_NODES)
            if result.score is None or result.score < PROVEN:
                return None
        elif sum(self._in_hand(position)):
            return None
        puzzle = Puzzle(position, task, limit, ())
        judge = Judge(game, puzzle, nodes=_PROOF_NODES if task == WIN else _FILTER_NODES)
        try:
            return judge.turns_to_goal(position, limit)
        except SearchLimit:
            return None

    def _in_hand(self, position: Position) -> tuple[int, int]:
        """Return the numbers of pieces that are not on the board yet."""
        fields = position._asdict()
        return int(fields.get("own_hand", 0)), int(fields.get("enemy_hand", 0))

    def _make_puzzle(self, position: Position, task: str, turns: int) -> Iterator[Puzzle]:
        """Yield the puzzle of a position if it is one for people."""
        game = self.game
        puzzle = Puzzle(position, task, turns, ())
        judge = Judge(game, puzzle, nodes=_PROOF_NODES)
        try:
            solutions = tuple(judge.winning_turns(position, turns))
            # Turns that differ in what a mill removes begin alike.
            decisions = {turn[0] for turn in solutions}
            if not 0 < len(decisions) <= MAX_SOLUTIONS:
                return
            if len(self._plausible(position, turns, decisions) - decisions) < MIN_ALTERNATIVES:
                return
            puzzle = replace(puzzle, solutions=solutions, proof=judge.make_proof())
            if len(puzzle.proof) > MAX_PROOF_LENGTH:
                return
            themes = themes_of(game, puzzle, judge.main_line())
        except SearchLimit:
            return
        puzzle = replace(puzzle, themes=themes)
        yield replace(puzzle, failing_rungs=tuple(self._failing_rungs(puzzle)))

    def _plausible(self, position: Position, turns: int, solutions: Set[int]) -> set[int]:
        """Return the plausible actions, solutions included."""
        if turns == 1:
            player = self._player(self._rungs[0].spec)
            generators = map(np.random.default_rng, range(ATTEMPTS))
            return {int(player.choose(position, rng, Clock()).action) for rng in generators}
        scored = self._search.score_actions(position, depth=1)
        scores = dict(zip(scored.actions.tolist(), scored.scores.tolist(), strict=True))
        bound = min(scores[action] for action in solutions) - MAX_SCORE_LOSS
        return {action for action, score in scores.items() if score >= bound}

    def _failing_rungs(self, puzzle: Puzzle) -> Iterator[int]:
        """Yield the levels of the rungs that solve a puzzle in less than half of the attempts."""
        for rung in self._rungs:
            rate = solve_rate(self._player(rung.spec), self.game, [puzzle] * ATTEMPTS)
            if rate.share.value < 0.5:
                yield rung.level


def select(game: Game, puzzles: Sequence[Puzzle], number: int) -> list[Puzzle]:
    """Return at most `number` puzzles, no two of them symmetric, easiest first.

    All difficulties are represented as evenly as possible.
    """
    distinct = {canonical_text(game, puzzle.position): puzzle for puzzle in reversed(puzzles)}
    by_difficulty: dict[int, list[Puzzle]] = {}
    for puzzle in reversed(list(distinct.values())):
        by_difficulty.setdefault(len(puzzle.failing_rungs), []).append(puzzle)
    selected: list[Puzzle] = []
    while len(selected) < number and any(by_difficulty.values()):
        for group in by_difficulty.values():
            if group and len(selected) < number:
                selected.append(group.pop(0))
    return sorted(selected, key=lambda puzzle: (len(puzzle.failing_rungs), puzzle.turns))


def canonical_text(game: Game, position: Position) -> str:
    """Return the least text of a position and its symmetric ones."""
    images = (symmetry.position(position) for symmetry in game.symmetries)
    return min(map(game.to_text, (position, *images)))


if __name__ == "__main__":
    sys.exit(run(app))
