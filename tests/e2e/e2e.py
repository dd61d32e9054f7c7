# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end scripts share: run sizeup, know what it left behind.

A script defines functions test_* and ends with e2e.main(globals()). They run
in order; the script exits with 0 when all passed, 77 when one was skipped and
none failed, else 1.

Whatever is started carries a mark in its environment that every descendant
inherits, so leftovers are found whoever their parent is by then.
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZEUP = os.environ.get("SIZEUP", str(ROOT / "build" / "sizeup"))
MARK_NAME = "SIZEUP_E2E_MARK"
# Records go here, not to the records of whoever runs the tests.
STATE = tempfile.TemporaryDirectory(prefix="sizeup-e2e-")
SERVE = [SIZEUP, "serve", "--workers", "{workers}", "--port", "{port}"]


class Skip(Exception):
    """The machine cannot show what the test is about."""


class Run:
    """One run of sizeup (or of another program), in progress or ended. What is
    left of it is killed when the test that started it is over."""

    of_this_test = []

    def __init__(self, *args, program=SIZEUP, **popen_options):
        self.mark = uuid.uuid4().hex
        self.status = self.out = self.err = None
        self.process = subprocess.Popen(
            [program, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "XDG_STATE_HOME": STATE.name, MARK_NAME: self.mark},
            **{"stderr": subprocess.PIPE, **popen_options})
        Run.of_this_test.append(self)

    def wait(self, timeout_s=240):
        """Wait for its end and for the end of all who hold its output."""
        try:
            self.out, self.err = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            survivors = self.left_behind()
            self.destroy()
            self.out, self.err = self.process.communicate()
            raise AssertionError(f"not over in {timeout_s} s: {survivors}\n{self}") from None
        self.status = self.process.returncode
        return self

    def destroy(self):
        """Kill it and whatever it left."""
        if self.process.poll() is None:
            self.process.kill()
        for pid in self.left_behind():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def left_behind(self):
        """Living processes that descend from this run, by pid."""
        return marked_processes(self.mark)

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return (f"{' '.join(map(str, self.process.args))}\n  status {self.status}\n"
                f"  stdout: {self.out}\n  stderr: {self.err}")


def run(*args, timeout_s=240, **popen_options):
    return Run(*args, **popen_options).wait(timeout_s)


def marked_processes(mark):
    """{pid: command line} of every process whose environment holds the mark."""
    wanted = f"{MARK_NAME}={mark}".encode()
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        # Zombies and processes that end meanwhile have nothing to read.
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().split(b"\0")[:-1]
                found[int(entry.name)] = [word.decode(errors="replace") for word in command]
    return found


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def port_is_free(port):
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def established(port):
    """Established connections whose local end is the port."""
    count = 0
    for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, local, _, state = line.split()[:4]
        count += state == "01" and int(local.rpartition(":")[2], 16) == port
    return count


def eventually(condition, timeout_s):
    """True as soon as the condition holds; False when it did not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def check(condition, what, *details):
    if not condition:
        raise AssertionError("\n".join([what, *map(str, details)]))


# What can become of a request that was sent.
OUTCOMES = ("ok", "http_error", "protocol_error", "socket_error", "timeout", "unfinished", "stale",
            "truncated", "not_http", "not_retried", "open")


def check_conserved(counts, *details):
    """Every attempt of a load has exactly one outcome."""
    check(counts["attempts"] == counts["connect_failed"] + counts["sent"], "attempts add up",
          counts, *details)
    check(counts["sent"] == sum(counts[name] for name in OUTCOMES), "outcomes add up", counts,
          *details)


def check_nothing_left(ended, port, timeout_s=2):
    check(eventually(lambda: not ended.left_behind(), timeout_s), "no process left",
          ended.left_behind(), ended)
    check(eventually(lambda: port_is_free(port), timeout_s), f"port {port} is free", ended)


OUTSIDE_NOISE = {"other programs used the CPU", "the hypervisor took CPU time away",
                 "programs stood still for want of memory"}


TRIES = 3


def only_outside_noise(document):
    """A gate that trips without cause must fail a test, not skip it."""
    seen = {text for row in document.get("settings", []) for text in row.get("disturbances", [])}
    return bool(seen & OUTSIDE_NOISE)


def trusted_json(command, *args, statuses=(0,)):
    """The document of a run that ends with one of the statuses, repeated when
    it was not trustworthy."""
    # A noisy machine must not keep a test longer than run() waits.
    bounds = ["--budget", "60s"] if command == "sweep" else []
    excused = True
    for _ in range(TRIES):
        ended = run(command, "--json", *bounds, *args)
        if ended.status != 4:
            check(ended.status in statuses, "the run failed", ended)
            return ended.json()
        excused = excused and only_outside_noise(ended.json())
    check(excused, "nothing but the machine's noise spoils it every time", ended)
    raise Skip(f"not trustworthy {TRIES} times: the machine is too noisy")


@contextlib.contextmanager
def server(workers=1):
    """A reference server; yields its base URL."""
    port = free_port()
    serving = Run("serve", "--workers", str(workers), "--port", str(port))
    try:
        check(eventually(lambda: listens(port), 10), "the reference server listens")
        yield f"http://127.0.0.1:{port}"
    finally:
        serving.destroy()


class FaultServer:
    """A server that misbehaves, with the log of what it did."""

    def __init__(self, fault, *options, host="127.0.0.1"):
        self.path = pathlib.Path(STATE.name) / f"{uuid.uuid4().hex}.json"
        self.running = Run("serve", "--fault", fault, "--host", host, "--port", "0",
                           "--fault-log", str(self.path), *options)
        # The log is written once the port is bound.
        check(eventually(lambda: self.path.exists() or self.running.process.poll() is not None, 10)
              and self.path.exists(), f"--fault {fault} listens")
        self.port = self.log()["port"]
        self.url = f"http://{host}:{self.port}/"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.running.destroy()

    def log(self):
        return json.loads(self.path.read_text(encoding="utf-8"))

    def fresh_log(self):
        """The log as of now, from the server that runs on."""
        before = self.path.stat().st_ino
        self.running.process.send_signal(signal.SIGUSR1)
        check(eventually(lambda: self.path.stat().st_ino != before, 10), "SIGUSR1 writes the log")
        return self.log()

    def end(self):
        """Stop the server in an orderly way; the log of its life."""
        self.running.process.send_signal(signal.SIGTERM)
        ended = self.running.wait(10)
        check(ended.status == 0, "a stop is no failure", ended)
        return self.log()


def outcome_of(test):
    try:
        test()
    except Skip as reason:
        print(f"skip {test.__name__}: {reason}")
        return "skipped"
    except Exception as fault:  # any fault of a test is that test's failure
        traceback.print_exc(file=sys.stdout)
        # Last, as whole documents may be printed above.
        print(f"FAIL {test.__name__}: {str(fault).splitlines()[:1]}")
        return "failed"
    finally:
        while Run.of_this_test:
            Run.of_this_test.pop().destroy()
    print(f"ok   {test.__name__}")
    return "passed"


def main(script_globals):
    # So that a script that is told to end still ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.stdout.reconfigure(line_buffering=True)
    tests = [value for name, value in script_globals.items() if name.startswith("test_")]
    check(tests, "a script has tests")
    outcomes = {outcome_of(test) for test in tests}
    sys.exit(1 if "failed" in outcomes else 77 if "skipped" in outcomes else 0)
