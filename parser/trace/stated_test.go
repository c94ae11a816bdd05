package trace_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
)

// TestStated has a STACK in the middle of a chunk. With the flag StackStated it
// replaces the open calls, without it the reader expects it to agree with them.
func TestStated(t *testing.T) {
	for _, test := range []struct {
		name  string
		flags uint16
		depth int
		calls []uint64 // the innermost, by address
		open  string   // the open calls before the next event, if that tells them
		leave uint64   // the address of a short leave behind it
	}{
		{"the same", 0, 3, []uint64{1, 2, 3}, "", 3},
		{"the innermost of them", 0, 3, []uint64{2, 3}, "", 3},
		{"others", 0, 2, []uint64{1, 4}, "0+1,4", 4},
		{"the same, stated", 2, 3, []uint64{1, 2, 3}, "0+1,2,3", 3},
		{"fewer", 2, 1, []uint64{1}, "0+1", 1},
		{"the innermost ended", 2, 2, []uint64{2}, "1+2", 2},
		{"more", 2, 4, []uint64{1, 2, 3, 4}, "0+1,2,3,4", 4},
		{"none", 2, 0, nil, "0+", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &tracetest.Memory{}
			w := tracetest.NewWriter(m)
			th := w.Thread(1, 0, 7)
			for i := range uint64(3) {
				th.Enter(5000+i, 0x400001+i, tracetest.Entry)
			}
			le := binary.LittleEndian
			b := le.AppendUint32(le.AppendUint16(nil, 9<<2), uint32(16+8*len(test.calls)))
			b = le.AppendUint32(le.AppendUint16(b, test.flags), uint32(test.depth))
			b = le.AppendUint32(b, uint32(len(test.calls)))
			for _, c := range test.calls {
				b = le.AppendUint64(b, (0x400000+c)<<1)
			}
			th.Raw(b)
			// A leave of 2 bytes.
			th.Raw([]byte{10<<1 | 1, 0})
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			log := open(t, m)
			events, err := readAll(log, 10)
			if err != nil || len(events) != 4 {
				t.Fatal(len(events), err)
			}
			got := ""
			if events[3].Gap == parser.EventsMissing {
				calls, outer, err := log.OpenCalls(3)
				if err != nil {
					t.Fatal(err)
				}
				var list []string
				for _, c := range calls {
					list = append(list, fmt.Sprintf("%x", c.Address-0x400000))
				}
				got = fmt.Sprintf("%d+%s", outer, strings.Join(list, ","))
			}
			if got != test.open {
				t.Errorf("open %q, want %q", got, test.open)
			}
			want := test.leave
			if want != 0 {
				want += 0x400000
			}
			if events[3].Address != want {
				t.Errorf("the leave is of %#x, want %#x", events[3].Address, want)
			}
		})
	}
}
