"""The log of a run, for tests that compare runs."""

import json

# Suffixes of columns that depend on time.
TIMES = "minutes", "_seconds", "_per_second"


def log_of(run):
    """Return the rows of a run's log."""
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def timeless(rows, times=TIMES):
    """Return the rows without columns with these suffixes."""
    return [{name: row[name] for name in row if not name.endswith(times)} for row in rows]
