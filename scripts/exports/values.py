"""values.py TOLD FORMAT FILE...: holds the arguments and results of calls in saved files against what the program itself
printed of them (values.cpp), with their types. FORMAT says how they are read: csv, jsonl, chrome, perfetto (as protoc --decode
prints it) or parquet (the rows as JSON, which duckdb.mjs and hyparquet.mjs print with --values)."""
import collections
import csv
import json
import math
import re
import sys

from read import messages, text

INTEGERS = ("int", "uint")


def told(path):
    """The calls in the order in which they began."""
    return sorted((json.loads(line) for line in open(path, encoding="utf-8")), key=lambda call: call["number"])


def same_double(a, b):
    return math.isnan(a) and math.isnan(b) or a == b and math.copysign(1, a) == math.copysign(1, b)


def shown(value):
    """A value as tables of text show it; None where that is not known."""
    kind, of = value[:2]
    if kind == "unknown":
        return None
    if kind == "struct":
        return "{" + ", ".join(f"{name} = {shown(v)}" for name, v in of.items()) + "}"
    if kind == "array":
        return "[" + ", ".join(map(shown, of)) + "]"
    if kind == "text":
        return json.dumps(of, ensure_ascii=False)
    if kind == "double":
        f = float(of)
        return "NaN" if math.isnan(f) else ("+Inf" if f > 0 else "-Inf") if math.isinf(f) else repr(f)
    return "null" if value == ["pointer", "0x0"] else of


def same_text(name, value, typed=True):
    """The pattern of a value in a cell of a table."""
    why = shown(value)
    why = r"(\?|not readable|not recorded)" if why is None else re.escape(why)
    return rf"([^=]+ )?{re.escape(name)} = {why}" if typed else why


class CSV:
    """Cells of text: the types are those of the language, and not compared."""

    def calls(self, files):
        for f in files:
            for row in csv.DictReader(open(f, encoding="utf-8-sig", newline="")):
                if row["event"] == "enter":
                    yield row["function"], row["arguments"], row["result"]

    def same(self, values, got, results):
        return re.fullmatch(", ".join(same_text(name, v, not results) for name, v in values.items()), got) is not None


UNKNOWN = {"not known": "?"}


def reasonless(value):
    """Values of which those that are not known do not say why."""
    if isinstance(value, dict):
        if list(value) == ["not known"]:
            return UNKNOWN if value["not known"] in ("?", "not readable", "not recorded", "unverified") else value
        return {name: reasonless(part) for name, part in value.items()}
    return [reasonless(part) for part in value] if isinstance(value, list) else value


class JSON:
    """Objects of typed members."""

    def calls(self, files):
        for f in files:
            for line in open(f, encoding="utf-8"):
                row = json.loads(line)
                if row["event"] == "enter":
                    yield row["function"], row.get("arguments", {}), row.get("result", {})

    def value(self, v):
        kind, of = v[:2]
        if kind == "unknown":
            return UNKNOWN
        if v == ["pointer", "0x0"]:
            return None
        if kind == "struct":
            return {name: self.value(part) for name, part in of.items()}
        if kind == "array":
            return [self.value(part) for part in of]
        if kind == "bool":
            return of == "true"
        if kind in INTEGERS:
            return int(of)
        if kind == "double" and math.isfinite(float(of)):
            return float(of)
        return of if kind == "text" else shown(v)

    def same(self, values, got, results):
        # As text, since 1 == 1.0 == True. It also has the order of members.
        return repr({name: self.value(v) for name, v in values.items()}) == repr(reasonless(got))


class Chrome(JSON):
    def calls(self, files):
        for f in files:
            for event in json.load(open(f, encoding="utf-8"))["traceEvents"]:
                if event["ph"] == "B":
                    yield event["name"], event["args"].get("arguments", {}), event["args"].get("result", {})


