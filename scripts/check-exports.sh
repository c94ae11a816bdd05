#!/bin/bash
# check-exports.sh reads every saved format back with readers that others wrote
# and holds counts and sums against the log's rows.
#
#	scripts/check-exports.sh [LOG...]
#
# Without a LOG it takes those of LogTest, the sample and a trace with marks, and records a program with
# values (exports/values.cpp), whose arguments and results are held against what it prints itself. Each
# format is saved whole, and in parts where it can be. Readers from the npm registry go to
# build/exports/npm; what cannot be had is named, skipped and counted. The lines are
# kept in build/exports.txt. The exit status is 1 if a reader finds anything
# else than the rows have.
set -u
cd "$(dirname "$0")/.."

out=$PWD/build/exports
tools=$PWD/scripts/exports
npm=$out/npm
mkdir -p "$npm"
export LC_ALL=C.UTF-8 CGO_ENABLED=0
status=0

have() { command -v "$1" >/dev/null 2>&1; }
skipped=0
skip() {
	echo "skip $*"
	skipped=$((skipped + 1))
}

go build -o "$out/logparse" ./cmd/logparse || exit 1
have python3 || {
	skip "everything: there is no python3"
	exit 0
}
modules=
if have npm && have node; then
	[ -e "$npm/package.json" ] || echo '{"private":true}' >"$npm/package.json"
	for p in @duckdb/node-api@1.5.6-r.1 hyparquet@1.25.0 speedscope@1.25.0 ajv@8; do
		name=${p%@*}
		[ -d "$npm/node_modules/$name" ] || (cd "$npm" && npm install --silent --no-audit --no-fund --save-exact "$p" >/dev/null 2>&1)
		[ -d "$npm/node_modules/$name" ] && modules="$modules $name" || skip "npm package $name cannot be had"
	done
else
	skip "DuckDB, hyparquet, speedscope: there is no npm"
fi
module() { [[ " $modules " == *" $1 "* ]]; }

# check WHAT COMMAND... compares what a reader prints with what is expected.
check() {
	local what=$1
	shift
	if (cd "$npm" && "$@") >"$work/found" 2>"$work/errors"; then
		python3 "$tools/compare.py" "$name, $what" "$work/expected" "$work/found" || status=1
	else
		echo "FAIL $name, $what: $(tail -n 1 "$work/errors")"
		status=1
	fi
}

save() { "$out/logparse" save "$log" --no-recorded-paths -o "$@" 2>/dev/null || { echo "FAIL $name: saving $1" && status=1; }; }

