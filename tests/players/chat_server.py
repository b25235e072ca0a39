"""A server of a language model that follows a script, with OpenAI's chat completions."""

import contextlib
import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Answers each request with the next answer of the script."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(request)
            self.server.headers.append(dict(self.headers))
            self.server.paths.append(self.path)
        with contextlib.suppress(OSError):
            self.server.answer(self, request)

    def send(self, content, status=200):
        """Send a complete response."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def reply(self, text, finish_reason="stop", **usage):
        """Send a chat completion."""
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": finish_reason}
        completion = {
            "id": "completion",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [choice],
        }
        if usage:
            total = sum(usage.values())
            completion["usage"] = {"prompt_tokens": 0, **usage, "total_tokens": total}
        self.send(json.dumps(completion).encode())

    def log_message(self, *arguments):
        """Print nothing."""


class ChatServer(ThreadingHTTPServer):
    """A server whose `answer(handler, request)` sends the responses; it stores the requests."""

    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.lock = answer, threading.Lock()
        self.requests, self.headers, self.paths = [], [], []
        # Set when the server ends, for answers that wait.
        self.has_ended = threading.Event()

    @property
    def spec(self):
        """The spec of a player of this server, without further options."""
        return f"llm:model=scripted,url=http://127.0.0.1:{self.server_port}/v1"


@contextlib.contextmanager
def serving(answer):
    """Run a server in the block."""
    server = ChatServer(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.has_ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


def legal_turns(request):
    """Return the legal turns in a request."""
    content = next(m["content"] for m in request["messages"] if m["role"] == "user")
    return content.rpartition("Legal turns: ")[2].split(", ")


def play_legally(handler, request):
    """Answer with a legal turn, chosen by the seed of the request."""
    turn = random.Random(request["seed"]).choice(legal_turns(request))
    handler.reply(f"A natural move is here.\n<turn>{turn}</turn>", completion_tokens=12)


def say(*texts):
    """Return an answer that replies with these texts in turn, the last one forever."""
    texts = list(texts)

    def answer(handler, request):
        handler.reply(texts.pop(0) if len(texts) > 1 else texts[0], completion_tokens=12)

    return answer


def wait_for_each_other(count, answer):
    """Return an answer that waits until `count` requests are there at once, then answers all."""
    barrier = threading.Barrier(count)

    def answer_together(handler, request):
        with contextlib.suppress(threading.BrokenBarrierError):
            barrier.wait()
            # Later requests do not wait.
            barrier.abort()
        answer(handler, request)

    return answer_together
