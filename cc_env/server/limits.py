"""Limits of the server: bytes, seconds and rates."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from limits import RateLimitItem, RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from cc_env.errors import CcEnvError


class BusyError(CcEnvError):
    """A request that the server cannot handle now; a later one may succeed."""

    # HTTP status, as in the other errors of the server.
    status = 503


class TooManyRequestsError(BusyError):
    """A client that exceeds a rate."""

    status = 429


class DamagedGameError(CcEnvError):
    """A stored game that cannot be read, now or later."""

    status = 500


@dataclass(frozen=True)
class ServerLimits:
    """The limits of a server.

    Limits per address apply to an IPv4 address or to a /64 network of IPv6. The maximum number of
    connections is lower if the process may open fewer files.
    """

    # connections
    connections: int = 4000
    connections_per_address: int = 250
    new_connections_per_second: int = 40
    spectators_per_game: int = 200
    # time for a whole request, and for the first message of a client
    request_seconds: float = 10.0
    # time without progress while a client reads a response
    stalled_seconds: float = 30.0
    # time between heartbeats to a client
    heartbeat_seconds: float = 4.0
    # time without a pong after which a client counts as disconnected
    ping_timeout_seconds: float = 10.0
    # requests and messages
    max_message_bytes: int = 4096
    max_request_bytes: int = 100_000
    max_analyzed_decisions: int = 4000
    max_reviewed_turns: int = 400
    messages_per_second: int = 20
    joins_per_second: int = 10
    games_per_minute: int = 60
    analyses_per_minute: int = 600
    analyses_at_once: int = 8
    # games
    games_in_memory: int = 2000
    stored_games: int = 100_000
    stored_bytes: int = 2 * 2**30
    journal_bytes: int = 2**18
    unplayed_days: float = 1.0
    stored_days: float = 365.0
    # players
    decision_seconds: float = 10.0
    clock_seconds: float = 24 * 3600.0
    idle_player_bytes: int = 48 * 2**20
    # defaults rather than limits: the pause between decisions of two players, and the hint player
    pace_seconds: float = 0.8
    hint_player: str = "minimax:hard"

    @property
    def rates(self) -> dict[str, RateLimitItem]:
        """The maximum rate of each action of an address, by the name of the action."""
        return {
            "connections": RateLimitItemPerSecond(5 * self.new_connections_per_second, 5),
            "connections to games": RateLimitItemPerSecond(5 * self.joins_per_second, 5),
            "new games": RateLimitItemPerMinute(self.games_per_minute),
            "analyses": RateLimitItemPerMinute(self.analyses_per_minute),
        }


class Rates:
    """Counts the actions of each address and rejects those beyond its rate."""

    def __init__(self, limits: ServerLimits) -> None:
        """Start with all counts at zero."""
        self._items = limits.rates
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def check(self, action: str, address: str) -> None:
        """Count an action of `ServerLimits.rates`; raise TooManyRequestsError beyond the rate."""
        item = self._items[action]
        if not self._limiter.hit(item, action, address):
            rate = f"{item.amount} in {item.get_expiry()} seconds"
            raise TooManyRequestsError(f"too many {action}; expected: at most {rate}")


class ConcurrencyLimit:
    """The maximum number of concurrent requests or connections of an address."""

    def __init__(self, name: str, maximum: int) -> None:
        """Start with all counts at zero; `name` is a plural noun for error messages."""
        self._name, self._maximum = name, maximum
        self._counts = Counter[str]()

    @contextmanager
    def count(self, address: str) -> Iterator[None]:
        """Count one more during the block; raise TooManyRequestsError beyond the maximum."""
        if self._counts[address] >= self._maximum:
            raise TooManyRequestsError(
                f"too many {self._name}; expected: at most {self._maximum} at once"
            )
        self._counts[address] += 1
        try:
            yield
        finally:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]
