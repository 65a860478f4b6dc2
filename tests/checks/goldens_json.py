"""v41-small against goldens.json alone (no safetensors file): next_logprob, best ids and the greedy continuation in fp32 mode.

For plain clones without ../shared, where the 10 MB of stored logits do not travel. Tolerances: goldens/README.md.
"""
import argparse
import json
import subprocess
import sys

ap = argparse.ArgumentParser()
ap.add_argument("--bin", required=True)
ap.add_argument("--model", required=True)
ap.add_argument("--goldens", required=True)
a = ap.parse_args()
prompts = json.load(open(a.goldens))["prompts"]


def jsonl(args, lines):
    r = subprocess.run([a.bin, *args, "--model", a.model, "--numerics", "fp32"], input="".join(json.dumps(x) + "\n" for x in lines).encode(), capture_output=True, timeout=600)
    if r.returncode:
        sys.exit(f"{args[0]} exited {r.returncode}: {r.stderr.decode()[-300:]}")
    return [json.loads(x) for x in r.stdout.splitlines()]


passed, faults = 0, []
scores = jsonl(["score"], [{"id": k, "ids": p["prompt"]} for k, p in prompts.items()])
for (name, p), got in zip(prompts.items(), scores):
    want, n = p["fp32"], len(p["prompt"])
    room = 0 if n <= 64 else max(1, n // 100)
    following = want.get("next_logprob", [])  # a prompt of one id has none
    off = [i for i, (x, y) in enumerate(zip(got["logprobs"][1:], following)) if not abs(x - y) <= 2e-3]
    odd = [i for i, x in enumerate(got["argmax"]) if x != want["top5_ids"][i][0] and want["top5_logits"][i][0] - want["top5_logits"][i][1] > 1e-2]
    if len(got["logprobs"]) != n or len(following) != n - 1 or len(off) > room or len(odd) > room:
        faults.append(f"score {name}: {len(off)} log-probabilities and {len(odd)} best ids differ")
    else:
        passed += 1
greedy = {k: p for k, p in prompts.items() if "greedy" in p.get("fp32", {})}
answers = jsonl(["batch", "-", "-"], [{"id": k, "prompt_ids": p["prompt"], "temperature": 0, "ignore_eos": True, "max_tokens": len(p["fp32"]["greedy"]["tokens"])} for k, p in greedy.items()])
for (name, p), got in zip(greedy.items(), answers):
    want = p["fp32"]["greedy"]
    ids = got["choices"][0]["ids"]
    first = next((i for i, (x, y) in enumerate(zip(ids, want["tokens"])) if x != y), None)
    if len(ids) != len(want["tokens"]) or (first is not None and want["margin"][first] > 1e-2):
        faults.append(f"greedy {name}: differs at {first}")
    else:
        passed += 1
print("\n".join(faults))
print(f"{passed} passed, {len(faults)} failed")
sys.exit(1 if faults or not passed else 0)
