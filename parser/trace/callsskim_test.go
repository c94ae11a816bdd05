package trace

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"logparser/parser/trace/wire"
)

// TestSkim skips random records, and compares the result with reading them one by one.
func TestSkim(t *testing.T) {
	ended, stopped, short := 0, 0, 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 21))
		var b []byte
		depth, enters := 1, 30+r.IntN(50)
		for range 1 + r.IntN(300) {
			switch k := r.IntN(100); {
			case k == 0 && seed%4 == 0:
				b = wire.AppendWindow(b, 1, wire.Entry, 0x1000)
			case k < enters:
				b = wire.AppendShortEnter(b, r.Uint64N(wire.MaxWordDelta+1), wire.Offset(r.IntN(wire.Windows), r.Uint64N(1<<wire.OffsetBits)))
				depth++
			default:
				b = wire.AppendShortLeave(b, r.Uint64N(wire.MaxShortDelta+1))
				depth--
			}
			if depth == 0 {
				break
			}
		}
		whole := len(b)
		b = append(b, make([]byte, r.IntN(9))...) // padding
		// The simple way.
		p, events, wantTime := 0, 0, uint64(1000)
		special := false
		for depth = 1; depth > 0 && p < whole; events++ {
			v := binary.LittleEndian.Uint64(append(append([]byte(nil), b[p:]...), make([]byte, 8)...))
			if special = v&3 == 0; special {
				break
			}
			if v&1 != 0 {
				depth--
				p += wire.ShortLeaveSize
				wantTime += wire.LeaveDelta(v)
			} else {
				depth++
				p += wire.ShortEnterSize
				wantTime += wire.EnterDelta(v)
			}
		}
		most := 1 << 20
		if r.IntN(4) == 0 {
			most = r.IntN(400)
		}
		end, at, n, ok := skim(b, 0, 1000, most)
		switch {
		case ok:
			if ended++; depth > 0 || end != p || at != wantTime || n != events || n > most {
				t.Fatalf("seed %d: ended at %d, time %d, after %d records; want %d, %d, %d, %d open", seed, end, at, n, p, wantTime, events, depth)
			}
		case depth == 0 && p+skimWords*2 <= len(b) && events+skimWords <= most:
			t.Fatalf("seed %d: the end at %d is not found", seed, p)
		case special:
			stopped++
		default:
			short++
		}
		if end > len(b) || end < 0 {
			t.Fatalf("seed %d: %d of %d", seed, end, len(b))
		}
	}
	if ended < 500 || stopped < 50 || short < 50 {
		t.Errorf("%d ended, %d were stopped by another record, %d were too short", ended, stopped, short)
	}
}
