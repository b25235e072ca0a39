"""The arena: tournaments of players, with ratings and confidence intervals.

    play_tournament   a match or tournament in memory: play_tournament(("random", player), games=40)
    run_tournament    a tournament in a folder; the same call resumes it after an interruption

`tables.show` prints a tournament, `report.write` writes it as an HTML page.

The same config and seed give the same games, independently of the number of workers. If players
learn during the tournament, its games run in one process, in order, and also depend on what the
players have learned before.
"""

import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cc_env.core.game import Game
from cc_env.errors import BadOption, describe_forfeits
from cc_env.files import write_atomically
from cc_env.jit.processor import describe_processor
from cc_env.match.confidence import Interval
from cc_env.match.match import Limits
from cc_env.match.record import Record, append_record
from cc_env.match.referee import Player, play_match
from cc_env.players.specs import make_player
from cc_env.processes import Failure
from training.arena import entrants, folder
from training.arena.entrants import Entrants
from training.arena.schedule import Config, Pairing, make_players, schedule
from training.arena.standings import Standings, standings
from training.parallel.tasks import Mapper, task_mapper
from training.runs.folder import to_text

__all__ = [
    "Config",
    "ForfeitWarning",
    "Interval",
    "Standings",
    "Tournament",
    "make_players",
    "play_tournament",
    "run_tournament",
]

# Called with the number of finished games and of all games.
Progress = Callable[[int, int], None]


class ForfeitWarning(UserWarning):
    """A player of a tournament lost games by an error, an illegal action or its time."""


@dataclass(frozen=True, eq=False)
class Tournament:
    """A tournament: the records of its games, and the reasons for failed games.

    Both are mappings by index in the schedule, ascending.
    """

    config: Config
    schedule: Sequence[Pairing]
    records: Mapping[int, Record]
    unplayed: Mapping[int, str]

    @cached_property
    def standings(self) -> Standings:
        """The ratings, scores and statistics of the games played."""
        openings = [self.schedule[index].opening for index in self.records]
        return standings(self.config, list(self.records.values()), openings)

    @property
    def forfeit_messages(self) -> list[str]:
        """A line for each player that forfeited games, with the reason for the first one."""
        lines = []
        for player in self.standings.players:
            lost = [game for game in self.records.values() if game.forfeited_by == player.name]
            if lost:
                faults = [f"{game.reason}: {game.detail}" for game in lost]
                lines.append(describe_forfeits(player.name, faults, player.tally.games, "game"))
        return lines

    @property
    def has_player_without_finished_game(self) -> bool:
        """Whether a player forfeited every game that it played."""
        totals = ((player.tally.games, player.faults) for player in self.standings.players)
        return any(games and games == sum(faults.values()) for games, faults in totals)

    def to_json(self) -> dict[str, Any]:
        """Return config, standings and games as JSON, without thinking times."""
        games = [
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
            "games": games,
            "unplayed": [{"game": index, "why": reason} for index, reason in self.unplayed.items()],
        }


def play_tournament(
    players: Entrants,
    game: str = "capture_conquer",
    *,
    workers: int | None = 0,
    engine: str = "processes",
    **config: Any,
) -> Tournament:
    """Play a tournament without writing files; `config` are further fields of `Config`.

    Players are player specs, from which new players are created for each game, or objects with
    `choose`, which play all of their games (see `cc_env.match.referee.player_for_new_game`) under
    the names of their classes. A mapping gives other names to either.

    With 0 workers the games run in this process, where players of `register_player` are available,
    too; other numbers are as in `run_tournament`, and each game has pickled copies of objects.
    Warns of ForfeitWarning. Raises BadOption if a player cannot be created or pickled or a config
    field is invalid, ChildProcessError if a game failed.
    """
    by_name = entrants.name_entrants(players)
    with entrants.register(by_name):
        full_config = Config(players=tuple(by_name), game=game, **config)
        play_all = _mapper(engine, workers, full_config.learn)
        pairings = schedule(full_config)
        records = {}
        created = make_players(full_config.players, full_config.make_game())
        learners = _learners(full_config, created)
        for pairing, record in play_all(_game_function(full_config, by_name, workers), pairings):
            if isinstance(record, Failure):
                raise ChildProcessError(f"game {pairing.index} could not be played: {record}")
            records[pairing.index] = record
            _learn(learners, record)
    tournament = Tournament(full_config, pairings, dict(sorted(records.items())), {})
    _warn_of_forfeits(tournament)
    return tournament


