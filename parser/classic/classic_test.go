package classic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/modules"
	"logparser/parser"
)

// openText opens the log that a text of package classictest describes.
func openText(t *testing.T, text string, opt parser.Options) (*Log, error) {
	t.Helper()
	path, modulesPath, err := classictest.Write(t.TempDir(), text)
	if err != nil {
		t.Fatal(err)
	}
	if opt.ModulesFile == "" {
		opt.ModulesFile = modulesPath
	}
	l, err := Open(context.Background(), path, opt, nil)
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	return l, err
}

// describe prints a log: what Info says, then its events. Times are in
// milliseconds of the log's clock, or of the wall where it is known.
func describe(t *testing.T, l *Log) string {
	t.Helper()
	var b strings.Builder
	info := l.Info()
	fmt.Fprintf(&b, "%d bytes a record", info.RecordSize)
	if l.Truncated() {
		b.WriteString(", truncated")
	}
	b.WriteByte('\n')
	events := make([]parser.Event, info.Records)
	if n, err := l.ReadEvents(events, 0); err != nil || int64(n) != info.Records {
		t.Fatalf("read %d of %d events: %v", n, info.Records, err)
	}
	next := int64(0)
	for i, r := range info.Runs {
		if r.First != next {
			t.Errorf("run %d begins at record %d, not %d", i, r.First, next)
		}
		next += r.Count
		fmt.Fprintf(&b, "run")
		if r.HasModules {
			fmt.Fprintf(&b, " with %d modules", l.Modules(i).Len())
		} else if l.Modules(i).Len() != 0 {
			t.Errorf("run %d has modules", i)
		}
		if !r.Reason.IsZero() {
			fmt.Fprintf(&b, ": %s", r.Reason)
		}
		b.WriteByte('\n')
		clock := l.Clock(i)
		for _, e := range events[r.First : r.First+r.Count] {
			fmt.Fprintf(&b, "%s t%d %#x ", [...]string{"enter", "leave", "damaged"}[e.Kind], e.Thread, e.Address)
			if w, ok := clock.Wall(e.Time); ok {
				b.WriteString(w.Format("15:04:05.000"))
			} else {
				fmt.Fprintf(&b, "%d", (e.Time-clock.Zero)/1e6)
			}
			b.WriteByte('\n')
		}
	}
	if next != info.Records {
		t.Errorf("the runs hold %d of %d records", next, info.Records)
	}
	for _, d := range info.Damage {
		fmt.Fprintf(&b, "damage at %d, %d bytes: %s\n", d.Offset, d.Bytes, d.Reason)
	}
	if !info.NoTime.IsZero() {
		fmt.Fprintf(&b, "no time: %s\n", info.NoTime)
	}
	for _, n := range info.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

const program = `
start 2026-11-21 11:22:33.456
module 0x400000 0x10000 C:\a.exe
`

const oursProgram = `
ours
start 2026-11-21 11:22:33.456
module 0x400000 0x10000 4 - - C:\a.exe
`

func TestOpen(t *testing.T) {
	for _, test := range []struct {
		name, in, want string
		opt            parser.Options
	}{
		{
			name: "32-bit",
			in: "record 16\npadding 0xcc\ntick 1000" + program + `
enter t7 0x401000
enter t7 0x402000 +2
leave t7 0x402000 +65536
leave t7 0x401000`,
			want: `16 bytes a record
run with 1 modules
enter t7 0x401000 11:22:33.456
enter t7 0x402000 11:22:33.458
leave t7 0x402000 11:23:38.994
leave t7 0x401000 11:23:38.994
`,
		},
		{
			name: "64-bit, without a modules file",
			in: `
enter t7 0x7ff6a0001000 @1000
enter t8 0x7ff6a0002000 +2
leave t8 0x7ff6a0002000
leave t7 0x7ff6a0001000 +10`,
			want: `24 bytes a record
run
enter t7 0x7ff6a0001000 0
enter t8 0x7ff6a0002000 2
leave t8 0x7ff6a0002000 2
leave t7 0x7ff6a0001000 12
`,
		},
		{
			name: "64-bit program with the 16-byte record",
			in: `
record 16
tick 1000
ours
module 0x7ff6a0000000 0x10000 8 - - C:\a.exe
enter t7 0xa0001000
enter t8 0xa0002000 +2
leave t8 0xa0002000
leave t7 0xa0001000 +10`,
			want: `16 bytes a record, truncated
run with 1 modules
enter t7 0xa0001000 0
enter t8 0xa0002000 2
leave t8 0xa0002000 2
leave t7 0xa0001000 12
note: no start time is known: only the time since the first record is
`,
		},
		{
			name: "high addresses are not sign-extended",
			in:   "record 16\nenter 1 0xf0000010 @5\nleave 1 0xf0000010\n",
			want: "16 bytes a record\nrun\nenter t1 0xf0000010 0\nleave t1 0xf0000010 0\n",
		},
		{
			name: "small steps back stay",
			in:   "record 16\nenter 1 0x401000 @5000\nenter 2 0x402000 @4000\nleave 1 0x401000 @5001\nleave 2 0x402000 @5002",
			want: "16 bytes a record\nrun\nenter t1 0x401000 0\nenter t2 0x402000 -1000\nleave t1 0x401000 1\nleave t2 0x402000 2\n",
		},
		{
			name: "damaged flag and address 0",
			in: "record 16\npadding 0x11\nenter 1 0x401000 @5000\nflag 0x7f 1 0x402000 +1\nflag 2 1 0x402000 +1\nleave 1 0x402000 +1\n" +
				"enter 1 0\nleave 1 0x401000 +1\nbytes 0102030405",
			want: `16 bytes a record
run
enter t1 0x401000 0
damaged t1 0x402000 1
damaged t1 0x402000 2
leave t1 0x402000 3
damaged t1 0x0 3
leave t1 0x401000 4
damage at 16, 32 bytes: 2 records cannot be right (flag byte neither 0 nor 1, or address 0)
damage at 64, 16 bytes: the record cannot be right (flag byte neither 0 nor 1, or address 0)
damage at 96, 5 bytes: the last record is cut off
`,
		},
		{
			name: "zeros at the end",
			in:   "record 16\nenter 1 0x401000 @5000\nleave 1 0x401000 +1\nbytes " + strings.Repeat("00", 100),
			want: "16 bytes a record\nrun\nenter t1 0x401000 0\nleave t1 0x401000 1\n" +
				"damage at 32, 100 bytes: the end of the file is zero: it was never written\n",
		},
		{
			name: "wrap",
			in: "record 16\ntick 0xfffffff0" + program + `
enter 1 0x401000 @0xfffffff8
enter 2 0x402000 @3
enter 1 0x403000 @0xfffffffe # late
leave 1 0x403000 @5
leave 1 0x401000 @0x7fffffff # 24.8 days later
leave 2 0x402000 @0x80000000`,
			want: `16 bytes a record
run with 1 modules
enter t1 0x401000 11:22:33.464
enter t2 0x402000 11:22:33.475
enter t1 0x403000 11:22:33.470
leave t1 0x403000 11:22:33.477
leave t1 0x401000 07:53:57.119
leave t2 0x402000 07:53:57.120
`,
		},
		{
			name: "start tick before the wrap, records after it",
			in:   "record 16\ntick 0xffffff00" + program + "enter 1 0x401000 @0x100\nleave 1 0x401000 +1",
			want: "16 bytes a record\nrun with 1 modules\nenter t1 0x401000 11:22:33.968\nleave t1 0x401000 11:22:33.969\n",
		},
		{
			name: "the first record is from after the wrap, the second from before",
			in:   "record 16\nenter 1 0x401000 @1\nenter 2 0x402000 @0xffffffff\nleave 1 0x401000 @2\nleave 2 0x402000 @3",
			want: "16 bytes a record\nrun\nenter t1 0x401000 0\nenter t2 0x402000 -2\nleave t1 0x401000 1\nleave t2 0x402000 2\n",
		},
		{
			name: "two runs, the machine started again between",
			in: "record 16\ntick 9000000" + program + `
enter 1 0x401000
leave 1 0x401000 +1
enter 1 0x401100 +1
run 60000
` + program + `
enter 5 0x401000 +10
leave 5 0x401000 +1`,
			want: `16 bytes a record
run
enter t1 0x401000 0
leave t1 0x401000 1
enter t1 0x401100 2
run with 1 modules: the tick count goes back from 9000002 to 60010
enter t5 0x401000 11:22:33.466
leave t5 0x401000 11:22:33.467
`,
		},
		{
			name: "two runs of one boot",
			in: "record 16\ntick 9000000" + oursProgram + `
enter 1 0x401000
leave 1 0x401000 +1
run 9000500
` + oursProgram + `
enter 1 0x401000
leave 1 0x401000 +1`,
			want: `16 bytes a record
run
enter t1 0x401000 0
leave t1 0x401000 1
run with 1 modules: the modules file was written here, at tick 9000500
enter t1 0x401000 11:22:33.456
leave t1 0x401000 11:22:33.457
`,
		},
		{
			name: "three runs: restart, then one of the same boot",
			in: "record 16\ntick 9000000" + oursProgram + `
enter 1 0x401000
leave 1 0x401000 +1
run 50000
enter 2 0x401000
leave 2 0x401000 +1
run 70000
` + oursProgram + `
enter 3 0x401000 +5
leave 3 0x401000 +1`,
			want: `16 bytes a record
run
enter t1 0x401000 0
leave t1 0x401000 1
run: the tick count goes back from 9000001 to 50000
enter t2 0x401000 0
leave t2 0x401000 1
run with 1 modules: the modules file was written here, at tick 70000
enter t3 0x401000 11:22:33.461
leave t3 0x401000 11:22:33.462
`,
		},
		{
			name: "a foreign modules file, written after the first records of its own run",
			in: "record 16\ntick 1005" + program + `
enter 1 0x401000 @1000
enter 1 0x402000 @1010
leave 1 0x402000 @1020
leave 1 0x401000 @1020`,
			want: `16 bytes a record
run with 1 modules
enter t1 0x401000 11:22:33.451
enter t1 0x402000 11:22:33.461
leave t1 0x402000 11:22:33.471
leave t1 0x401000 11:22:33.471
`,
		},
		{
			name: "the modules file of a run that recorded nothing",
			in: "record 16\ntick 9000000" + oursProgram + `
enter 1 0x401000
leave 1 0x401000 +1
run 19000000` + oursProgram,
			want: `16 bytes a record
run
enter t1 0x401000 0
leave t1 0x401000 1
note: the modules file was written at tick 19000000, after the last record: it describes no run of this log
`,
		},
		{
			name: "the addresses tell which of two runs the modules file describes",
			in: "record 16\nmodule 0x400000 0x10000 a.exe\n" + `
enter 1 0x401000 @9000000
leave 1 0x401000 +1
enter 2 0x501000 @50000
leave 2 0x501000 +1`,
			want: `16 bytes a record
run with 1 modules
enter t1 0x401000 0
leave t1 0x401000 1
run: the tick count goes back from 9000001 to 50000
enter t2 0x501000 0
leave t2 0x501000 1
`,
		},
		{
			name: "a wrap during a long pause, shown by the start tick",
			in: "record 16\ntick 0xf0000000" + oursProgram + `
enter 1 0x401000
leave 1 0x401000 +1
enter 1 0x401000 @0x01000000
leave 1 0x401000 +1`,
			want: `16 bytes a record
run with 1 modules
enter t1 0x401000 11:22:33.456
leave t1 0x401000 11:22:33.457
enter t1 0x401000 18:36:06.128
leave t1 0x401000 18:36:06.129
`,
		},
		{
			name: "a wrap during a long pause and no start tick: two runs",
			in: `
record 16
enter 1 0x401000 @0xf0000000
leave 1 0x401000 +1
enter 1 0x401000 @0x01000000
leave 1 0x401000 +1`,
			want: `16 bytes a record
run
enter t1 0x401000 0
leave t1 0x401000 1
run: the tick count goes back from 4026531841 to 16777216
enter t1 0x401000 0
leave t1 0x401000 1
`,
		},
		{
			name: "single damaged ticks make no run",
			in: `
record 16
enter 1 0x401000 @20000000
leave 1 0x401000 +1
enter 1 0x401000 @90000000 # too high
leave 1 0x401000 @20000003
enter 1 0x401000 @20000004
leave 1 0x401000 @10       # too low
enter 1 0x401000 @20000005
leave 1 0x401000 @20000006`,
			want: `16 bytes a record
run
enter t1 0x401000 0
leave t1 0x401000 1
enter t1 0x401000 70000000
leave t1 0x401000 3
enter t1 0x401000 4
leave t1 0x401000 -19999990
enter t1 0x401000 5
leave t1 0x401000 6
`,
		},
		{
			name: "the user gives size, time and tick",
			in:   "record 16\ntick 5" + program + "enter 1 0x401000 @1000\nleave 1 0x401000 +1",
			opt:  parser.Options{RecordSize: 16, StartTime: "2000-01-01 00:00:00", StartTick: new(uint32)},
			want: "16 bytes a record\nrun with 1 modules\nenter t1 0x401000 00:00:01.000\nleave t1 0x401000 00:00:01.001\n",
		},
		{
			name: "the user gives the time only",
			in:   "record 16\nenter 1 0x401000 @1000\nleave 1 0x401000 +1",
			opt:  parser.Options{StartTime: "2000-01-01 00:00:00"},
			want: "16 bytes a record\nrun\nenter t1 0x401000 00:00:00.000\nleave t1 0x401000 00:00:00.001\n" +
				"note: no start tick is known: the start time given is taken for that of the first record\n",
		},
		{
			name: "remarks on the start time",
			in:   "record 16\nstart 2026-11-21 11:22:33 +0800\ntick 1000\nmodule 0x400000 0x10000 a.exe\nenter 1 0x401000\nleave 1 0x401000",
			want: "16 bytes a record\nrun with 1 modules\nenter t1 0x401000 11:22:33.000\nleave t1 0x401000 11:22:33.000\n" +
				"note: the start time names the zone +0800, which is left out of account: times are the program's local time\n",
		},
		{
			name: "time without tick, and one that is none",
			in:   "record 16\nstart 2026-13-21 11:22:33\nmodule 0x400000 0x10000 a.exe\nenter 1 0x401000 @7\nleave 1 0x401000",
			want: "16 bytes a record\nrun with 1 modules\nenter t1 0x401000 0\nleave t1 0x401000 0\n" +
				"no time: the start time of the modules file is not understood (\"2026-13-21 11:22:33\" is out of range: not a time: want year-month-day hour:minute[:second[.fraction]] or the eight numbers of a SYSTEMTIME)\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, err := openText(t, test.in, test.opt)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(t, l); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
			info := l.Info()
			if info.Format != "classic" || !strings.Contains(info.Why.String(), fmt.Sprint(info.RecordSize)) {
				t.Errorf("format %q, why %q", info.Format, info.Why)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", strings.Repeat("\x10\x20\x40\x00\x01\x00\x00\x00\x05\x00\x00\x00\x01\x00\x00\x00", 4))
	for _, test := range []struct {
		path string
		opt  parser.Options
		want error
		part string
	}{
		{filepath.Join(dir, "none"), parser.Options{}, os.ErrNotExist, "none"},
		{dir, parser.Options{}, ErrFolder, dir},
		{file("empty", ""), parser.Options{}, ErrEmpty, "empty"},
		{file("text", "Dear reader,\n"), parser.Options{}, ErrText, `"Dear reader,"`},
		{file("utf16", "\xff\xfeD\x00e\x00a\x00r\x00"), parser.Options{}, ErrText, ""},
		{file("short", "\x01\x02\x03"), parser.Options{}, ErrTooShort, "3 bytes"},
		{file("modules", "2026 11 6 21 11 22 33 456\n1000\n0x400000 0x10000 a.exe\n"), parser.Options{}, ErrModulesFile, ""},
		{file("modules16", "\xff\xfe0\x00x\x001\x000\x000\x000\x000\x00 \x001\x000\x000\x00 \x00a\x00\n\x00"), parser.Options{}, ErrModulesFile, ""},
		{file("zeros", strings.Repeat("\x00", 1000)), parser.Options{}, ErrNotLog, ""},
		{file("noise", strings.Repeat("\x7fNOT\x02\x01\x01garbage\x00\xfe\xfd\xfc", 500)), parser.Options{}, ErrNotLog, ""},
		{file("program", strings.Repeat("\x7fELF\x02\x01\x01garbage\x00\xfe\xfd\xfc", 500)), parser.Options{}, ErrProgram, ""},
		{good, parser.Options{RecordSize: 20}, ErrRecordSize, "20"},
		{good, parser.Options{ModulesFile: good}, modules.ErrBinary, ""},
		{good, parser.Options{ModulesFile: file("prose", "prose\n")}, modules.ErrNoModules, "prose"},
		{good, parser.Options{ModulesFile: dir}, nil, "not a regular file"},
		{good, parser.Options{ModulesFile: file("m", "0x400000 0x10000 a.exe\n"), Encoding: "klingon"}, modules.ErrEncoding, "klingon"},
		{good, parser.Options{StartTime: "tomorrow"}, nil, "start time"},
		{file("one", "\x10\x20\x40\x00\x01\x00\x00\x00\x05\x00\x00\x00\x01\x00\x00\x00"), parser.Options{RecordSize: 24}, ErrTooShort, "24-byte"},
	} {
		l, err := Open(context.Background(), test.path, test.opt, nil)
		if err == nil {
			l.Close()
			t.Errorf("%s %+v: no error", test.path, test.opt)
			continue
		}
		if test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.part) {
			t.Errorf("%s %+v: %v", test.path, test.opt, err)
		}
	}
	// Forced, nearly anything opens.
	l, err := Open(context.Background(), filepath.Join(dir, "noise"), parser.Options{RecordSize: 16}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if i := l.Info(); i.DamageBytes < i.Size/2 {
		t.Errorf("damage %d of %d bytes", i.DamageBytes, i.Size)
	}
}

func TestCancel(t *testing.T) {
	path, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err = Open(ctx, path, parser.Options{}, func(done, total int64) {
		calls++
		cancel()
	})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	var last, whole int64
	l, err := Open(context.Background(), path, parser.Options{}, func(done, total int64) {
		if done < last {
			t.Errorf("progress goes back from %d to %d", last, done)
		}
		last, whole = done, total
	})
	if err != nil || last != 20_000*24 || whole != last {
		t.Errorf("progress ends at %d of %d, %v", last, whole, err)
	}
	l.Close()
}

// TestReadEventsAnywhere compares reading in odd portions with reading at once,
// over segments and wraps.
// A buffer may hold events of another log, of a format with spaces and gaps.
func TestReadEventsOverOthers(t *testing.T) {
	for _, size := range []int{Size32, Size64} {
		path, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 100, RecordSize: size})
		if err != nil {
			t.Fatal(err)
		}
		l, err := Open(context.Background(), path, parser.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		used := make([]parser.Event, 100)
		for i := range used {
			used[i] = parser.Event{Address: 1, Time: 2, Thread: 3, Space: 4, Kind: parser.Damaged, Gap: parser.EventsMissing}
		}
		fresh := make([]parser.Event, len(used))
		for _, events := range [][]parser.Event{used, fresh} {
			if n, err := l.ReadEvents(events, 0); err != nil || n != len(events) {
				t.Fatalf("%d, %v", n, err)
			}
		}
		if !slices.Equal(used, fresh) {
			t.Errorf("%d-byte records: something of what was in the buffer is left: %v, not %v", size, used[0], fresh[0])
		}
	}
}

func TestReadEventsAnywhere(t *testing.T) {
	for _, size := range []int{16, 24} {
		spec := classictest.Spec{Records: 30_000, RecordSize: size, StartTick: 1<<32 - 500}
		path, _, err := classictest.WriteFiles(t.TempDir(), spec)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(path)
		data = append(data[:10_001*size+5:10_001*size+5], data[10_001*size+9:]...)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		l, err := Open(context.Background(), path, parser.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		n := l.Info().Records
		if len(l.view.Load().segments) != 2 || len(l.view.Load().epochs) < 2 {
			t.Fatalf("%d segments, %d epochs", len(l.view.Load().segments), len(l.view.Load().epochs))
		}
		all := make([]parser.Event, n)
		if k, err := l.ReadEvents(all, 0); err != nil || int64(k) != n {
			t.Fatalf("%d of %d, %v", k, n, err)
		}
		for _, step := range []int64{1, 7, 997, 12_345} {
			part := make([]parser.Event, step)
			for from := int64(0); from < n+step; from += step {
				k, err := l.ReadEvents(part, from)
				want := max(0, min(step, n-from))
				if int64(k) != want || (want < step) != (err == io.EOF) || want == step && err != nil {
					t.Fatalf("from %d: %d, %v", from, k, err)
				}
				for i := range k {
					if part[i] != all[from+int64(i)] {
						t.Fatalf("record %d: %v, not %v", from+int64(i), part[i], all[from+int64(i)])
					}
				}
			}
		}
		if _, err := l.ReadEvents(all, -1); err == nil {
			t.Error("record -1 is read")
		}
		if k, err := l.ReadEvents(nil, 5); k != 0 || err != nil {
			t.Errorf("nothing: %d, %v", k, err)
		}
	}
}

func TestShrunk(t *testing.T) {
	path, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 1000})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Truncate(path, 500*24+3); err != nil {
		t.Fatal(err)
	}
	events := make([]parser.Event, 1000)
	if _, err := l.ReadEvents(events, 0); !errors.Is(err, ErrShrunk) || !strings.Contains(err.Error(), "byte 12003") {
		t.Errorf("got %v", err)
	}
	if n, err := l.ReadEvents(events[:500], 0); n != 500 || err != nil {
		t.Errorf("what is there: %d, %v", n, err)
	}
}

func TestDetect(t *testing.T) {
	f, err := classictest.Compile("record 16\nenter 1 0x401000 @5\nleave 1 0x401000\nenter 1 0x401000 +1\nleave 1 0x401000\n")
	if err != nil {
		t.Fatal(err)
	}
	if n := Detect(f.Log, int64(len(f.Log))); n < 30 || n > 60 {
		t.Errorf("a log: %d", n)
	}
	for _, s := range []string{"", "short", "a text of some length, in any case", strings.Repeat("\xff\xfe\x99", 100)} {
		if n := Detect([]byte(s), int64(len(s))); n != 0 {
			t.Errorf("%q: %d", s, n)
		}
	}
	if Format.Name != "classic" || !Format.NeedsModulesFile {
		t.Errorf("%+v", Format)
	}
}

// TestConcurrentReads reads one log from many goroutines at once.
func TestConcurrentReads(t *testing.T) {
	log, mods := generate(t, classictest.Spec{Records: 100_000, RecordSize: 16})
	l, err := openBytes(log, mods, parser.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := readAll(t, l)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			events := make([]parser.Event, 3000+g)
			for from := g * 1000; from < len(want); from += len(events) {
				n, err := l.ReadEvents(events, int64(from))
				if err != nil && err != io.EOF || !equal(events[:n], want[from:from+n]) {
					t.Errorf("from %d: %d events, %v", from, n, err)
					return
				}
			}
		}()
	}
	wg.Wait()
}