check_log() {
	local log=$1 f
	name=$(basename "$(dirname "$log")")
	work=$out/$name
	rm -rf "$work"
	mkdir -p "$work"
	"$out/logparse" marks "$log" --no-recorded-paths --format jsonl 2>/dev/null >"$work/marks"
	"$out/logparse" show "$log" --no-recorded-paths --json 2>/dev/null | python3 "$tools/expected.py" "$work/marks" >"$work/expected"
	for f in jsonl html json pftrace speedscope.json folded callgrind parquet; do save "$work/whole.$f" --split-rows -1 --split-bytes -1; done
	for f in html json pftrace speedscope.json parquet; do save "$work/part.$f" --split-rows 100; done
	save "$work/calls.folded" --weight calls

	check "json lines, Python" python3 "$tools/read.py" jsonl "$work/whole.jsonl"
	check "page, Python's parser" python3 "$tools/read.py" html "$work/whole.html"
	check "page in $(ls "$work"/part.*.html | wc -l) parts" python3 "$tools/read.py" html "$work"/part.*.html
	check "Chrome trace, Python" python3 "$tools/read.py" chrome "$work/whole.json"
	check "Chrome trace in $(ls "$work"/part.[0-9]*.json | grep -vc speedscope) parts" python3 "$tools/read.py" chrome $(ls "$work"/part.[0-9]*.json | grep -v speedscope)
	check "folded calls, Python" python3 "$tools/read.py" folded "$work/calls.folded"
	if have protoc; then
		for f in "$work"/whole.pftrace "$work"/part.*.pftrace; do protoc -I "$tools" --decode=track_event.Trace track_event.proto <"$f" >"$f.text" || status=1; done
		check "Perfetto trace, protoc" python3 "$tools/read.py" perfetto "$work/whole.pftrace.text"
		check "Perfetto trace in $(ls "$work"/part.*.pftrace | wc -l) parts" python3 "$tools/read.py" perfetto "$work"/part.*.pftrace.text
	else
		skip "Perfetto traces: there is no protoc (protobuf-compiler)"
	fi
	if module @duckdb/node-api; then
		check "Parquet, DuckDB" node "$tools/duckdb.mjs" "$work/whole.parquet"
		check "Parquet in $(ls "$work"/part.*.parquet | wc -l) parts, DuckDB" node "$tools/duckdb.mjs" "$work/part.*.parquet"
	fi
	if module hyparquet; then
		check "Parquet, hyparquet" node "$tools/hyparquet.mjs" "$work/whole.parquet"
	fi
	if module ajv && module speedscope; then
		check "speedscope, its schema" node "$tools/schema.cjs" "$work/whole.speedscope.json"
	fi
	if [ "$name" = marks ]; then
		# What the trace says of its process is in the formats that have a place for it.
		for f in 'whole.json:"pid":4711,"tid":0,"name":"process_name","args":{"name":"game"}' 'whole.json:"name":"thread_name","args":{"name":"worker"}' \
			'whole.folded:game;' 'whole.jsonl:"time_utc":"2023-11-14T22:13:20'; do
			grep -qF -- "${f#*:}" "$work/${f%%:*}" && echo "ok   $name, ${f%%:*} has ${f#*:}" || { echo "FAIL $name, ${f%%:*} without ${f#*:}" && status=1; }
		done
	fi
	# The time in functions themselves: callgrind's own tool says it, and
	# speedscope imports three of the formats. (It also imports Chrome's, but
	# puts what begins and ends at one time into another order.)
	if have callgrind_annotate; then
		callgrind_annotate --threshold=100 --show-percs=no "$work/whole.callgrind" >"$work/annotated" 2>"$work/errors" || status=1
		python3 - "$work" >"$work/self" <<-'PY'
			import json, re, sys
			functions, total = {}, None
			for line in open(sys.argv[1] + "/annotated", encoding="utf-8"):
			    m = re.match(r" *([\d,.]+) +([\d,.]+) +(.*)$", line)
			    if not m:
			        continue
			    n = [int(x.replace(",", "").replace(".", "0")) for x in m.groups()[:2]]
			    if m[3] == "PROGRAM TOTALS":
			        total = n
			    elif total:
			        name = re.sub(r" \[[^]]*\]$", "", m[3])
			        f = functions.setdefault(name, [0, 0])
			        f[0], f[1] = f[0] + n[0], f[1] + n[1]
			json.dump({"ns": total[0], "calls": total[1], "functions": functions}, sys.stdout)
		PY
		python3 - "$work" "$name" <<-'PY' || status=1
			import json, sys
			work, name = sys.argv[1:]
			self, want = json.load(open(work + "/self")), json.load(open(work + "/expected"))
			calls = {}
			for k, v in self["functions"].items():
			    if v[1]:
			        short = k.partition(":")[2] if not k[1:3] == ":\\" else k[3:].partition(":")[2]
			        calls[short] = calls.get(short, 0) + v[1]
			ours = {k: v[0] for k, v in want["functions"].items()}
			ok = calls == ours and self["calls"] == want["calls"]
			print(f"{'ok  ' if ok else 'FAIL'} {name}, callgrind, callgrind_annotate: ns {self['ns']:,}, calls {self['calls']:,}, {len(calls)} functions")
			if not ok:
			    print("     ", [(k, calls.get(k), ours.get(k)) for k in sorted(calls.keys() | ours.keys()) if calls.get(k) != ours.get(k)][:5])
			sys.exit(not ok)
		PY
	else
		skip "callgrind: there is no callgrind_annotate (valgrind)"
	fi
	if module speedscope; then
		for f in whole.speedscope.json whole.folded whole.callgrind; do
			(cd "$npm" && node "$tools/speedscope.cjs" "$work/$f") >"$work/$f.imported" 2>"$work/errors" ||
				{ echo "FAIL $name, $f, imported by speedscope: $(tail -n 1 "$work/errors")" && status=1; }
		done
		python3 - "$work" "$name" <<-'PY' || status=1
			import json, sys
			work, name = sys.argv[1:]
			bad, first = False, None
			for f in ("whole.folded", "whole.speedscope.json", "whole.callgrind"):
			    x = json.load(open(f"{work}/{f}.imported"))
			    first = x["total"] if first is None else first
			    ok = x["total"] == first
			    bad |= not ok
			    print(f"{'ok  ' if ok else 'FAIL'} {name}, {f}, imported by speedscope: ns {x['total']:,}, {x['profiles']} profiles")
			sys.exit(bad)
		PY
	fi
}

