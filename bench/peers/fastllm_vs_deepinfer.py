#!/usr/bin/env python3
"""Speed of deepinfer against fastllm's CPU engine (PyPI ftllm 1.9.0) on one checkpoint folder, alternating in one run.

    python3 bench/peers/fastllm_vs_deepinfer.py --bin build/release/deepinfer [--model models/v41-small] [--rounds 3] [--peer ../shared/peers/ftllm_bench.py]

The peer script (../shared/peers/ftllm_bench.py) installs the package into a virtual environment in the temporary folder. Prints a table with medians, spreads and
ratios, then one JSON line. Ours runs with 2 threads; the peer with 1 and with 2, and its better figure counts (two of its threads spin against each other on busy machines).
"""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ap = argparse.ArgumentParser()
ap.add_argument("--bin", default=str(ROOT / "build/release/deepinfer"))
ap.add_argument("--model", default=str(ROOT / "models/v41-small"))
ap.add_argument("--peer", default=str(ROOT / "../shared/peers/ftllm_bench.py"))
ap.add_argument("--rounds", type=int, default=3)
ap.add_argument("--threads", default="2")
ap.add_argument("--peer-threads", default="1,2", help="the peer runs with each of these and its best figure counts")
ap.add_argument("--prefill", default="128,512,2048")
a = ap.parse_args()
if not Path(a.peer).exists():
    sys.exit(f"{a.peer}: the peer script is absent (it lives beside the checks, not in this repository); pass --peer")
lengths = [int(x) for x in a.prefill.split(",")]


def run(argv):
    r = subprocess.run(argv, capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"{' '.join(argv[:4])} … exited {r.returncode}: {r.stderr[-400:]}")
    return json.loads(r.stdout.strip().splitlines()[-1])


def ours():
    out = {}
    # --max-batch-tokens and everything else at the defaults
    r = run([a.bin, "bench", "engine", "--json", "--model", a.model, "--threads", a.threads, "--prompt-len", a.prefill, "--output-len", "2", "--requests", "3"])
    for x in r.get("runs", [r]):
        out[f"prefill_{x['prompt_len']}"] = x["prefill_tok_s"]
    r = run([a.bin, "bench", "engine", "--json", "--model", a.model, "--threads", a.threads, "--prompt-len", "128", "--output-len", "128", "--concurrency", "1,8", "--requests", "3"])
    out["decode"], out["decode_8"] = r["runs"][0]["decode_tok_s"], r["runs"][1]["decode_tok_s"]
    return out


def peer():
    best = {}
    for threads in a.peer_threads.split(","):
        for k, v in peer_with(threads).items():
            best[k] = max(v, best.get(k, 0))
    return best


def peer_with(threads):
    r = run([sys.executable, a.peer, a.model, "--threads", threads, "--prefill", a.prefill, "--reps", "1"])
    out = {}
    for n in lengths:
        for key in (f"prefill_{n}_tok_s", f"prefill{n}_tok_s"):
            if r.get(key) is not None:
                out[f"prefill_{n}"] = r[key]
    for key, name in (("decode_tok_s", "decode"), ("decode_1_tok_s", "decode"), ("decode_8_tok_s", "decode_8"), ("decode_n_tok_s", "decode_8")):
        if r.get(key) is not None:
            out.setdefault(name, r[key])
    return out


mine, theirs = [], []
for _ in range(a.rounds):
    mine.append(ours())
    theirs.append(peer())
result = {}
print(f"{'tokens/s':<14}{'deepinfer':>12}{'(spread)':>20}{'fastllm':>12}{'(spread)':>20}{'ratio':>9}")
for key in mine[0]:
    x, y = [m[key] for m in mine], [t[key] for t in theirs if t.get(key)]
    mx, my = statistics.median(x), statistics.median(y) if y else None
    result[key] = dict(deepinfer=mx, fastllm=my, ratio=mx / my if my else None)
    spread = lambda v: f"{min(v):.0f}-{max(v):.0f}" if v else "-"
    print(f"{key:<14}{mx:>12.1f}{spread(x):>20}{my or 0:>12.1f}{spread(y):>20}{mx / my if my else 0:>8.1f}x")
print(json.dumps(result))
