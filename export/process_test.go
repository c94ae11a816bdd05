package export_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/export"
	"logparser/rows"
)

// TestProcess checks what formats of calls have of the process: its id, its name, and the names of its threads.
func TestProcess(t *testing.T) {
	l := program(rand.New(rand.NewPCG(3, 3)), 500)
	for i := range l {
		l[i].Thread += 4294967200 // the largest number of digits
	}
	opt := export.Options{Header: rows.Header{Log: "app.lptrace", ProcessID: 4294967295, Program: "my;app.exe",
		Threads: map[rows.Track]string{4294967210: "render", 4294967211: "io"}}}
	var file struct {
		TraceEvents []struct {
			Ph, Name string
			Pid, Tid uint32
			Args     struct{ Name string }
		}
	}
	if err := json.Unmarshal(write(t, "chrome", l, opt), &file); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, e := range file.TraceEvents {
		if e.Pid != 4294967295 {
			t.Fatalf("an event of process %d", e.Pid)
		}
		if e.Ph == "M" {
			names[fmt.Sprint(e.Name, " ", e.Tid)] = e.Args.Name
		}
	}
	if got := fmt.Sprint(names); got != "map[process_name 0:my;app.exe thread_name 4294967210:render thread_name 4294967211:io]" {
		t.Errorf("chrome: %s", got)
	}
	calls, _ := readChrome(t, write(t, "chrome", l, opt))
	same(t, "chrome", calls, intervals(l))

	// The process's id as a varint, its name, and the names of the threads.
	perfetto := string(write(t, "perfetto", l, opt))
	for _, want := range []string{"\x08\xff\xff\xff\xff\x0f\x32\x0amy;app.exe", "\x08\xff\xff\xff\xff\x0f\x10\xaa\xff\xff\xff\x0f\x2a\x06render"} {
		if !strings.Contains(perfetto, want) {
			t.Errorf("perfetto has no %q", want)
		}
	}

	for _, by := range []bool{false, true} {
		opt.ByThread = by
		roots := map[string]int{}
		for line := range strings.Lines(string(write(t, "folded", l, opt))) {
			names := strings.Split(line, ";")
			root := names[0]
			if by {
				root += ";" + names[1]
			}
			roots[root]++
		}
		want := "my:app.exe"
		if by {
			want = "my:app.exe;thread 4294967210 render"
		}
		if n := len(roots); roots[want] == 0 || !by && n != 1 || by && n != 3 {
			t.Errorf("by thread: %v: roots %v", by, roots)
		}
	}
	opt.Header.Program, opt.Header.ProcessID, opt.ByThread = "", 0, false
	if text := string(write(t, "folded", l, opt)); !strings.HasPrefix(text, "app.lptrace;app::") {
		t.Errorf("folded: %.30s", text)
	}
	if text := string(write(t, "chrome", l, opt)); !strings.Contains(text, `{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"app.lptrace"}}`) {
		t.Errorf("chrome: %.300s", text)
	}
}

// TestUTC has rows of several runs. For some of them the offset of local time from UTC is known.
func TestUTC(t *testing.T) {
	start := time.Date(2024, 3, 31, 0, 59, 58, 0, time.UTC)
	var l list
	for i := range 6 {
		l = append(l, rows.Row{Index: int64(i), HasWall: i != 5, Wall: start.Add(time.Duration(i) * 1500 * time.Millisecond), Elapsed: int64(i), Duration: rows.NoDuration, Function: "f"})
	}
	opt := export.Options{Runs: func() []rows.Run {
		return []rows.Run{{HasUTC: true, Ahead: 2 * time.Hour}, {First: 2}, {First: 3, HasUTC: true, Ahead: -90 * time.Minute}}
	}}
	want := []string{"2024-03-30T22:59:58.000000000Z", "2024-03-30T22:59:59.500000000Z", "", "2024-03-31T02:30:02.500000000Z", "2024-03-31T02:30:04.000000000Z", ""}
	records, err := csv.NewReader(strings.NewReader(string(write(t, "csv", l, opt)))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(write(t, "jsonl", l, opt)), "\n")
	_, columns := readParquet(t, write(t, "parquet", l, opt))
	for i := range l {
		if got := records[i+1][13]; got != want[i] {
			t.Errorf("csv, row %d: %q, want %q", i, got, want[i])
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &object); err != nil {
			t.Fatal(err)
		}
		if got, ok := object["time_utc"]; ok != (want[i] != "") || ok && got != want[i] {
			t.Errorf("jsonl, row %d: %v", i, got)
		}
		micros := ""
		if utc, err := time.Parse(time.RFC3339Nano, want[i]); err == nil {
			micros = fmt.Sprint(utc.UnixMicro())
		}
		if got := columns["time_utc"][i]; got != micros {
			t.Errorf("parquet, row %d: %q, want %q", i, got, micros)
		}
	}
}