# same_values FORMAT FILE READER [COMMAND...] holds the values in a file, as a reader's command prints it, against the program's.
same_values() {
	local format=$1 file=$work/whole.$2 what="values of calls in $2, $3" found
	shift 3
	if [ $# -gt 0 ]; then
		(cd "$npm" && "$@") <"$file" >"$file.read" 2>"$work/errors" || {
			echo "FAIL $what: $(tail -n 1 "$work/errors")"
			status=1
			return
		}
		file=$file.read
	fi
	if found=$(python3 "$tools/values.py" "$work/told" "$format" "$file" 2>&1); then
		echo "ok   $what: $found"
	else
		echo "FAIL $what: $found"
		status=1
	fi
}

# check_values records a program with values, and holds what is saved of them against what it prints.
check_values() {
	local f log=values.rec
	[ "$(uname -sm)" = "Linux x86_64" ] && have g++ || {
		skip "values of calls: the program is recorded on Linux x86-64, with g++"
		return
	}
	work=$out/values name=values
	rm -rf "$work"
	mkdir -p "$work"
	cd "$work" || exit 1
	"$out/logparse" recorder library >errors 2>&1 &&
		g++ -std=c++17 -g -O2 -fno-optimize-sibling-calls -pg -mfentry -minstrument-return=call -c "$tools/values.cpp" 2>errors &&
		g++ values.o -o values -Wl,--build-id -L. -llogrec -Wl,-rpath,"$work" 2>errors &&
		"$out/logparse" record --values 'app::*' --head 0 -o "$log" ./values >told 2>errors || {
		echo "FAIL values of calls: $(tail -n 1 errors)"
		status=1
		cd "$OLDPWD"
		return
	}
	for f in csv jsonl json pftrace parquet; do save "whole.$f" --symbols "$work" --split-rows -1 --split-bytes -1 $([ $f != csv ] || echo --raw-csv); done
	same_values csv csv "Python's csv"
	same_values jsonl jsonl "Python"
	same_values chrome json "Python"
	if have protoc; then
		same_values perfetto pftrace protoc protoc -I "$tools" --decode=track_event.Trace track_event.proto
	else
		skip "values of calls in pftrace: there is no protoc (protobuf-compiler)"
	fi
	if module @duckdb/node-api; then
		same_values parquet parquet DuckDB node "$tools/duckdb.mjs" "$work/whole.parquet" --values
	fi
	if module hyparquet; then
		same_values parquet parquet hyparquet node "$tools/hyparquet.mjs" --values "$work/whole.parquet"
	fi
	cd "$OLDPWD"
}

logs=("$@")
if [ $# -eq 0 ]; then
	mkdir -p "$out/input/marks"
	"$out/logparse" trace load --replace "$tools/marks.txt" "$out/input/marks/marks.lptrace" || exit 1
	logs=(assets/sample/LogDetails.dat testdata/logtest/*/LogDetails.dat "$out/input/marks/marks.lptrace")
fi
{
	for log in "${logs[@]}"; do check_log "$log"; done
	[ $# -gt 0 ] || check_values
	echo "$([ $status -eq 0 ] && echo "all readers agree" || echo "FAILED"); $skipped skipped"
	exit $status
} | tee build/exports.txt
exit "${PIPESTATUS[0]}"
