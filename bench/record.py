#!/usr/bin/env python3
"""Measures what docs/performance.md quotes on this machine and writes one JSON file under bench/results/.

    python3 bench/record.py --name epyc-zen5-2c [--bin build/release/deepinfer] [--full-width]

--full-width also makes a checkpoint with the real model's layer shapes (2 layers, 32 experts: 7.9 GB in --scratch) and profiles it.
Takes about two minutes. Run it on an idle machine: every figure stands beside ceilings measured in the same call.
"""
import argparse
import datetime
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ap = argparse.ArgumentParser()
ap.add_argument("--bin", default=str(ROOT / "build/release/deepinfer"))
ap.add_argument("--name", required=True, help="of the machine, part of the file's name")
ap.add_argument("--full-width", action="store_true")
ap.add_argument("--scratch", default=tempfile.gettempdir())
a = ap.parse_args()


def run(*args):
    print("deepinfer", *args, file=sys.stderr)
    r = subprocess.run([a.bin, *map(str, args)], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"deepinfer {args[0]} exited {r.returncode}: {r.stderr.strip()[-300:]}")
    return r.stdout


def rounded(v):
    if isinstance(v, float):
        return float(f"{v:.4g}")
    if isinstance(v, dict):
        return {k: rounded(x) for k, x in v.items()}
    return [rounded(x) for x in v] if isinstance(v, list) else v


def measure(*args):
    return {"command": "deepinfer " + " ".join(map(str, args)), "result": rounded(json.loads(run(*args, "--json")))}


commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
out = {"date": datetime.date.today().isoformat(), "commit": commit, "machine": run("doctor").splitlines()[:5]}
out["engine"] = measure("bench", "engine", "--prompt-len", "512,128,2048", "--output-len", 128, "--concurrency", "1,8", "--requests", 8, "--profile")
out["ops_v41_flash"] = measure("bench", "ops", "--shape", "v41-flash", "--rows", "1,8,512")
out["ops_small"] = measure("bench", "ops", "--shape", "small", "--rows", "1,512")
out["tokenizer"] = measure("bench", "tokenizer")
if a.full_width:
    folder = Path(a.scratch) / "deepinfer-full-width"
    try:
        run("synth", folder, "--config", ROOT / "tests/data/config-official.json", "--layers", 2, "--experts", 32, "--engram-rows", 200000, "--seed", 1)
        out["full_width_2_layers"] = measure("bench", "engine", "--model", folder, "--prompt-len", 512, "--output-len", 32, "--requests", 1, "--profile")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
path = ROOT / "bench/results" / f"{out['date']}-{a.name}.json"
path.parent.mkdir(exist_ok=True)
path.write_text(json.dumps(out, separators=(",", ":")) + "\n")
print(path)
