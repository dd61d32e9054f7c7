# SPDX-License-Identifier: Apache-2.0
"""Services that are not ours, started as examples/ documents it."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import e2e


def two_cores():
    """A prefix that holds a command to two cores, so that the truth is the
    same wherever this runs."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise e2e.Skip("two workers at once need two cores")
    return ["taskset", "-c", ",".join(map(str, cores))]


def documented_sweeps(example):
    """The arguments of each sweep that an example's README shows, with the
    service on two cores. They are for e2e.ROOT as the working directory."""
    text = (e2e.ROOT / "examples" / example / "README.md").read_text(encoding="utf-8")
    sweeps = re.findall(r"^    build/sizeup sweep ((?:.*\\\n)*.*)", text, re.MULTILINE)
    return [on_two_cores(expanded(arguments)) for arguments in sweeps]


def expanded(words):
    """What a shell makes of them."""
    listed = subprocess.run(["sh", "-c", f"printf '%s\\0' {words}"], cwd=e2e.ROOT,
                            capture_output=True, text=True, check=True)
    return listed.stdout.split("\0")[:-1]


def on_two_cores(arguments):
    at = arguments.index("--") + 1
    return [*arguments[:at], *two_cores(), *arguments[at:]]


@contextlib.contextmanager
def postgres():
    """An empty database server; yields how libpq reaches it."""
    binaries = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    # PostgreSQL refuses to run as root.
    other = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory() as home:
        data = pathlib.Path(home, "data")
        data.mkdir(0o700)
        if other:
            os.chmod(home, 0o711)
            shutil.chown(data, "postgres", "postgres")
        subprocess.run([binaries / "initdb", "--pgdata", data, "--username", "postgres",
                        "--auth", "trust", "--no-sync"], cwd="/", check=True,
                       stdout=subprocess.DEVNULL, **other)
        port = e2e.free_port()
        server = subprocess.Popen(
            [binaries / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", "",
             "-c", "fsync=off", "-c", "jit=off"], cwd="/", stderr=subprocess.DEVNULL, **other)
        try:
            e2e.check(e2e.eventually(lambda: e2e.listens(port), 20), "PostgreSQL listens")
            yield f"host=127.0.0.1 port={port} user=postgres"
        finally:
            server.send_signal(signal.SIGINT)  # fast: waits for no client
            server.wait()


@contextlib.contextmanager
def nginx_sweep():
    """The documented sweep of nginx, at a free port and in a directory of its
    own."""
    example = e2e.ROOT / "examples" / "nginx" / "nginx.conf"
    documented_port, port = "8088", str(e2e.free_port())
    with tempfile.TemporaryDirectory() as home:
        # Workers of an nginx that root started are another user.
        os.chmod(home, 0o755)
        conf = pathlib.Path(home, "nginx.conf")
        conf.write_text(example.read_text(encoding="ascii").replace(documented_port, port),
                        encoding="ascii")
        moved = {documented_port: port, str(example): str(conf),
                 str(e2e.ROOT / "build" / "nginx"): home}
        yield [moved.get(word, word) for word in documented_sweeps("nginx")[0]]
