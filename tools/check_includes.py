#!/usr/bin/env python3
"""Checks the arrows between rooms (docs/architecture.md) from #include lines, and that no source file is longer than 800 lines.

A room is a folder of src/. Exit 1 with one line per fault. --self-test proves that a wrong include is caught.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 800
# room -> rooms it may include (besides itself)
ARROWS = {
    "base": set(),
    "tensor": {"base"},
    "config": {"base"},
    "checkpoint": {"config", "tensor", "base", "tokenizer"},  # tokenizer: building the n-gram token map of a checkpoint without one
    "tokenizer": {"base"},
    "ops": {"tensor", "base"},
    "backends": {"ops", "tensor", "base"},
    "kv": {"tensor", "base"},
    "sampling": {"ops", "tensor", "base"},
    "model": {"ops", "kv", "checkpoint", "config", "tensor", "base", "backends"},
    "engine": {"model", "kv", "sampling", "tokenizer", "checkpoint", "config", "ops", "tensor", "base", "backends"},
    "cli": {"engine", "model", "kv", "sampling", "tokenizer", "checkpoint", "config", "ops", "tensor", "base", "backends"},
}
# Of backends/ only the registry's header is public, and only backends/ itself knows its folders.
PUBLIC_BACKEND = {"backends/registry.h", "backends/conformance/conformance.h", "backends/bench/bench.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
HTTP = re.compile(r'^\s*#\s*include\s+[<"]boost/(asio|beast)', re.M)


def faults(files):
    for path, text in files:
        parts = Path(path).parts
        room = parts[1] if parts[0] == "src" and len(parts) > 2 else None
        if text.count("\n") > MAX_LINES and not path.endswith("unicode_table.cpp"):  # a generated table
            yield f"{path}: {text.count(chr(10))} lines, more than {MAX_LINES}: split it by idea"
        if room is None:
            continue
        if room not in ARROWS:
            yield f"{path}: room {room} is unknown to tools/check_includes.py"
            continue
        if HTTP.search(text) and room != "server":
            yield f"{path}: only src/server may include the HTTP library"
        for inc in INCLUDE.findall(text):
            target = inc.split("/")[0]
            if target not in ARROWS:
                if "/" in inc or not (ROOT / Path(path).parent / inc).exists() and inc != "deepinfer_commit.h":
                    yield f"{path}: includes {inc}, which is in no room"
                continue
            if target != room and target not in ARROWS[room]:
                yield f"{path}: includes {inc}, but {room} may not include {target}"
            if target == "backends" and room != "backends" and inc not in PUBLIC_BACKEND:
                yield f"{path}: includes {inc}; outside backends/ only {', '.join(PUBLIC_BACKEND)} is public"
            if target == "backends" and room == "backends" and parts[2] == "registry.cpp":
                continue
            if target == "backends" and room == "backends" and len(parts) > 3 and "/" in inc[9:] and inc.split("/")[1] != parts[2]:
                yield f"{path}: includes {inc}; backends do not include each other"


def tree():
    names = subprocess.run(["git", "ls-files", "src", "tests", "include", "bench", "tools"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [(n, (ROOT / n).read_text(encoding="utf-8")) for n in names if n.endswith((".h", ".cpp", ".cu", ".cuh")) and (ROOT / n).exists()]


def main():
    wrong = [("src/kv/a.h", '#include "model/model.h"\n'), ("src/model/b.cpp", '#include "backends/cpu/gemm.h"\n'), ("src/base/c.cpp", "int x;\n" * 801),
             ("src/engine/d.cpp", "#include <boost/beast.hpp>\n")]
    caught = list(faults(wrong))
    if len(caught) != 4:
        print(f"self-test: {len(caught)} of 4 planted faults were caught: {caught}")
        return 1
    if "--self-test" in sys.argv:
        return 0
    found = list(faults(tree()))
    print("\n".join(found) if found else "includes: all arrows allowed")
    return 1 if found else 0


sys.exit(main())
