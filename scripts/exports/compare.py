"""compare.py WHAT EXPECTED FOUND: prints both in a line; fails if what was
found differs from what was expected, in the keys that were found."""
import json
import sys

what, want, got = sys.argv[1], json.load(open(sys.argv[2])), json.load(open(sys.argv[3]))
bad = []
for key, value in got.items():
    if key == "functions":
        for name, numbers in value.items():
            # ';' separates names in folded stacks.
            ours = want["functions"].get(name)
            if ours is None or ours[: len(numbers)] != numbers:
                bad.append(f"{name}: {numbers}, want {ours}")
        if len(value) != len(want["functions"]):
            bad.append(f"{len(value)} functions, want {len(want['functions'])}")
    elif value != want.get(key):
        bad.append(f"{key} {value}, want {want.get(key)}")
shown = ", ".join(f"{k.replace('_', ' ')} {v:,}" for k, v in got.items() if k != "functions")
if "functions" in got:
    shown += f", {len(got['functions'])} functions"
print(f"{'ok  ' if not bad else 'FAIL'} {what}: {shown}")
for b in bad[:10]:
    print("     ", b)
sys.exit(bool(bad))
