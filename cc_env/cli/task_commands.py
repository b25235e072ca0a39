"""The command `tasks` of `python -m cc_env`, and the measurement of players by tasks."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Option

from cc_env.cli.arguments import FILE, GameOptions, Size, check_new_file, game_options
from cc_env.cli.forfeits import warn_of_forfeits
from cc_env.core.game import Game
from cc_env.errors import BadOption, check_name, format_count
from cc_env.files import write_atomically
from cc_env.games.factory import describe_game, make_game
from cc_env.output import Terminal, make_number_table
from cc_env.registry.catalogue import GAMES
from cc_env.tasks.generation import DEFAULT_COUNT, make_tasks
from cc_env.tasks.measurement import measure, share_solved
from cc_env.tasks.task import KINDS, SPLITS, Task, read_tasks

console = Terminal()


def tasks(
    to: Annotated[Path, Option(**FILE, help="The new file, a line of JSON for each task.")],
    game_names: Annotated[
        list[str] | None,
        Option("--game", "-g", help="A game; may be repeated.", show_default="all"),
    ] = None,
    size: Size = None,
    option: GameOptions = None,
    kind: Annotated[
        list[str] | None,
        Option(help=f"{', '.join(KINDS)}; may be repeated.", show_default="all"),
    ] = None,
    count: Annotated[
        int, Option(min=1, help="Tasks of each kind and game, or fewer.")
    ] = DEFAULT_COUNT,
    split: Annotated[
        str | None, Option(help=f"Only this split: {' or '.join(SPLITS)}.", show_default=False)
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the tasks and of the split.")] = 0,
) -> None:
    """Make tasks in words for language models, with their answers."""
    for name in kind or ():
        check_name("kind", name, KINDS)
    if split is not None:
        check_name("split", split, SPLITS)
    check_new_file(to)
    lines = [
        task.to_json() + "\n"
        for name in game_names or GAMES
        for game in [make_game(name, **game_options(option, size, name))]
        for each in kind or KINDS
        for task in _make_tasks(game, each, count, seed)
        if split in (None, task.split)
    ]
    if not lines:
        raise BadOption(f"there are no tasks with these options; {to} was not written")
    write_atomically(to, "".join(lines))
    console.print(f"{format_count(len(lines), 'task')} written to {to}")


def _make_tasks(game: Game, kind: str, count: int, seed: int) -> list[Task]:
    """Return tasks of a kind; print a note on stderr if there are fewer than `count`."""
    made = make_tasks(game, kind, count, seed=seed)
    if len(made) < count:
        note = f"{describe_game(game)} has {len(made)} tasks of the kind {kind}, fewer than {count}"
        print(f"note: {note}", file=sys.stderr)
    return made


def print_solved_tasks(player: str, file: Path, seed: int, workers: int) -> bool:
    """Print the share of the tasks in a file that a player solves, by kind.

    Returns whether it forfeits all of them. Raises BadRecord for an invalid file, BadOption if the
    player can answer none of its tasks.
    """
    answers = measure(player, read_tasks(file), seed=seed, workers=workers)
    if not answers:
        raise BadOption(f"{file}: there are no tasks that {player!r:.80} can answer")
    table = make_number_table(player, "tasks", "solved", "95 %")
    for kind in KINDS:
        if part := [answer for answer in answers if answer.task.kind == kind]:
            share, low, high = (100 * value for value in share_solved(part))
            table.add_row(kind, f"{len(part)}", f"{share:.0f} %", f"{low:.0f} to {high:.0f} %")
    console.print_table(table)
    faults = [answer.fault for answer in answers if answer.fault]
    return warn_of_forfeits(player, faults, len(answers), "task")
