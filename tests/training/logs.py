"""The log of a run, for tests that compare runs."""

import json

TIMES = "minutes", "_seconds", "_per_second"  # how names of columns end that tell times


def log_of(run):
    """Return the rows of a run's log."""
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def timeless(rows, times=TIMES):
    """Return the rows without the columns whose names end like this."""
    return [{name: row[name] for name in row if not name.endswith(times)} for row in rows]
