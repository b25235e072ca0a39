"""python -m cc_env: games, perft, replay, check."""

import sys

from cc_env.errors import CcEnvError, MissingExtra


def main() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    try:
        from cc_env.commands import app
    except MissingExtra as missing:
        print(missing, file=sys.stderr)
        return 2
    try:
        app()
    except CcEnvError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
