"""Every player by its spoken name: those of the library, and those that run from a checkout.

`make("minimax:depth=3", game)` and the like; see `cc_env.players` for the names. Importing this
package adds the players of its modules to the library's table, so that environments, records and
the arena know them too.
"""

from cc_env.players import PLAYERS, make, register

__all__ = ["PLAYERS", "make", "register"]
