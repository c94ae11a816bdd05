"""Reads saved files with what Python has: read.py FORMAT FILE..., and prints
what was found as JSON in the form of expected.py. Parts are added up; a call
that goes on from the part before counts once."""
import html.parser
import json
import re
import sys


def result(rows=None, calls=0, pairs=0, total=0, marks=None, functions=None, **more):
    r = {"rows": rows, "calls": calls, "pairs": pairs, "paired_ns": total, "marks": marks, "functions": functions, **more}
    return {k: v for k, v in r.items() if v is not None}


class Events:
    """Pairs beginnings and ends of calls by thread."""

    def __init__(self):
        self.calls = self.pairs = self.total = self.marks = self.all = 0
        self.texts = self.values = self.sum = 0
        self.functions = {}
        # What a call that goes on in the next part took so far, by thread.
        self.open = {}

    def part(self):
        self.stacks, self.last = {}, {}

    def begin(self, tid, name, at, note, again):
        if at < self.last.get(tid, 0):
            raise SystemExit(f"thread {tid} goes back to {at}")
        self.last[tid] = at
        before = 0
        if again:
            before = self.open[tid].pop(0)
        else:
            self.calls += 1
            self.functions.setdefault(name, [0, 0])[0] += 1
        self.stacks.setdefault(tid, []).append((name, at, note, before))

    def end(self, tid, at, goes_on):
        if at < self.last.get(tid, 0):
            raise SystemExit(f"thread {tid} goes back to {at}")
        self.last[tid] = at
        name, start, note, before = self.stacks[tid].pop()
        took = before + at - start
        if goes_on:
            self.open.setdefault(tid, []).insert(0, took)
            return
        self.all += took
        if not re.match("open|no leave", note):
            self.pairs += 1
            self.total += took
            self.functions[name][1] += took

    def done(self):
        if any(self.stacks.values()):
            raise SystemExit("calls without an end")

    def value(self, v):
        self.values += 1
        self.sum += v

    def result(self):
        more = {"texts": self.texts, "values": self.values, "value_sum": round(self.sum, 6)} if self.texts or self.values else {}
        return result(None, self.calls, self.pairs, self.total, self.marks, self.functions, **more)


def ns(us):
    whole, _, fraction = us.partition(".")
    return int(whole + (fraction + "000")[:3])


def chrome(files):
    e = Events()
    for f in files:
        e.part()
        # Times as text: a float would round them.
        events = json.load(open(f, encoding="utf-8"), parse_float=str, parse_int=str)["traceEvents"]
        if len({x["pid"] for x in events}) != 1 or not any(x["name"] == "process_name" for x in events if x["ph"] == "M"):
            raise SystemExit("not one process with a name")
        for x in events:
            args = x.get("args", {})
            if x["ph"] == "B":
                e.begin(x["tid"], x["name"], ns(x["ts"]), args.get("note", ""), "part" in args)
            elif x["ph"] == "E":
                e.end(x["tid"], ns(x["ts"]), "next part" in args.get("end", ""))
            elif x["ph"] == "i" and x.get("cat") == "mark":
                e.texts += 1
            elif x["ph"] == "i":
                e.marks += 1
            elif x["ph"] == "C":
                e.value(float(args["value"]))
        e.done()
    return e.result()


def perfetto(files):
    """Reads what protoc --decode prints, by track_event.proto."""
    e = Events()
    for f in files:
        e.part()
        names, arguments = {}, {}
        for packet in messages(open(f, encoding="utf-8")):
            for key in packet:
                if key.isdigit():
                    raise SystemExit(f"the schema has no field {key}")
            for interned in packet.get("interned_data", []):
                for n in interned.get("event_names", []):
                    names[n["iid"][0]] = text(n["name"][0])
                for n in interned.get("debug_annotation_names", []):
                    arguments[n["iid"][0]] = text(n["name"][0])
            for event in packet.get("track_event", []):
                at, track, kind = int(packet["timestamp"][0]), event["track_uuid"][0], event["type"][0]
                notes = [text(a["string_value"][0]) for a in event.get("debug_annotations", []) if arguments[a["name_iid"][0]] == "note"]
                if kind == "TYPE_SLICE_BEGIN":
                    e.begin(track, names[event["name_iid"][0]], at, notes[0] if notes else "", "goes on from the part before" in notes)
                elif kind == "TYPE_SLICE_END":
                    e.end(track, at, "goes on in the next part" in notes)
                elif kind == "TYPE_COUNTER":
                    e.value(int(event["counter_value"][0]) if "counter_value" in event else float(event["double_counter_value"][0]))
                elif "categories" in event:
                    e.texts += 1
                else:
                    e.marks += 1
        e.done()
    return e.result()


