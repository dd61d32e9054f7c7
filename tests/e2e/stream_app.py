# SPDX-License-Identifier: Apache-2.0
"""An ASGI application of server-sent events: /every/MS sends one each MS
milliseconds, /some/MS/N ends each fourth stream after N of them, /slow/MS is an
answer that waits, and /seen tells what was streamed."""
import asyncio
import json

SEEN = {"streams": 0, "ended": 0, "events": 0}


async def answer(send, body, content_type=b"text/plain"):
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-type", content_type),
                            (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


async def stream(receive, send, pause_s, last):
    SEEN["streams"] += 1
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-type", b"text/event-stream"),
                            (b"x-accel-buffering", b"no")]})
    gone = asyncio.ensure_future(receive())
    sent = 0
    while sent != last:
        await asyncio.wait({gone}, timeout=pause_s)
        if gone.done():
            return
        # Two lines and an empty one, which come in pieces.
        for piece in (b"event: tick\ndata: ", b"%d\n" % sent, b"\n"):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        sent += 1
        SEEN["events"] += 1
    SEEN["ended"] += 1
    gone.cancel()
    await send({"type": "http.response.body", "body": b""})


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    await receive()
    kind, *arguments = scope["path"].strip("/").split("/")
    numbers = [int(argument) for argument in arguments]
    if kind == "every":
        await stream(receive, send, numbers[0] / 1000, -1)
    elif kind == "some":
        last = numbers[1] if SEEN["streams"] % 4 == 3 else -1
        await stream(receive, send, numbers[0] / 1000, last)
    elif kind == "slow":
        await asyncio.sleep(numbers[0] / 1000)
        await answer(send, b"slow\n")
    else:
        await answer(send, json.dumps(SEEN).encode(), b"application/json")
