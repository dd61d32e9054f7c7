#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bad_service.py FAULT PORT WORKERS: a service of forked workers, one thread
per connection, with one fault:

    none          5 ms of CPU for a request
    ignores       the same, always with one worker
    starts-late   the same, 8 s after it was started
    ages          each request takes 0.1 ms longer than the last
    caches        20 ms of CPU for each of a worker's first 100 requests, then 5 ms
    locks         one request at a time, 10 ms each, whatever the workers
    dies          a process that ends after 150 requests, if there are two or more
    never-ready   answers 503
"""
import fcntl
import http.server
import itertools
import os
import socket
import socketserver
import sys
import tempfile
import threading
import time

START_S = 8
AGE_S = 0.0001
CACHE_REQUESTS = 100
LIFE_REQUESTS = 150

requests = itertools.count(1)
one_at_a_time = threading.Lock()
lock_file = tempfile.TemporaryFile()


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def work(_number):
    burn(0.005)


def age(number):
    time.sleep(number * AGE_S)


def cache(number):
    burn(0.020 if number <= CACHE_REQUESTS else 0.005)


def lock(_number):
    # A lock of the file is the process's, not the thread's.
    with one_at_a_time:
        fcntl.lockf(lock_file, fcntl.LOCK_EX)
        time.sleep(0.010)
        fcntl.lockf(lock_file, fcntl.LOCK_UN)


def die(number):
    burn(0.005)
    if workers > 1 and number > LIFE_REQUESTS:
        os._exit(7)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body go out in two writes.
    disable_nagle_algorithm = True

    def do_GET(self):
        handlers.get(fault, work)(next(requests))
        self.send_response(503 if fault == "never-ready" else 200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def __init__(self, listener):
        super().__init__(listener.getsockname(), Handler, bind_and_activate=False)
        self.socket = listener


handlers = {"ages": age, "caches": cache, "locks": lock, "dies": die}
fault, port, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if fault == "starts-late":
    time.sleep(START_S)
listener = socket.create_server(("127.0.0.1", port), backlog=128)
for _ in range(1 if fault == "ignores" else workers):
    if os.fork() == 0:
        Server(listener).serve_forever()
os.wait()
sys.exit("a worker is gone")