def text(quoted):
    """The text of a quoted string as protoc prints it."""
    names = {"n": 10, "t": 9, "r": 13}
    raw = re.sub(r"\\([0-7]{3}|.)", lambda m: chr(int(m[1], 8) if m[1].isdigit() else names.get(m[1], ord(m[1]))), quoted[1:-1])
    return raw.encode("latin-1").decode("utf-8")


def messages(lines):
    """Yields the outermost messages as {name: [value]}."""
    stack = [{}]
    for line in lines:
        line = line.strip()
        if line.endswith("{"):
            m = {}
            stack[-1].setdefault(line[:-1].strip(), []).append(m)
            stack.append(m)
        elif line == "}":
            m = stack.pop()
            if len(stack) == 1:
                yield m
                stack[0].clear()
        else:
            key, _, value = line.partition(": ")
            stack[-1].setdefault(key, []).append(value)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows, self.row, self.inside = [], None, False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag in ("link", "img", "iframe") or "src" in attrs or "href" in attrs:
            raise SystemExit(f"the page asks for {attrs}")
        if tag == "table":
            self.inside = attrs.get("id") == "rows"
        elif tag == "tr" and self.inside and "data-d" in attrs:
            self.row = [attrs["class"]]
            self.rows.append(self.row)
        elif tag == "td" and self.row is not None:
            self.row.append("")
            if "data-us" in attrs:
                self.row[0] += " " + attrs["data-us"]

    def handle_data(self, data):
        if self.row is not None and len(self.row) > 1:
            self.row[-1] += data

    def handle_endtag(self, tag):
        if tag == "tr":
            self.row = None


def page(files):
    rows = calls = pairs = total = marks = 0
    functions = {}
    for f in files:
        p = Page()
        p.feed(open(f, encoding="utf-8").read())
        for r in p.rows:
            event, _, us = r[0].partition(" ")
            if int(r[1]) != rows:
                raise SystemExit(f"row {r[1]} in place of {rows}")
            rows += 1
            if event == "enter":
                calls += 1
                name = re.sub(r"^(\[\d+\] )?\S+ ", "", r[5])
                c = functions.setdefault(name, [0, 0])
                c[0] += 1
                if us:
                    pairs += 1
                    total += ns(us)
                    c[1] += ns(us)
            elif not us:
                marks += 1
    return result(rows, calls, pairs, total, marks, functions)


def jsonl(files):
    from expected import expected
    return expected(line for f in files for line in open(f, encoding="utf-8"))


def folded(files):
    """Calls by the innermost name: for files of --weight calls."""
    functions, roots = {}, set()
    for f in files:
        for line in open(f, encoding="utf-8"):
            stack, _, n = line.rstrip("\n").rpartition(" ")
            roots.add(stack.partition(";")[0])
            if len(roots) > 1:
                raise SystemExit(f"more roots than a process: {roots}")
            functions[stack.split(";")[-1]] = functions.get(stack.split(";")[-1], 0) + int(n)
    return {"calls": sum(functions.values()), "functions": {k: [v] for k, v in functions.items()}}


def main():
    sys.path.insert(0, __file__.rpartition("/")[0])
    read = {"chrome": chrome, "perfetto": perfetto, "html": page, "jsonl": jsonl, "folded": folded}[sys.argv[1]]
    json.dump(read(sys.argv[2:]), sys.stdout)


if __name__ == "__main__":
    main()
