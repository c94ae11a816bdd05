package attached

import (
	"context"
	"encoding/binary"
	"os/exec"
	"testing"

	"logparser/symbols/unwind"
)

// naiveSpan is a piece of code, as the second reader has it.
type naiveSpan struct {
	from, to, function uint64
	exact, back        string
}

// unwind reads unwind rules.
func (n *naive) unwind() (list []naiveSpan) {
	var rules []string
	for _, b := range n.blocks(n.part(7)) {
		bytes := string(b.columns[1])
		for _, length := range varints(b.columns[0]) {
			rules = append(rules, bytes[:length])
			bytes = bytes[length:]
		}
	}
	rule := func(number int) string {
		if number == 0 {
			return ""
		}
		return rules[number-1]
	}
	at := n.part(5)
	for _, b := range n.blocks(at + 4 + n.u(at, 4)) {
		var c [7][]int
		for i := range c {
			c[i] = varints(b.columns[i])
		}
		rva := b.key
		after := map[int]int{}
		for len(c[0]) > 0 {
			rva += uint64(take(&c[0]))
			end := rva + uint64(take(&c[1]))
			function := rva - uint64(signed(take(&c[2])))
			spans, last := take(&c[3]), 0
			for i := range spans {
				to := end
				if i+1 < spans {
					to = rva + uint64(take(&c[4]))
				}
				exact := after[last]
				if code := take(&c[5]); code > 0 {
					exact = code - 1
					after[last] = exact
				}
				back := exact
				if code := take(&c[6]); code > 0 {
					back = code - 1
				}
				list = append(list, naiveSpan{rva, to, function, rule(exact), rule(back)})
				last, rva = exact, to
			}
		}
	}
	return list
}

// rules takes a rule of call frame information apart: register and offset of the CFA, and the offsets of registers that
// are saved below it.
func naiveRule(t *testing.T, rule string) (register, offset int, saved map[int]int) {
	t.Helper()
	if kind := rule[0]; kind != 1 {
		t.Fatalf("kind %#x", kind)
	}
	list := varints([]byte(rule[1:]))
	take(&list) // the return address
	register, offset = take(&list), signed(take(&list))
	saved = map[int]int{}
	for len(list) > 0 {
		how := take(&list)
		if how&7 != 3 {
			t.Fatalf("register %d: %d", how>>3, how&7)
		}
		saved[how>>3] = signed(take(&list))
	}
	return register, offset, saved
}

// TestSecondUnwindReader holds the description in docs/formats.md against what is written.
func TestSecondUnwindReader(t *testing.T) {
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("zstd is not installed")
	}
	for _, path := range []string{"../dwarf/testdata/gcc5.so", "../dwarf/testdata/x86_64.dll", "../dwarf/testdata/aarch64.so"} {
		im := openImage(t, path)
		e, err := EncodeUnwind(context.Background(), im, nil)
		if err != nil || e == nil {
			t.Fatal(path, err)
		}
		data, _ := withUnwind(t, e)
		n := &naive{t: t, data: data}
		list := n.unwind()
		at := n.part(5)
		fields := data[at+4 : at+4+n.u(at, 4)]
		if want := string([]byte{1, byte(len(im.Machine))}) + im.Machine; string(fields[:len(want)]) != want || binary.LittleEndian.Uint64(fields[len(want)+2:]) != im.Base {
			t.Errorf("%s: fields %x", path, fields)
		}
		err = unwind.Collect(unwind.RulesOf(im), func(want *unwind.Entry) error {
			rva := want.Start
			for _, s := range want.Spans {
				got := list[0]
				list = list[1:]
				if got != (naiveSpan{rva, rva + s.Length, want.Function, string(s.Exact), string(s.Return)}) {
					t.Fatalf("%s: %#x: %+v, want %+v of %+v", path, rva, got, s, want)
				}
				rva += s.Length
			}
			return nil
		})
		if err != nil || len(list) > 0 {
			t.Errorf("%s: %v, %d spans more", path, err, len(list))
		}
	}
	// What the bytes of a rule say: push rbp at the start of a function of x86-64.
	im := openImage(t, "../dwarf/testdata/gcc5.so")
	seen := false
	_ = unwind.Collect(unwind.RulesOf(im), func(e *unwind.Entry) error {
		if len(e.Spans) > 1 && e.Spans[0].Length == 1 {
			register, offset, saved := naiveRule(t, string(e.Spans[0].Exact))
			if register != 7 || offset != 8 || len(saved) != 1 || saved[16] != -8 {
				t.Errorf("%#x: CFA is %d%+d, saved %v", e.Start, register, offset, saved)
			}
			register, offset, saved = naiveRule(t, string(e.Spans[1].Exact))
			if register != 7 || offset != 16 || len(saved) != 2 || saved[16] != -8 || saved[6] == 0 && saved[3] == 0 && saved[12] == 0 {
				t.Errorf("%#x: CFA is %d%+d, saved %v", e.Start, register, offset, saved)
			}
			seen = true
		}
		return nil
	})
	if !seen {
		t.Error("no function begins with a push")
	}
}
