# SPDX-License-Identifier: Apache-2.0
"""What the scripts about loads from several machines share: running shards, and
adding what they kept without sizeup."""
import contextlib
import json
import math
import pathlib
import tempfile
import time

import e2e

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}


@contextlib.contextmanager
def directory():
    with tempfile.TemporaryDirectory(prefix="sizeup-shards-") as path:
        yield pathlib.Path(path)


def soon(delay_s=3):
    """An instant for --start-at."""
    return f"{time.time() + delay_s:.3f}"


def files_of(where):
    paths = sorted(where.glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def merge(where, *options):
    return e2e.run("merge", *options, *map(str, sorted(where.glob("*.json"))))


def bucket_middles():
    """By the layout that src/stat/hist.h describes: below 512 each value has its
    own bucket, above each octave is cut into 256."""
    middles = [float(value) for value in range(512)]
    low, width = 512, 2
    while low <= 7200 * 10**9:
        middles += [low + i * width + (width - 1) / 2 for i in range(256)]
        low, width = 2 * low, 2 * width
    return middles


MIDDLES = bucket_middles()


def quantiles_ms(files, name):
    """Of all samples of the files together, with n the fewest for which
    1 - q^n >= 0.95."""
    hists = [file["histograms"][name] for file in files]
    hists = [hist for hist in hists if hist["count"]]
    pairs = sorted(tuple(pair) for hist in hists for pair in hist["buckets"])
    count = sum(hist["count"] for hist in hists)
    least = min(hist["min_ns"] for hist in hists)
    most = max(hist["max_ns"] for hist in hists)
    found = {"max": most / 1e6, "mean": sum(hist["sum_ns"] for hist in hists) / count / 1e6}
    for key, ratio in QUANTILES.items():
        # As if the samples lay there in order: the one at this rank.
        rank, seen = math.ceil(ratio * count - 1e-9), 0
        for bucket, values in pairs:
            seen += values
            if seen >= rank:
                found[key] = min(max(MIDDLES[bucket], least), most) / 1e6
                break
        if 1 - ratio**count < 0.95:
            found[key] = None
    return found


def check_sum(document, files, log=None):
    """The merged document is the sum of the files, and what the server saw."""
    counts = document["counts"]
    for key in ("attempts", "connect_failed", "sent", "uncounted", *e2e.OUTCOMES):
        total = sum(file["counts"][key] for file in files)
        e2e.check(counts[key] == total, f"{key} is the sum", total, document)
    e2e.check(counts["ok"] > 0, "some were answered", document)
    e2e.check(counts["sent"] == sum(counts[name] for name in e2e.OUTCOMES), "conserved", document)
    for key, name in (("latency_ms", "ok"), ("ttfb_ms", "ttfb"), ("connect_ms", "connect")):
        for quantile, expected in quantiles_ms(files, name).items():
            told = document[key][quantile]
            e2e.check((told is None) == (expected is None)
                      and (told is None or math.isclose(told, expected, rel_tol=1e-5)),
                      f"{key} {quantile} is that of all samples", expected, document)
    each = document["shards"]["each"]
    e2e.check([(shard["shard"], shard["host"], shard["sent"]) for shard in each]
              == [(file["shard"], file["host"], file["counts"]["sent"]) for file in files],
              "each shard with its host", document)
    if log:
        e2e.check(log["requests"] == counts["sent"] + counts["uncounted"],
                  "the server received what all sent", log, document)
        e2e.check(log["connections"] == document["connections"]["opened"], "and opened", log,
                  document)


def check_good(ended):
    """Merged, and trusted but for what a small machine is to blame for."""
    e2e.check(ended.status in (0, 4) and ended.out, "the merge ends", ended)
    document = ended.json()
    blamed = [reason for reason in document["reasons"] if "load generator" not in reason
              and "this program itself" not in reason]
    e2e.check(not blamed, "nothing else is distrusted", ended)
    return document


def merged(where, shards):
    """The document of good shards and their files. A busy machine may make one fall
    behind, which is for merge to see and not for a test to fail by."""
    ended = merge(where, "--json")
    if ended.status == 4 and not ended.out:
        raise e2e.Skip(f"the machine is too busy: {ended.err}")
    files = files_of(where)
    e2e.check([file["shard"] for file in files] == list(range(1, shards + 1)), "all are there",
              ended)
    return check_good(ended), files
