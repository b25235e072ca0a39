"""JSON of untrusted files: no object has a name twice, as one of both values would be lost."""

import json
from collections import Counter
from typing import Any

from cc_env.errors import BadRecord


def loads(text: str) -> Any:
    """Return the value of a JSON text; raise BadRecord where it is none, or has a name twice."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except BadRecord:
        raise
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"not JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise BadRecord(f"the name {twice!r} is twice in one object")
    return names
