# SPDX-License-Identifier: Apache-2.0
"""An ASGI application with a log-in at /login, for a form or JSON, that gives a
session of its own to each; whoever comes without one is refused. /counts tells
how many sessions there are, requests came with one of them, and without."""
import json
import secrets
import urllib.parse

from echo_app import read_body

USER, PASSWORD = "ann", "correct horse"
SESSIONS = set()
COUNTS = {"logins": 0, "refused": 0, "with": 0, "without": 0}


def is_right(headers, body):
    kind = headers.get("content-type")
    if kind == "application/json":
        asked = json.loads(body)
    elif kind == "application/x-www-form-urlencoded":
        asked = dict(urllib.parse.parse_qsl(body.decode()))
    else:
        return False
    return asked == {"user": USER, "password": PASSWORD}


def log_in(headers, body):
    if not is_right(headers, body):
        COUNTS["refused"] += 1
        return 401, [], "wrong \x1b password"
    COUNTS["logins"] += 1
    session = secrets.token_urlsafe(16)
    SESSIONS.add(session)
    return 303, [f"session={session}; Path=/; HttpOnly", f"csrf={session[:4]}; Max-Age=600"], ""


def page(headers):
    cookies = dict(pair.split("=", 1) for pair in headers.get("cookie", "").split("; ") if pair)
    known = (cookies.get("session") in SESSIONS and cookies.get("csrf") == cookies["session"][:4]
             and cookies.get("theme") == "dark")
    COUNTS["with" if known else "without"] += 1
    return (200 if known else 403), ["other=1"], "hello"


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = await read_body(receive)
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    if scope["path"] == "/login":
        status, cookies, text = log_in(headers, body)
    elif scope["path"] == "/counts":
        status, cookies, text = 200, [], json.dumps({**COUNTS, "sessions": len(SESSIONS)})
    else:
        status, cookies, text = page(headers)
    sent = text.encode()
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-length", str(len(sent)).encode()),
                            *((b"set-cookie", cookie.encode()) for cookie in cookies)]})
    await send({"type": "http.response.body", "body": sent})
