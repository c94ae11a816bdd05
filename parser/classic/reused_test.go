package classic

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/parser"
)

// owners names the modules of the events that were seen, "?" for several, "-" for none.
func (g *growing) owners() string {
	var names []string
	for _, e := range g.events {
		m := g.log.Modules(0)
		switch i, owners := m.Find(e.Address-1, g.log.Spaces(0)[e.Space].Time); owners {
		case 0:
			names = append(names, "-")
		case 1:
			names = append(names, m.At(i).Name())
		default:
			names = append(names, "?")
		}
	}
	return strings.Join(names, " ")
}

const ownHead = modules.HeaderLine + "\n2026-11-21T11:22:33.456\n70000\n"

// ownLine is the line of a module in our own modules file.
func ownLine(base, size int, name string) string {
	return fmt.Sprintf("0x%016x 0x%08x 8 - - /app/%s\n", base, size, name)
}

// TestReusedAddresses has libraries that lie at one address one after the other, all within a
// tick, so that only the places in the log tell them apart.
func TestReusedAddresses(t *testing.T) {
	var data []byte
	for _, address := range []uint64{0x401000, 0x10001000, 0x10001000, 0x10001000, 0x10001000, 0x401000, 0x10001000} {
		data = append(data, rec(address, 7, 70_001, len(data)/Size64%2 == 0)...)
	}
	main, a, b := ownLine(0x400000, 0x8000, "main"), ownLine(0x10000000, 0x8000, "a.so"), ownLine(0x10000000, 0x9000, "b.so")
	came := func(record int) string { return fmt.Sprintf("# came 70001 %d\n", record*Size64) }
	gone := func(record int) string { return fmt.Sprintf("# gone 70001 %d 0x0000000010000000\n", record*Size64) }
	for _, test := range []struct{ name, file, want string }{
		{"each in its time", ownHead + main + came(1) + a + gone(3) + came(3) + b + gone(6) + came(6) + a, "main a.so a.so b.so b.so main a.so"},
		{"loaded at the start", ownHead + main + a + gone(3) + came(3) + b, "main a.so a.so b.so b.so main b.so"},
		{"without places", ownHead + main + a + b, "main ? ? ? ? main ?"},
		{"listed twice", ownHead + main + a + a, "main a.so a.so a.so a.so main a.so"},
		{"together", ownHead + main + came(1) + a + b, "main ? ? ? ? main ?"},
		{"in a forked child", ownHead + main + came(1) + a + gone(3) + came(3) + b + "# copied 70001\n" + came(5) + a, "main b.so b.so b.so b.so main a.so"},
		{"behind the end", ownHead + main + a + came(900) + b, "main a.so a.so a.so a.so main a.so"},
		{"no number", ownHead + main + a + "# came 70001 x\n" + b, "main ? ? ? ? main ?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGrowing(t, data, test.file)
			if got := g.owners(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}

	t.Run("while it is followed", func(t *testing.T) {
		g := newGrowing(t, data[:3*Size64], ownHead+main+a)
		g.write(g.log.o.opt.ModulesFile, []byte(ownHead+main+a+gone(3)+came(3)+b))
		g.append(data[3*Size64:])
		g.grow()
		if got, want := g.owners(), "main a.so a.so b.so b.so main b.so"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// TestReusedRanges compares random modules that come and go with looking all of them through.
func TestReusedRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 2000 {
		const records = 200
		var list []modules.Module
		var came []int64
		at := int64(0)
		for i := range 1 + r.IntN(12) {
			if i > 2 {
				at = min(at+r.Int64N(40), records)
			}
			list = append(list, modules.Module{
				Base: 1 + r.Uint64N(60), Size: r.Uint64N(20), Path: fmt.Sprint(i), Loaded: -1 << 63, Unloaded: modules.Always,
			})
			came = append(came, at)
		}
		v := &view{size: 1, records: records, info: parser.Info{Runs: []parser.Run{{Count: records}}}}
		set := append([]modules.Module(nil), list...)
		v.spaces, v.reused = reusedRanges(set, came, func(bytes int64) int64 { return bytes })
		m := modules.NewMap(set)
		events := make([]parser.Event, records)
		for i := range events {
			events[i].Address = 1 + r.Uint64N(90)
		}
		v.setSpaces(events, 0)
		for i, e := range events {
			var want []string
			known := false // a module has the address that is there already
			for k := range list {
				known = known || list[k].Contains(e.Address-1) && came[k] <= int64(i)
				// It has the address, and none that came later took its place.
				has := list[k].Contains(e.Address-1) && came[k] <= int64(i)
				for j := k + 1; j < len(list); j++ {
					over := list[j].Size > 0 && list[j].Base < list[k].Base+list[k].Size && list[k].Base < list[j].Base+list[j].Size
					has = has && !(over && came[j] > came[k] && came[j] <= int64(i))
				}
				if has {
					want = append(want, list[k].Path)
				}
			}
			k, owners := m.Find(e.Address-1, v.spaces[e.Space].Time)
			// Where no other was there, one that came later is taken to have been there.
			if known && (owners != min(len(want), 2) || owners == 1 && m.At(k).Path != want[0]) {
				t.Fatalf("round %d: address %d at record %d: %d owners, %v; want %v of %+v, came %v", round, e.Address-1, i, owners, m.At(k), want, list, came)
			}
		}
	}
}
