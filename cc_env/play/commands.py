"""The commands of a front end: a table of its methods, from which they are called by name."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from cc_env.errors import check_name

Method = TypeVar("Method", bound=Callable[..., None])


class Command(NamedTuple):
    """A command of a front end."""

    # A method of the front end.
    run: Callable[..., None]
    # Names of the arguments after those of the front end itself.
    arguments: tuple[str, ...]
    description: str

    def run_line(self, front_end: object, rest: str) -> None:
        """Run the command of a line with the rest of the line, if the command has arguments."""
        self.run(front_end, *([rest] if self.arguments else []))


class CommandTable(dict[str, Command]):
    """Commands by name, in the order of their definition."""

    def add(self, name: str, *arguments: str, description: str = "") -> Callable[[Method], Method]:
        """Return a decorator that adds a method as the command `name`."""

        def decorate(method: Method) -> Method:
            self[name] = Command(method, arguments, description)
            return method

        return decorate

    def find(self, name: object) -> Command:
        """Return the command `name`; raise UnknownOption, with all names, if there is none."""
        return self[check_name("command", name, sorted(self))]
