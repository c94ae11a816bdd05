"""Counts and times of a log, from the rows that "logparse show --json" prints
on standard input: rows, calls, sums of recorded durations, by function. And what
the program wrote itself, from the file that "logparse marks --format jsonl" wrote:
the number of texts and the sum of the counters' values."""
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


def program_marks(lines):
    texts, values, total = 0, 0, 0
    for line in lines:
        m = json.loads(line)
        if m["kind"] == "mark":
            texts += 1
        else:
            values, total = values + 1, total + m["value"]
    return {"texts": texts, "values": values, "value_sum": round(total, 6)}


if __name__ == "__main__":
    found = expected(sys.stdin)
    with open(sys.argv[1], encoding="utf-8") as marks:
        found.update(program_marks(marks))
    json.dump(found, sys.stdout)
