"""The reference of the command line, read from the commands themselves."""

import importlib
import importlib.util
from pathlib import Path

import click
import typer

from docs.make.blocks import Block, maker, table


@maker
def commands(block: Block) -> str:
    """Return the reference of a module's commands: `cc_env.cli.commands`, `training.alphazero`."""
    (module,) = block.words
    app = importlib.import_module(module).app
    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {"": group})
    name = "cc_env" if module == "cc_env.cli.commands" else f"python -m {_runnable(module)}"
    return "\n\n".join(
        _command(f"{name} {word}".strip(), command) for word, command in commands.items()
    )


def _runnable(module: str) -> str:
    """Return the module to run: the package of `module` if its __main__ runs this command."""
    package = module.rpartition(".")[0]
    main = importlib.util.find_spec(f"{package}.__main__")
    text = Path(main.origin).read_text() if main and main.origin else ""
    return package if f"from {module} import app" in text else module


def _command(name: str, command: click.Command) -> str:
    arguments = [
        parameter for parameter in command.params if parameter.param_type_name == "argument"
    ]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *map(_metavar, arguments)])
    parts = [f"## `{name}`", " ".join((command.help or "").split()), f"```text\n{usage}\n```"]
    rows = [
        (f"`{_metavar(argument)}`", _default(argument), _help(argument)) for argument in arguments
    ]
    rows += [(_names(option), _default(option), _help(option)) for option in options]
    return "\n\n".join(
        [*parts, *([table(["argument", "default", "meaning"], rows)] if rows else [])]
    )


def _metavar(parameter: click.Parameter) -> str:
    name = (parameter.metavar or parameter.name or "").upper().strip("[]…")
    name += "…" if parameter.nargs == -1 else ""
    return name if parameter.required else f"[{name}]"


def _names(parameter: click.Parameter) -> str:
    names = [*sorted(parameter.opts, key=len), *parameter.secondary_opts]
    metavar = f" {parameter.metavar}" if parameter.metavar else ""
    return ", ".join(f"`{name}{metavar}`" for name in names)


def _default(parameter: click.Parameter) -> str:
    shown_default = getattr(parameter, "show_default", None)
    if isinstance(shown_default, str):
        return shown_default
    value = parameter.default
    is_flag = parameter.required or getattr(parameter, "is_flag", False)
    return "" if value is None or callable(value) or is_flag else f"`{value}`"


def _help(parameter: click.Parameter) -> str:
    return " ".join((getattr(parameter, "help", None) or "").split())
