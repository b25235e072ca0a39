"""The arena: tournaments of players, with ratings and confidence intervals.

    hold   a match or a tournament in memory: hold(("random", player), games=40).standings
    run    a tournament in a folder; after an interruption the same call continues it

`tables.show` prints a tournament, `report.write` writes it as an HTML page.

The same config and seed give the same games, whatever the number of workers. If players learn
during the tournament, the games run one after the other in one process, and also depend on what
the players had learned before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cc_env.core.game import Game
from cc_env.errors import BadOption, format_list
from cc_env.files import write_atomically
from cc_env.match.confidence import Interval
from cc_env.match.match import Limits
from cc_env.match.record import Record
from cc_env.match.referee import Player, play_match
from cc_env.players.specs import make_player
from training.arena import entrants, folder
from training.arena.entrants import Entrants
from training.arena.schedule import Config, Pairing, schedule, try_players
from training.arena.standings import Standings, standings
from training.parallel.processes import Failure
from training.parallel.tasks import Mapper, mapper
from training.runs.folder import to_text

__all__ = [
    "Config",
    "Interval",
    "Standings",
    "Tournament",
    "hold",
    "run",
    "try_players",
]

Progress = Callable[[int, int], None]  # called with the games finished and the games in all


@dataclass(frozen=True, eq=False)
class Tournament:
    """A tournament: the games played, and those that failed."""

    config: Config
    schedule: Sequence[Pairing]
    records: Mapping[int, Record]  # by index in the schedule, ascending
    unplayed: Mapping[int, str]  # by index: why the game failed

    @cached_property
    def standings(self) -> Standings:
        """Ratings, scores and statistics of the games played."""
        openings = [self.schedule[index].opening for index in self.records]
        return standings(self.config, list(self.records.values()), openings)

    def to_json(self) -> dict[str, Any]:
        """Return config, standings and games as JSON, without thinking times."""
        played = [
            {
                "game": index,
                "opening": self.schedule[index].opening,
                "players": list(record.players),
                "result": record.result,
                "reason": record.reason,
                "turns": len(record.turns),
            }
            for index, record in self.records.items()
        ]
        return {
            "config": self.config.to_json(),
            "anchor": self.config.anchor,
            **self.standings.to_json(),
            "games": played,
            "unplayed": [{"game": index, "why": why} for index, why in self.unplayed.items()],
        }


def hold(
    players: Entrants,
    game: str = "capture_conquer",
    *,
    workers: int | None = 0,
    engine: str = "processes",
    **config: Any,
) -> Tournament:
    """Play a tournament without writing files; `config` are further fields of `Config`.

    Players are spoken names, made again for each game, and objects with `choose`, which play all of
    their games (see `cc_env.match.referee.player_for_new_game`) under the names of their classes. A
    mapping gives other names to either.

    With 0 workers the games are played in this process, which also knows players that were added
    by `agents.register`; other numbers as in `run`: each game then has pickled copies of objects.
    Raises BadOption if a player cannot be made or pickled or a field of the config is invalid,
    ChildProcessError if a game could not be played.
    """
    named = entrants.by_name(players)
    with entrants.known(named):
        complete = Config(players=tuple(named), game=game, **config)
        play_all = _mapper(engine, workers, complete.learn)
        plan, records = schedule(complete), {}
        learners = _learners(complete, try_players(complete.players, complete.make_game()))
        for pairing, record in play_all(_work(complete, named, workers), plan):
            if isinstance(record, Failure):
                raise ChildProcessError(f"game {pairing.index} could not be played: {record}")
            records[pairing.index] = record
            _learn(learners, record)
    return Tournament(complete, plan, dict(sorted(records.items())), {})


def run(
    config: Config,
    path: Path,
    *,
    workers: int | None = None,
    engine: str = "processes",
    on_progress: Progress = lambda finished, total: None,
) -> Tournament:
    """Play a tournament in a folder, or the rest of it, and write its results.json.

    `workers` is the number of processes, None for one per core; if players learn, it is 0. With the
    engine "ray" the processes are on a cluster (`training.parallel.cluster`), which only knows
    players of `agents` and those with dotted names. A game whose process dies is left out; the next
    call tries it again.

    Before anything is written, raises BadFolder if the folder holds another tournament, FolderInUse
    if another process works there, BadOption if a player cannot be made, there is no such
    engine or no cluster answers, and MissingExtra without Ray. Raises BadRecord if the games in the
    folder are broken, ChildProcessError if the processes cannot start.
    """
    plan = schedule(config)
    learners = _learners(config, try_players(config.players, config.make_game()))
    play_all = _mapper(engine, workers, config.learn)
    unplayed: dict[int, str] = {}
    with folder.opened(path, config):
        records = folder.played(path, config, plan)
        for record in records.values():  # the last run may have stopped before it learned
            _learn(learners, record)
        on_progress(len(records), len(plan))
        left = [pairing for pairing in plan if pairing.index not in records]
        for pairing, record in play_all(partial(_play_scheduled, config), left):
            if isinstance(record, Failure):
                unplayed[pairing.index] = str(record)
            else:
                folder.append(path, record)
                records[pairing.index] = record
                _learn(learners, record)
                on_progress(len(records), len(plan))
        tournament = Tournament(
            config, plan, dict(sorted(records.items())), dict(sorted(unplayed.items()))
        )
        write_atomically(path / folder.RESULTS, to_text(tournament.to_json()))
    return tournament


def _play_scheduled(config: Config, pairing: Pairing) -> Record:
    return play_pairing(config.make_game(), pairing, config.limits)


def _work(
    config: Config, named: Mapping[str, str | Player], workers: int | None
) -> Callable[[Pairing], Record]:
    """Return what plays a game: here by the players themselves, elsewhere by copies of them."""
    if workers == 0 or config.learn:
        return partial(_play_scheduled, config)
    return partial(_play_sent, config, entrants.pickled(named))


def _play_sent(config: Config, sent: Mapping[str, bytes], pairing: Pairing) -> Record:
    with entrants.known(entrants.unpickled(sent, pairing.players)):
        return _play_scheduled(config, pairing)


def play_pairing(game: Game, pairing: Pairing, limits: Limits | None = None) -> Record:
    """Play one game of a schedule, with new players."""
    next(game.turns(game.initial))  # compiles the rules; players compile when they are made
    return play_match(
        game,
        [make_player(name, game) for name in pairing.players],
        names=pairing.players,
        start=game.from_text(pairing.start),
        limits=limits,
        seed=pairing.seed,
    )


def _mapper(engine: str, workers: int | None, learn: bool) -> Mapper:
    """Return the function that plays a schedule; raise as `training.parallel.tasks.mapper`."""
    if learn and (workers or engine != "processes"):
        given = f"workers={workers!r}, engine={engine!r}"
        raise BadOption(f"{given}; when players learn, all games run in this process: workers=0")
    return mapper(engine, 0 if learn else workers)


def _learners(config: Config, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the players that learn, by name."""
    if not config.learn:
        return {}
    learners = {name: player for name, player in made.items() if hasattr(player, "remember")}
    if not learners:
        raise BadOption(f"learn=True, but none of {format_list(made)} can; memory:path=… does")
    return learners


def _learn(learners: Mapping[str, Any], record: Record) -> None:
    """Let the players of a game learn from it; `remember` ignores a game that it knows."""
    for name in record.players:
        if name in learners:
            learners[name].remember(record)
