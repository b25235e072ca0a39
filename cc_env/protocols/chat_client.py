"""A client of language models on servers with the chat completions of OpenAI's API.

The key of the server is the environment variable CC_ENV_LLM_KEY, without white space around it; no
error contains it.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from cc_env.errors import BadOption, CcEnvError, is_integer
from cc_env.version import __version__

KEY_VARIABLE = "CC_ENV_LLM_KEY"
MAX_RESPONSE_BYTES = 1 << 22
# Pause before the first retry; each further pause is twice as long.
RETRY_SECONDS = 0.5
# The end of a reply that the server cut off at the maximal number of tokens.
TRUNCATION_MARK = " [truncated]"
# Characters of a response in an error message.
_MAX_QUOTED_LENGTH = 200
_BAD_REQUEST, _TOO_MANY_REQUESTS = 400, 429
# The limit of a reply's length. OpenAI's reasoning models refuse the first name and require the
# second, which other servers may ignore.
_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_CONNECTIONS = {"http": HTTPConnection, "https": HTTPSConnection}

# The role, such as "user", and the content.
Message = Mapping[str, str]


class ChatError(CcEnvError):
    """A server that is absent, refuses a request, or returns something other than a reply."""


class _TemporaryError(ChatError):
    """An error after which the same request may succeed."""


class _RefusedLimitError(ChatError):
    """The refusal of a request that names the other parameter for the limit of a reply's length."""


class Completion(NamedTuple):
    """A reply of a model, and its length in tokens; 0 if the server does not report it.

    A reply that the server cut off ends with TRUNCATION_MARK, so that its last words are no answer.
    """

    text: str
    tokens: int


class ChatClient:
    """Requests the replies of a model; each request has a connection of its own."""

    def __init__(self, url: str, retries: int = 2) -> None:
        """Use the server at `url`, such as http://127.0.0.1:8000/v1.

        A request that fails temporarily is repeated up to `retries` times. Raises BadOption for an
        invalid URL, or an invalid key in the environment.
        """
        _read_key()
        self._retries = retries
        # Whether the model has refused the limit of a reply's length under its first name.
        self._has_new_limit = False
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port
            # Empty and overlong names of a domain raise UnicodeError.
            self._host.encode("idna")
        except ValueError:
            raise _bad_url(url) from None
        is_plain = url.isascii() and url.isprintable() and " " not in url
        has_secrets = "@" in parts.netloc or parts.query
        if not is_plain or has_secrets or parts.scheme not in _CONNECTIONS or not self._host:
            raise _bad_url(url)
        self._connection_class = _CONNECTIONS[parts.scheme]
        self._path = f"{parts.path.rstrip('/')}/chat/completions"

    def complete(
        self, messages: Sequence[Message], parameters: Mapping[str, Any], until: float
    ) -> Completion:
        """Return the reply to a conversation; `parameters` are those of the API, with the model.

        Raises TimeoutError at the time `until` (of `time.perf_counter`), and ChatError.
        """
        for attempt in range(self._retries + 1):
            try:
                return self._request({**parameters, "messages": list(messages)}, until)
            except _TemporaryError:
                pause = RETRY_SECONDS * 2**attempt
                if attempt == self._retries:
                    raise
                if time.perf_counter() + pause >= until:
                    raise TimeoutError from None
                time.sleep(pause)
        raise AssertionError

    def _request(self, parameters: Mapping[str, Any], until: float) -> Completion:
        """Return the reply to a request; if its limit is refused, repeat it with the other name.

        Raises TimeoutError at the time `until`, and ChatError.
        """
        if not self._has_new_limit:
            try:
                return parse_completion(self._post(json.dumps(parameters), until))
            except _RefusedLimitError:
                self._has_new_limit = True
        names = {_LIMIT: _NEW_LIMIT}
        renamed = {names.get(name, name): value for name, value in parameters.items()}
        return parse_completion(self._post(json.dumps(renamed), until))

    def _post(self, body: str, until: float) -> bytes:
        """Return the response to a request.

        Raises TimeoutError at the time `until`, and ChatError.
        """
        _check_time(until)
        seconds = until - time.perf_counter()
        connection = self._connection_class(self._host, self._port, timeout=max(seconds, 1e-3))
        try:
            connection.connect()
            with _shut_down_at(connection.sock, until):
                connection.request("POST", self._path, body.encode(), _headers())
                with connection.getresponse() as response:
                    content: bytes = response.read(MAX_RESPONSE_BYTES + 1)
            # A response that was shut down may look complete.
            _check_time(until)
        except (OSError, HTTPException) as error:
            _check_time(until)
            reason = _excerpt(str(error) or type(error).__name__)
            raise _TemporaryError(f"{self._host}: {reason}") from None
        finally:
            connection.close()
        _check_response(response.status, content)
        return content


