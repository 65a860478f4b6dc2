#!/usr/bin/env python3
"""Random texts against Hugging Face `tokenizers` (development time only; needs the PyPI package tokenizers==0.23.3).

    python3 tests/tokenizer/compare_hf.py --bin build/dev/deepinfer [--count 20000] [--seed 1] TOKENIZER.json...

For each file: ids with and without added tokens, and the decode of random ids, must be equal. Exit 1 if not.
"""
import argparse
import json
import random
import subprocess
import sys

import tokenizers

ASCII = " \t\r\n'!.,-_<>|=abcXYZ0123456789\x00\x1f\x7f"
BLOCKS = [(0x80, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x600, 0x8FF), (0x900, 0xDFF), (0xE00, 0x1FFF), (0x2000, 0x2BFF),
          (0x3000, 0x30FF), (0x3040, 0x30FF), (0x3100, 0x33FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFFFF),
          (0x10000, 0x10FFFF), (0x1F300, 0x1FAFF), (0x1C00, 0x1CFF), (0x16B00, 0x16FFF), (0x105C0, 0x105FF)]


def text(r, literals, words):
    out = []
    for _ in range(r.randint(1, 30)):
        kind = r.random()
        if kind < 0.3:
            out.append(r.choice(ASCII))
        elif kind < 0.5:
            out.append(r.choice(words))
        elif kind < 0.57:
            s = r.choice(literals)
            out.append(s if r.random() < 0.6 else s[: r.randint(1, len(s))])
        else:
            a, b = r.choice(BLOCKS)
            for _ in range(r.randint(1, 4)):
                c = r.randint(a, b)
                out.append(chr(c) if not 0xD800 <= c < 0xE000 else "\u00e9")
    return "".join(out)


def ask(argv, lines):
    data = "".join(json.dumps(x) + "\n" for x in lines).encode()
    return [json.loads(x) for x in subprocess.run(argv, input=data, stdout=subprocess.PIPE, check=True).stdout.splitlines()]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="+")
    ap.add_argument("--bin", required=True)
    ap.add_argument("--count", type=int, default=20000)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    bad = 0
    for path in a.files:
        doc = json.load(open(path, encoding="utf-8"))
        full = tokenizers.Tokenizer.from_file(path)
        plain = tokenizers.Tokenizer.from_str(json.dumps({**doc, "added_tokens": []}))
        literals = [t["content"] for t in doc["added_tokens"]]
        words = [full.decode([i], skip_special_tokens=False) for i in random.Random(0).sample(range(3, len(doc["model"]["vocab"])), 3000)]
        r = random.Random(a.seed)
        texts = [text(r, literals, words) for _ in range(a.count)]
        ids = [[r.randint(-2, full.get_vocab_size() + 3) for _ in range(r.randint(0, 12))] for _ in range(a.count // 4)]
        for special, peer in ((True, full), (False, plain)):
            got = ask([a.bin, "tokenize", "--tokenizer", path], [{"text": t, "special": special} for t in texts])
            for t, g in zip(texts, got, strict=True):
                want = peer.encode(t, add_special_tokens=False).ids
                if g["ids"] != want:
                    bad += 1
                    print(f"{path}: special {special}: {t!r}\n  ours {g['ids']}\n  peer {want}")
        for skip in (False, True):
            got = ask([a.bin, "detokenize", "--tokenizer", path], [{"ids": i, "skip_special": skip} for i in ids])
            for i, g in zip(ids, got, strict=True):
                want = full.decode([x for x in i if x >= 0], skip_special_tokens=skip)
                if g["text"] != want:
                    bad += 1
                    print(f"{path}: decode skip {skip}: {i}\n  ours {g['text']!r}\n  peer {want!r}")
        print(f"{path}: {2 * len(texts)} texts and {2 * len(ids)} id lists, {bad} different so far")
    sys.exit(1 if bad else 0)


main()
