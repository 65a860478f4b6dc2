#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_table.cpp from vectors/tokenizer/unicode_classes.json.

    python3 tools/make_unicode_table.py [unicode_classes.json] > src/tokenizer/unicode_table.cpp

Two stages: a block number for each 128 code points, and 128 classes of 4 bits a block; equal blocks are stored once.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OTHER, LETTER, MARK, SYMBOL, SPACE, NEWLINE, NUMBER = range(7)  # the values of CharClass in unicode_table.h
HAN = 8  # added to OTHER, LETTER, MARK or SYMBOL


def classes(path):
    doc = json.load(open(path, encoding="utf-8"))["classes"]
    out = bytearray(0x110000)
    for name, value in (("L", LETTER), ("M", MARK), ("P", SYMBOL), ("S", SYMBOL), ("space", SPACE), ("N", NUMBER)):
        for first, last in doc[name]["ranges"]:
            for c in range(first, last + 1):
                assert out[c] == OTHER, f"U+{c:04X} is in two classes"
                out[c] = value
    for c in (0x0A, 0x0D):
        out[c] = NEWLINE
    for first, last in ((0x4E00, 0x9FA5), (0x3040, 0x30FF)):
        for c in range(first, last + 1):
            assert out[c] <= SYMBOL, f"U+{c:04X} is a number or white space"
            out[c] |= HAN
    return out


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else ROOT / "../shared/vectors/tokenizer/unicode_classes.json"
    table = classes(path)
    blocks, index = {}, []
    for start in range(0, len(table), 128):
        index.append(blocks.setdefault(bytes(table[start : start + 128]), len(blocks)))
    assert len(blocks) < 256
    print("// Written by tools/make_unicode_table.py from unicode_classes.json (Unicode 16.0); do not edit.")
    print('#include "tokenizer/unicode_table.h"\n\nnamespace deepinfer::tokenizer {\n\n// clang-format off')
    print(f"const uint8_t kClassBlock[{len(index)}] = {{")
    for i in range(0, len(index), 32):
        print("  " + ",".join(map(str, index[i : i + 32])) + ",")
    print(f"}};\nconst uint64_t kClassNibbles[{len(blocks) * 8}] = {{")
    for block in blocks:
        words = [sum(block[w * 16 + k] << (4 * k) for k in range(16)) for w in range(8)]
        print("  " + ",".join(f"0x{w:x}" for w in words) + ",")
    print("};\n// clang-format on\n\n}  // namespace deepinfer::tokenizer")


main()