class Perfetto:
    """Debug annotations: lists of names and values, which are pairs of a field and what it has."""

    def calls(self, files):
        for f in files:
            functions, self.names = {}, {}
            for packet in messages(open(f, encoding="utf-8")):
                for interned in packet.get("interned_data", []):
                    for n in interned.get("event_names", []):
                        functions[n["iid"][0]] = text(n["name"][0])
                    for n in interned.get("debug_annotation_names", []):
                        if n["iid"][0] in self.names:
                            raise SystemExit(f"the number {n['iid'][0]} is of two names")
                        self.names[n["iid"][0]] = text(n["name"][0])
                for event in packet.get("track_event", []):
                    if event["type"][0] == "TYPE_SLICE_BEGIN":
                        of = dict(self.members(event["debug_annotations"]))
                        nothing = ("dict_entries", [])
                        yield functions[event["name_iid"][0]], of.get("arguments", nothing), of.get("result", nothing)

    def members(self, annotations):
        return [(self.names[a["name_iid"][0]], self.annotation(a)) for a in annotations]

    def annotation(self, a):
        [(field, of)] = [(field, of) for field, of in a.items() if field != "name_iid"]
        if field == "dict_entries":
            return field, self.members(of)
        if field == "array_values":
            return field, [self.annotation(part) for part in of]
        [only] = of
        return field, text(only) if field == "string_value" else only

    fields = {"int": "int_value", "uint": "uint_value", "double": "double_value", "bool": "bool_value", "text": "string_value", "shown": "string_value",
              "pointer": "pointer_value", "struct": "dict_entries", "array": "array_values", "unknown": "dict_entries"}

    def same_value(self, value, got):
        kind, of = value[:2]
        field, is_ = got
        if field != self.fields[kind]:
            return False
        if kind == "unknown":
            return len(is_) == 1 and is_[0][0] == "not known" and is_[0][1][0] == "string_value"
        if kind == "struct":
            return self.same(of, got, False)
        if kind == "array":
            return len(of) == len(is_) and all(map(self.same_value, of, is_))
        if kind == "double":
            return same_double(float(of), float(is_))
        return int(is_) == int(of, 16) if kind == "pointer" else is_ == of

    def same(self, values, got, results):
        return got[0] == "dict_entries" and [name for name, _ in got[1]] == list(values) and all(map(self.same_value, values.values(), (v for _, v in got[1])))


class Parquet:
    """Lists of entries, one a value or a part of one, with a field for each type."""

    kinds = {"int": "int", "uint": "int", "bool": "int", "double": "double", "text": "string", "pointer": "pointer", "unknown": "unknown", "struct": "other", "array": "other"}

    def calls(self, files):
        for f in files:
            for line in open(f, encoding="utf-8"):
                row = json.loads(line)
                if row["event"] == "enter":
                    yield row["function"], row["argument_values"] or [], row["result_values"] or []

    def entries(self, path, value):
        yield path, value
        if value[0] == "struct":
            for name, part in value[1].items():
                yield from self.entries(f"{path}.{name}", part)
        elif value[0] == "array":
            for i, part in enumerate(value[1]):
                yield from self.entries(f"{path}[{i}]", part)

    def same_entry(self, path, value, got):
        kind, of = value[:2]
        if kind == "shown":
            of = value[2]
        wanted = {"int": None, "double": None, "string": None}
        if kind in INTEGERS or kind == "shown":
            wanted["int"] = int(of)
        elif kind == "bool":
            wanted["int"] = int(of == "true")
        elif kind == "pointer":
            wanted["int"] = int(of, 16)
        elif kind == "text":
            wanted["string"] = of
        if wanted["int"] is not None and wanted["int"] >= 1 << 63:
            wanted["int"] = None  # there only the text has it
        word = self.kinds.get(kind) or ("pointer" if value[1].startswith("0x") else "int")
        double = got["double"]
        if kind == "double":
            if double is None or not same_double(float(of), float(double)):
                return False
            double = None
        why = shown(value)
        return (got["name"] == path and got["kind"] == word and got["string"] == wanted["string"] and double is None
                and (got["int"] if got["int"] is None else int(got["int"])) == wanted["int"]
                and (got["text"] in ("?", "not readable", "not recorded") if why is None else got["text"] == why))

    def same(self, values, got, results):
        want = [entry for name, v in values.items() for entry in self.entries(name, v)]
        return len(want) == len(got) and all(self.same_entry(path, v, g) for (path, v), g in zip(want, got))


def count(values, kinds):
    """Counts the values by kind, with the members of structs and the elements of arrays."""
    for kind, of, *_ in values:
        kinds[kind] += 1
        if kind in ("struct", "array"):
            count(of.values() if kind == "struct" else of, kinds)


def main():
    want = told(sys.argv[1])
    reader = {"csv": CSV, "jsonl": JSON, "chrome": Chrome, "perfetto": Perfetto, "parquet": Parquet}[sys.argv[2]]()
    functions = {call["function"] for call in want}
    found = [call for call in ((name.partition("(")[0], *rest) for name, *rest in reader.calls(sys.argv[3:])) if call[0] in functions]
    bad, kinds = [], collections.Counter()
    if [call[0] for call in found] != [call["function"] for call in want]:
        bad.append(f"{len(found)} calls, which are not the {len(want)} of the program")
    for call, (_, arguments, result) in zip(want, found):
        for what, got in (("arguments", arguments), ("result", result)):
            count(call[what].values(), kinds)
            if not reader.same(call[what], got, what == "result"):
                bad.append(f"{what} of call {call['number']}, {call['function']}: {got}, want {call[what]}")
    print(f"calls {len(found):,}, values {kinds.total():,} ({', '.join(f'{k} {n:,}' for k, n in sorted(kinds.items()))})")
    for b in bad[:10]:
        print("     ", b)
    sys.exit(bool(bad))


main()