// TestStackColumn has rows on stacks of coroutines and on the thread's own.
func TestStackColumn(t *testing.T) {
	var l list
	for i, stack := range []uint32{0, 7, 7, 0, 3} {
		l = append(l, rows.Row{Index: int64(i), Elapsed: int64(i), Stack: stack, Duration: rows.NoDuration, Function: "f"})
	}
	_, columns := readParquet(t, write(t, "parquet", l, export.Options{Header: rows.Header{Stacks: true}}))
	if got := columns["stack"]; !slices.Equal(got, []string{"", "7", "7", "", "3"}) {
		t.Errorf("parquet: %q", got)
	}
}

// TestSameColumns checks that csv and Parquet have the same column names. Only Parquet has elapsed times.
func TestSameColumns(t *testing.T) {
	for _, header := range []rows.Header{{}, {Corrected: true}, {Stacks: true}} {
		opt := export.Options{Header: header}
		head, _, _ := strings.Cut(string(write(t, "csv", list(nil), opt)), "\n")
		names, _ := readParquet(t, write(t, "parquet", list(nil), opt))
		if got := strings.Replace(strings.Join(names, ","), ",elapsed_us,", ",", 1); got != head {
			t.Errorf("parquet: %s\ncsv:     %s", got, head)
		}
	}
}

// TestProcesses writes calls of two processes whose threads have the same ids. No format may mix them up.
func TestProcesses(t *testing.T) {
	processes := []*rows.Process{{ID: 40, Name: "server"}, {ID: 40, Name: "client"}}
	rows.LabelProcesses(processes)
	var l list
	for i, p := range []int{0, 1, 0, 1} {
		event, depth := rows.Enter, 0
		if i >= 2 {
			event = rows.Leave
		}
		l = append(l, rows.Row{Index: int64(i), Elapsed: int64(i) * 1000, Thread: 7, Process: processes[p], Event: event, Depth: depth, Duration: 2000, Function: "f" + processes[p].Name})
	}
	opt := export.Options{Header: rows.Header{Log: "a, b", Processes: processes,
		Threads: map[rows.Track]string{rows.TrackOf(processes[0], 7, 0): "main", rows.TrackOf(processes[1], 7, 0): "reader"}}}
	for format, wanted := range map[string][]string{
		"chrome": {`"pid":40,"tid":0,"name":"process_name","args":{"name":"40 server"}`, `"pid":1,"tid":0,"name":"process_name","args":{"name":"40 client"}`,
			`"pid":40,"tid":7,"name":"thread_name","args":{"name":"main"}`, `"pid":1,"tid":7,"name":"thread_name","args":{"name":"reader"}`,
			`{"ph":"B","pid":1,"tid":7,"ts":1,"name":"fclient"`, `{"ph":"E","pid":40,"tid":7,"ts":2}`},
		"speedscope": {`"name":"process 40 server, thread 7 main"`, `"name":"process 40 client, thread 7 reader"`},
		"callgrind":  {"process 40 server, thread 7 main", "process 40 client, thread 7 reader"},
		"folded":     {"40 server;fserver 2000\n", "40 client;fclient 2000\n"},
		"csv":        {",note,time_utc,process\n", "fclient,,,,0x0,,,,40 client\n"},
		"jsonl":      {`"function":"fclient","address":"0x0","process":"40 client"}`},
		"txt":        {"  process   ", "  40 server           7     2.000 us  -> fserver", "  40 client           7     2.000 us  <- fclient"},
		"html":       {"<th>process</th></tr>", "<td>40 client</td></tr>"},
		"perfetto":   {"\x08\x28\x32\x0940 server", "\x08\x01\x32\x0940 client", "\x08\x01\x10\x07\x2a\x06reader"},
	} {
		text := string(write(t, format, l, opt))
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q: %q", format, want, text)
			}
		}
	}
	_, columns := readParquet(t, write(t, "parquet", l, opt))
	if got := fmt.Sprint(columns["process"]); got != "[40 server 40 client 40 server 40 client]" {
		t.Errorf("parquet: %s", got)
	}
	for format, read := range map[string]func(testing.TB, []byte) ([]interval, int){"chrome": readChrome, "perfetto": readPerfetto} {
		if calls, marks := read(t, write(t, format, l, opt)); len(calls) != 2 || marks != 0 {
			t.Errorf("%s: %v, %d marks", format, calls, marks)
		}
	}
}
