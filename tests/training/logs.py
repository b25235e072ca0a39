"""The log of a run, for tests that compare runs."""

import json

TIMES = (
    "minutes",
    "_seconds",
    "_per_second",
    "_share",
)  # ends of columns that differ


def log_of(run):
    """Return the rows of a run's log."""
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def timeless(rows):
    """Return the rows without what depends on the machine's speed."""
    return [{name: row[name] for name in row if not name.endswith(TIMES)} for row in rows]