def _check_time(until: float) -> None:
    """Raise TimeoutError after the time `until` (of `time.perf_counter`)."""
    if time.perf_counter() >= until:
        raise TimeoutError


@contextmanager
def _shut_down_at(connection: socket.socket, until: float) -> Iterator[None]:
    """End a connection at the time `until` (of `time.perf_counter`) if the block still runs.

    A timeout of the socket would not stop a server that sends a byte at a time.
    """

    def shut_down() -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, until - time.perf_counter()), shut_down)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _bad_url(url: object) -> BadOption:
    expected = "http or https, without a key, such as http://127.0.0.1:8000/v1"
    return BadOption(f"url={_without_key(str(url))!r}; expected: {expected}")


def _read_key() -> str:
    """Return the key, "" if there is none; raise BadOption, without it, if it is invalid."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not (key.isascii() and key.isprintable()):
        expected = "ASCII characters without control characters"
        raise BadOption(f"the key in {KEY_VARIABLE} is invalid; expected: {expected}")
    return key


def _headers() -> dict[str, str]:
    """Return the headers of a request, with the key if there is one."""
    key = _read_key()
    return {
        "Content-Type": "application/json",
        "User-Agent": f"cc_env/{__version__}",
        **({"Authorization": f"Bearer {key}"} if key else {}),
    }


def _check_response(status: int, content: bytes) -> None:
    """Raise ChatError unless a response is complete and without an error."""
    if len(content) > MAX_RESPONSE_BYTES:
        raise ChatError(f"the response has more than {MAX_RESPONSE_BYTES:,} bytes")
    if status == 200:
        return
    text = _excerpt(content.decode(errors="replace"))
    message = f"HTTP status {status}: {' '.join(text.split())}"
    if status in (401, 403):
        raise ChatError(f"HTTP status {status}: the server refuses the key in {KEY_VARIABLE}")
    if status == _BAD_REQUEST and _NEW_LIMIT.encode() in content:
        raise _RefusedLimitError(message)
    if status == _TOO_MANY_REQUESTS or status >= 500:
        raise _TemporaryError(message)
    raise ChatError(message)


def parse_completion(content: bytes) -> Completion:
    """Return the reply in a response, without the key; raise ChatError if it has none."""
    try:
        response = json.loads(content)
        choice = response["choices"][0]
        text = choice["message"]["content"]
        finish_reason = choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        text = finish_reason = None
    if not isinstance(text, str):
        excerpt = _excerpt(content.decode(errors="replace"))
        raise ChatError(f"the response {excerpt!r} has no choices[0].message.content")
    mark = TRUNCATION_MARK if finish_reason == "length" else ""
    return Completion(f"{_without_key(text)}{mark}", _reported_tokens(response))


def _reported_tokens(response: Mapping[str, Any]) -> int:
    """Return the length of the reply in tokens; 0 unless the server reports a positive number."""
    usage = response.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
    return cast(int, tokens) if is_integer(tokens, 1) else 0


def _excerpt(text: str) -> str:
    """Return the beginning of a text in which the key is replaced."""
    # A part of the key would not be replaced.
    return _without_key(text)[:_MAX_QUOTED_LENGTH]


def _without_key(text: str) -> str:
    """Return a text in which the key is replaced."""
    key = _read_key()
    return text.replace(key, f"${KEY_VARIABLE}") if key else text
