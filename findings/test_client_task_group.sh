#!/usr/bin/env bash
# Starlette's TestClient raises CancelledError for a WebSocket endpoint that ends normally after an
# asyncio.TaskGroup.
#
# starlette 1.10.0, anyio 4.16.0, httpx2 2.16.2; Python 3.11 to 3.13.
#
# The endpoint receives and sends in two tasks of a TaskGroup, and handles the WebSocketDisconnect
# of the receiving one. When the client leaves, the TestClient sends the disconnect and cancels the
# scope of the endpoint at once. The TaskGroup is waiting for its cancelled tasks then; the
# exception of the receiving task has priority over the cancellation, which the TaskGroup drops.
# The endpoint handles the exception and returns, but leaving `with client.websocket_connect(…)`
# raises concurrent.futures.CancelledError. With asyncio.wait instead of the TaskGroup, nothing is
# raised.
#
# Output: "TaskGroup: CancelledError" and "wait: nothing".
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet starlette==1.10.0 anyio==4.16.0 httpx2==2.16.2

cat > "$folder/clients.py" <<'END'
import asyncio

from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect


async def receive(socket):
    while True:
        await socket.receive_text()


async def send(socket):
    await asyncio.Event().wait()


async def serve_in_task_group(socket):
    await socket.accept()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(receive(socket))
            group.create_task(send(socket))
    except* WebSocketDisconnect:
        pass


async def serve_with_wait(socket):
    await socket.accept()
    tasks = [asyncio.create_task(receive(socket)), asyncio.create_task(send(socket))]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    except WebSocketDisconnect:
        pass
    finally:
        for task in tasks:
            task.cancel()


def raised(endpoint):
    client = TestClient(Starlette(routes=[WebSocketRoute("/", endpoint)]))
    try:
        with client.websocket_connect("/"):
            pass
    except BaseException as error:
        return type(error).__name__
    return "nothing"


print("TaskGroup:", raised(serve_in_task_group))
print("wait:", raised(serve_with_wait))
END

output=$("$folder/venv/bin/python" "$folder/clients.py")
echo "$output"
expected=$'TaskGroup: CancelledError\nwait: nothing'
if [ "$output" != "$expected" ]; then
    echo "the behavior has changed; expected: $expected" >&2
    exit 1
fi
