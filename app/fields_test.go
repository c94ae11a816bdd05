package app

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser/trace/wire"
	"logparser/rows"
)

// allFields are all that a source can fill in.
const allFields = rows.SelfTimes | rows.CallSites | rows.ThreadNames

// TestFilled reads rows with all that can be filled in, of logs of all kinds, in pieces
// of all sizes, and holds them against what rows and single questions tell.
func TestFilled(t *testing.T) {
	sampleLogs(t, 5000, func(t *testing.T, s *Session) {
		env := newRowEnv(t, s)
		r := rand.New(rand.NewPCG(3, uint64(len(env.rows))))
		v := viewOf(t, s, Selection{Where: env.expression(r, 1)})
		for _, src := range []rows.Source{rows.With(s.Rows(), allFields), rows.With(v, allFields), rows.With(rows.With(v, rows.SelfTimes), allFields)} {
			for range rounds(100) {
				if src.Len() == 0 {
					break
				}
				from := r.Int64N(src.Len())
				dst := make([]rows.Row, 1+r.Int64N(min(src.Len()-from, 6000)))
				if n, err := src.Read(dst, from); n < len(dst) {
					t.Fatalf("%d of %d rows from %d on: %v", n, len(dst), from, err)
				}
				for _, got := range dst {
					if want := env.filled[got.Index]; !reflect.DeepEqual(got, want) {
						t.Fatalf("row %d is %+v, want %+v", got.Index, got, want)
					}
				}
			}
		}
		if part := rows.With(s.Rows(), rows.ThreadNames).Row(0); part.Filled != rows.ThreadNames {
			t.Errorf("filled in is %b", part.Filled)
		}
	})
}

// TestFilledSites reads the call sites of a trace of which many calls go on from block to
// block: from one end to the other, from anywhere, and as a table.
func TestFilledSites(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Header.Flags = wire.FlagSites
	r := rand.New(rand.NewPCG(9, 9))
	var threads [2]*tracetest.Thread
	var stacks [2][]uint64
	for i := range threads {
		threads[i] = w.Thread(uint32(i), 0, uint64(7+i))
		threads[i].Full = true
	}
	var want []uint64 // of each row, 0 for none
	for i := range 6 * blockRows {
		k, now := r.IntN(2), uint64(1000+i)
		if n := len(stacks[k]); n > 0 && r.IntN(40+n) > 40 {
			threads[k].Leave(now)
			want = append(want, stacks[k][n-1])
			stacks[k] = stacks[k][:n-1]
			continue
		}
		site := uint64(0)
		if r.IntN(3) > 0 {
			site = 0x400000 + r.Uint64N(50)
			threads[k].Site(now, site)
		}
		threads[k].Enter(now, 0x500000, tracetest.Entry)
		stacks[k], want = append(stacks[k], site), append(want, site)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sites.lptrace")
	if err := os.WriteFile(path, m.Bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Inputs{Log: path})
	src := rows.With(s.Rows(), rows.CallSites)
	if src.Len() != int64(len(want)) {
		t.Fatalf("%d rows, want %d", src.Len(), len(want))
	}
	check := func(from, n int) {
		t.Helper()
		dst := make([]rows.Row, n)
		if got, err := src.Read(dst, int64(from)); got < n {
			t.Fatalf("%d of %d rows: %v", got, n, err)
		}
		for i := range dst {
			var got uint64
			if site := dst[i].Site; site != nil {
				got = site.Address
			}
			if got != want[from+i] {
				t.Fatalf("row %d was called from %#x, want %#x", from+i, got, want[from+i])
			}
		}
	}
	for range rounds(60) {
		from := r.IntN(len(want))
		check(from, 1+r.IntN(min(len(want)-from, 500)))
	}
	check(0, len(want))
	columns, err := rows.ParseColumns("index,site_address")
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := s.Write(context.Background(), &table, "csv", SaveOptions{Columns: columns}, nil); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")[1:]
	for i, line := range lines {
		address := ""
		if want[i] != 0 {
			address = string(rows.AppendAddress(nil, want[i]))
		}
		if _, got, _ := strings.Cut(line, ","); got != address {
			t.Fatalf("line %s, want %s", line, address)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines", len(lines))
	}
}
