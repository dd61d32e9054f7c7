# SPDX-License-Identifier: Apache-2.0
"""The application of examples/uvicorn, which also notes who connected: the
file CONNECTIONS/PID of each worker has a line "TIME_NS PORT" for every
connection that asked for /block, from its first request."""
import os
import time

from app import app as example

known = set()


def note(client_port):
    if client_port in known:
        return
    known.add(client_port)
    with open(f"{os.environ['CONNECTIONS']}/{os.getpid()}", "a", encoding="ascii") as file:
        file.write(f"{time.monotonic_ns()} {client_port}\n")


async def app(scope, receive, send):
    if scope["type"] == "http" and scope["path"] == "/block":
        note(scope["client"][1])
    await example(scope, receive, send)
