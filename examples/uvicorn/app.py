# SPDX-License-Identifier: Apache-2.0
"""A small ASGI application without dependencies whose costs are known.

    /fast        a small body, no work
    /io?ms=T     waits T ms the right way: the loop serves others meanwhile
    /cpu?ms=T    uses T ms of CPU time: only more processes help, up to the cores
    /block?ms=T  sleeps T ms *on* the loop: the bug that looks like a slow service
"""
import asyncio
import time
from urllib.parse import parse_qs


async def fast(_seconds):
    pass


async def io(seconds):
    await asyncio.sleep(seconds)


async def cpu(seconds):
    # CPU time of the thread, not of the clock: a worker that has to share a
    # core then takes longer, as real work does.
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def block(seconds):
    time.sleep(seconds)


ROUTES = {"/fast": fast, "/io": io, "/cpu": cpu, "/block": block}


def requested_seconds(scope):
    """T of the query, 0 when absent; None when it is no number."""
    values = parse_qs(scope["query_string"].decode()).get("ms", ["0"])
    try:
        return float(values[0]) / 1000
    except ValueError:
        return None


async def respond(send, status, body):
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def app(scope, _receive, send):
    # The lifespan protocol is optional: a server goes on without it.
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])
    handler = ROUTES.get(scope["path"])
    seconds = requested_seconds(scope)
    if handler is None:
        await respond(send, 404, b"no such path\n")
    elif seconds is None:
        await respond(send, 400, b"ms is not a number\n")
    else:
        await handler(seconds)
        await respond(send, 200, b"ok\n")
