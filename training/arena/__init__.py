"""The arena: players meet, and tables say who is stronger and how surely.

    hold   a match or a tournament, without files: hold(("new", "old"), games=40).standings
    run    one in a folder: killed and called again, it goes on where it was

`tables.show` prints a tournament, `report.write` makes a page of it.

The same config and seed are the same games, however many workers play them. Where players learn on
the way, games follow each other in one process, and depend on what was learned before as well.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cc_env import players, referee
from cc_env.errors import UnknownOption, is_whole, listed
from cc_env.files import write
from cc_env.game import Game
from cc_env.match import Limits
from cc_env.record import Record
from training.arena import folder
from training.arena import workers as processes
from training.arena.ratings import Interval
from training.arena.schedule import Config, Pairing, schedule, try_players
from training.arena.standings import Standings, standings

__all__ = [
    "ENGINES",
    "Config",
    "Interval",
    "Standings",
    "Tournament",
    "hold",
    "run",
    "try_players",
]

ENGINES = "processes", "ray"

Progress = Callable[[int, int], None]  # is told how many games are finished, of how many


@dataclass(frozen=True, eq=False)
class Tournament:
    """A tournament that was played, with what could not be."""

    config: Config
    schedule: Sequence[Pairing]
    records: Mapping[int, Record]  # by index in the schedule, ascending
    unplayed: Mapping[int, str]  # by index: why

    @cached_property
    def standings(self) -> Standings:
        """The tables."""
        openings = [self.schedule[index].opening for index in self.records]
        return standings(self.config, list(self.records.values()), openings)

    def to_json(self) -> dict[str, Any]:
        """Return config, tables and games, without any times."""
        played = [
            {
                "game": index,
                "opening": self.schedule[index].opening,
                "players": list(one.players),
                "result": one.result,
                "reason": one.reason,
                "turns": len(one.turns),
            }
            for index, one in self.records.items()
        ]
        return {
            "config": self.config.to_json(),
            "anchor": self.config.anchor,
            **self.standings.to_json(),
            "games": played,
            "unplayed": [{"game": index, "why": why} for index, why in self.unplayed.items()],
        }


def hold(
    names: Iterable[str],
    game: str = "capture_conquer",
    *,
    workers: int | None = 0,
    engine: str = "processes",
    **config: Any,
) -> Tournament:
    """Let players meet, without any files; `config` are further fields of `Config`.

    With 0 workers it happens in this process, where `agents.register` may have named players; else
    as `run` does it. Raises UnknownOption where a player cannot be made or `Config` raises it,
    ChildProcessError where a game could not be played.
    """
    settled = Config(players=tuple(names), game=game, **config)
    each = _each(engine, workers, settled.learn)
    plan, found = schedule(settled), {}
    learners = _learners(settled, try_players(settled.players, settled.make_game()))
    for pairing, one in each(partial(_play, settled), plan):
        if isinstance(one, processes.Failure):
            raise ChildProcessError(f"game {pairing.index} could not be played: {one}")
        found[pairing.index] = one
        _learn(learners, one)
    return Tournament(settled, plan, dict(sorted(found.items())), {})


def run(
    config: Config,
    path: Path,
    *,
    workers: int | None = None,
    engine: str = "processes",
    on_progress: Progress = lambda finished, total: None,
) -> Tournament:
    """Play a tournament in a folder, or what is left of it, and write its results.json.

    `workers` are processes, None for one a core, and none where players learn; with the engine
    "ray" they are on a cluster, see `training.cluster`, which knows players by dotted names or
    those of `agents` alone. A game whose process dies is left out, and tried again by the next
    call. Raises UnknownOption, before anything is written, where the folder is another tournament's
    or in use, or a player cannot be made, or there is no such engine or no cluster; MissingExtra
    without Ray; BadRecord where the folder's games are broken; ChildProcessError where processes
    cannot even begin.
    """
    plan = schedule(config)
    learners = _learners(config, try_players(config.players, config.make_game()))
    each = _each(engine, workers, config.learn)
    unplayed: dict[int, str] = {}
    with folder.opened(path, config):
        records = folder.played(path, config, plan)
        for known in records.values():  # a kill may have come between playing and learning
            _learn(learners, known)
        on_progress(len(records), len(plan))
        left = [pairing for pairing in plan if pairing.index not in records]
        for pairing, found in each(partial(_play, config), left):
            if isinstance(found, processes.Failure):
                unplayed[pairing.index] = str(found)
            else:
                folder.append(path, found)
                records[pairing.index] = found
                _learn(learners, found)
                on_progress(len(records), len(plan))
        tournament = Tournament(
            config, plan, dict(sorted(records.items())), dict(sorted(unplayed.items()))
        )
        write(path / folder.RESULTS, folder.to_text(tournament.to_json()))
    return tournament


def _play(config: Config, pairing: Pairing) -> Record:
    return play(config.make_game(), pairing, config.limits)


def play(game: Game, pairing: Pairing, limits: Limits | None = None) -> Record:
    """Play one game of a plan, with fresh players."""
    next(game.turns(game.initial))  # compiles the rules; players compile when they are made
    return referee.play(
        game,
        [players.make(name, game) for name in pairing.players],
        names=pairing.players,
        start=game.from_text(pairing.start),
        limits=limits,
        seed=pairing.seed,
    )


def _each(
    engine: str, workers: int | None, learn: bool
) -> Callable[..., Iterator[tuple[Pairing, Any]]]:
    """Return what plays a plan, as `training.arena.workers.each` does with so many workers."""
    if engine not in ENGINES:
        raise UnknownOption(f"there is no engine {engine!r}; there are: {listed(ENGINES)}")
    least, why = (0, "0 for this process alone") if engine == "processes" else (1, "with 'ray'")
    if workers is not None and not is_whole(workers, least):
        raise UnknownOption(f"workers={workers!r}; it is a whole number from {least}, {why}")
    if learn and (workers or engine != "processes"):
        raise UnknownOption(
            "where players learn, games follow each other in this process: 0 workers"
        )
    if learn:
        return partial(processes.each, workers=0)
    if engine == "processes":
        return partial(processes.each, workers=processes.cores() if workers is None else workers)
    from training import cluster  # not above: it takes a second, and an extra

    cluster.knock()
    return partial(cluster.each, workers=workers)


def _learners(config: Config, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return who learns, by name."""
    if not config.learn:
        return {}
    found = {name: each for name, each in made.items() if hasattr(each, "remember")}
    if not found:
        raise UnknownOption(f"learn, but none of {listed(made)} can; memory:path=… does")
    return found


def _learn(learners: Mapping[str, Any], record: Record) -> None:
    """Let the players of a game learn from it: what `remember` was told before, it ignores."""
    for name in record.players:
        if name in learners:
            learners[name].remember(record)
