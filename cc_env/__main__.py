"""The entry point of `python -m cc_env`; the commands are in commands.py."""

import sys

from cc_env.errors import MissingExtra


def main() -> int:
    """Run the command line; return the exit status: 0, or 2 for bad input."""
    try:
        from cc_env.commands import app, run
    except MissingExtra as missing:
        print(missing, file=sys.stderr)
        return 2
    return run(app)


if __name__ == "__main__":
    sys.exit(main())
