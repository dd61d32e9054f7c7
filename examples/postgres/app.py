# SPDX-License-Identifier: Apache-2.0
"""A small WSGI application in front of PostgreSQL whose costs are known.

    /fast            a small body, no query
    /sleep?ms=T      the database waits T ms without using the CPU
    /count?rows=N    the database counts N rows that it makes up: its CPU, not ours

DATABASE says how to connect, as libpq writes it ("host=/run/postgresql").
Each worker has one connection: with sync workers it has one query at a time.
"""
import os
from urllib.parse import parse_qs

import psycopg2

QUERIES = {
    "/fast": None,
    "/sleep": ("select pg_sleep(%s / 1000)", "ms"),
    "/count": ("select count(*) from generate_series(1, %s)", "rows"),
}

connection = None


def execute(query, number):
    global connection
    # After the fork: a connection cannot be shared by processes.
    if connection is None:
        connection = psycopg2.connect(os.environ["DATABASE"])
        connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(query, (number,))
        return cursor.fetchone()


def answer(environ):
    """Do what was asked; status and body of the response."""
    if environ["PATH_INFO"] not in QUERIES:
        return "404 Not Found", b"no such path\n"
    query = QUERIES[environ["PATH_INFO"]]
    if query:
        text, parameter = query
        values = parse_qs(environ["QUERY_STRING"])
        try:
            number = float(values[parameter][0])
        except (KeyError, ValueError):
            return "400 Bad Request", f"{parameter} is not a number\n".encode()
        execute(text, number)
    return "200 OK", b"ok\n"


def app(environ, start_response):
    status, body = answer(environ)
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