def run_tournament(
    config: Config,
    path: Path,
    *,
    workers: int | None = None,
    engine: str = "processes",
    on_progress: Progress = lambda finished, total: None,
) -> Tournament:
    """Play the remaining games of a tournament in a folder and write its results.json.

    The results name the processor of each machine that played games, with Ray that of the caller.

    `workers` is the number of processes, None for one per core; if players learn, it is 0. With the
    engine "ray" the processes are on a cluster (`training.parallel.cluster`), where only players of
    `agents` and those with dotted names are available. A game whose process dies is skipped; the
    next call plays it again. Warns of ForfeitWarning.

    Before anything is written, raises BadFolder if the folder holds another tournament, FolderInUse
    if another process uses it, BadOption if a player cannot be created, the engine is unknown or
    the cluster is unreachable, and MissingExtra without Ray. Raises BadRecord if the games in the
    folder are invalid, ChildProcessError if the processes cannot start.
    """
    pairings = schedule(config)
    learners = _learners(config, make_players(config.players, config.make_game()))
    play_all = _mapper(engine, workers, config.learn)
    unplayed: dict[int, str] = {}
    with folder.open_tournament(path, config):
        records = folder.read_games(path, config, pairings)
        # The last session may have stopped before the players learned from its last game.
        for record in records.values():
            _learn(learners, record)
        on_progress(len(records), len(pairings))
        remaining = [pairing for pairing in pairings if pairing.index not in records]
        for pairing, record in play_all(partial(_play_scheduled, config), remaining):
            if isinstance(record, Failure):
                unplayed[pairing.index] = str(record)
            else:
                append_record(path / folder.GAMES, record)
                records[pairing.index] = record
                _learn(learners, record)
                on_progress(len(records), len(pairings))
        tournament = Tournament(
            config, pairings, dict(sorted(records.items())), dict(sorted(unplayed.items()))
        )
        _write_results(path, tournament, is_played_here=bool(remaining))
    _warn_of_forfeits(tournament)
    return tournament


def _write_results(path: Path, tournament: Tournament, is_played_here: bool) -> None:
    processors = folder.read_processors(path)
    if is_played_here:
        processors = processors | {describe_processor()}
    results = tournament.to_json() | {folder.PROCESSORS: sorted(processors)}
    write_atomically(path / folder.RESULTS, to_text(results))


def _warn_of_forfeits(tournament: Tournament) -> None:
    """Warn the caller of the calling function of ForfeitWarning, once for each player."""
    for line in tournament.forfeit_messages:
        warnings.warn(line, ForfeitWarning, stacklevel=3)


def _play_scheduled(config: Config, pairing: Pairing) -> Record:
    """Play one game of the schedule of a tournament."""
    return play_pairing(config.make_game(), pairing, config.limits)


def _game_function(
    config: Config, by_name: Mapping[str, str | Player], workers: int | None
) -> Callable[[Pairing], Record]:
    """Return the function that plays a game; in other processes, it uses copies of the players."""
    if workers == 0 or config.learn:
        return partial(_play_scheduled, config)
    return partial(_play_pickled, config, entrants.pickle_entrants(by_name))


def _play_pickled(config: Config, pickles: Mapping[str, bytes], pairing: Pairing) -> Record:
    """Play one game of the schedule with copies of the players that have pickles."""
    players = {name: pickle.loads(pickles[name]) for name in pairing.players if name in pickles}
    with entrants.register(players):
        return _play_scheduled(config, pairing)


def play_pairing(game: Game, pairing: Pairing, limits: Limits | None = None) -> Record:
    """Play one game of a schedule, with new players."""
    # Compile the rules outside of the clock; players compile when they are created.
    next(game.turns(game.initial))
    return play_match(
        game,
        [make_player(name, game) for name in pairing.players],
        names=pairing.players,
        start=game.from_text(pairing.start),
        limits=limits,
        seed=pairing.seed,
    )


def _mapper(engine: str, workers: int | None, learn: bool) -> Mapper:
    """Return the function that plays a schedule.

    Raises UnknownOption for an unknown engine, BadOption for an invalid number of workers or an
    unreachable cluster, and MissingExtra without Ray.
    """
    if learn and (workers or engine != "processes"):
        raise BadOption(
            f"workers={workers!r}, engine={engine!r}; expected: workers=0, because players learn"
        )
    return task_mapper(engine, 0 if learn else workers)


def _learners(config: Config, players: Mapping[str, Any]) -> dict[str, Any]:
    """Return the players that learn, by name; {} unless the config has `learn`.

    Raises BadOption if the config has `learn`, but no player learns.
    """
    if not config.learn:
        return {}
    learners = {name: player for name, player in players.items() if hasattr(player, "remember")}
    if not learners:
        raise BadOption("learn=True, but no player learns; expected: one such as memory:path=…")
    return learners


def _learn(learners: Mapping[str, Any], record: Record) -> None:
    """Let the players of a game learn from it; a game that was learned already has no effect."""
    for name in record.players:
        if name in learners:
            learners[name].remember(record)
