# SPDX-License-Identifier: Apache-2.0
"""A small WSGI application without dependencies whose costs are known.

    /fast        a small body, no work
    /io?ms=T     waits T ms without using the CPU: holds a thread, or a worker
    /cpu?ms=T    uses T ms of CPU time: only more processes help, up to the cores
"""
import time
from urllib.parse import parse_qs


def fast(_seconds):
    pass


def cpu(seconds):
    # CPU time of the thread, not of the clock: a worker that has to share a
    # core then takes longer, as real work does.
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


ROUTES = {"/fast": fast, "/io": time.sleep, "/cpu": cpu}


def answer(environ):
    """Do what was asked; status and body of the response."""
    handler = ROUTES.get(environ["PATH_INFO"])
    if handler is None:
        return "404 Not Found", b"no such path\n"
    try:
        seconds = float(parse_qs(environ["QUERY_STRING"]).get("ms", ["0"])[0]) / 1000
    except ValueError:
        return "400 Bad Request", b"ms is not a number\n"
    handler(seconds)
    return "200 OK", b"ok\n"


def app(environ, start_response):
    status, body = answer(environ)
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
