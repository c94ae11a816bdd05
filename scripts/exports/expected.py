"""Counts and times of a log, from the rows that "logparse show --json" prints
on standard input: rows, calls, sums of recorded durations, by function."""
import json
import sys


def expected(lines):
    rows = calls = pairs = total = marks = 0
    functions = {}
    for line in lines:
        r = json.loads(line)
        rows += 1
        if r["event"] == "enter":
            calls += 1
            f = functions.setdefault(r["function"], [0, 0])
            f[0] += 1
            if "duration_us" in r:
                pairs += 1
                d = round(r["duration_us"] * 1000)
                total += d
                f[1] += d
        elif "duration_us" not in r:
            marks += 1
    return {"rows": rows, "calls": calls, "pairs": pairs, "paired_ns": total, "marks": marks, "functions": functions}


if __name__ == "__main__":
    json.dump(expected(sys.stdin), sys.stdout)
