# SPDX-License-Identifier: Apache-2.0
"""An ASGI application that writes down, a line each in $ECHO_LOG, what it was
asked, and answers as the path says: /slow/MS waits, /status/N is that status."""
import asyncio
import hashlib
import json
import os


async def read_body(receive):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = await read_body(receive)
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    line = json.dumps({
        "method": scope["method"], "path": scope["path"], "scheme": scope["scheme"],
        "query": scope["query_string"].decode(), "headers": headers, "body_bytes": len(body),
        "body_sha256": hashlib.sha256(body).hexdigest(),
        "peer": scope["client"][1] if scope["client"] else None,
        "server": scope["server"][0] if scope["server"] else None})
    with open(os.environ["ECHO_LOG"], "a", encoding="utf-8") as log:
        log.write(line + "\n")
    kind, _, argument = scope["path"].strip("/").partition("/")
    if kind == "slow":
        await asyncio.sleep(int(argument) / 1000)
    status = int(argument) if kind == "status" else 200
    text = b"hello\n"
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-length", str(len(text)).encode())]})
    await send({"type": "http.response.body", "body": text})
