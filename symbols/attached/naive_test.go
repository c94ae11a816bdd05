package attached

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os/exec"
	"testing"

	"logparser/symbols"
)

// A naive is a second reader of containers, written from docs/formats.md in the plainest
// way: it reads everything, checks nothing, and has zstd inflated by the program zstd.
type naive struct {
	t    *testing.T
	data []byte
}

func (n *naive) u(at, size uint64) uint64 {
	v := uint64(0)
	for i := size; i > 0; i-- {
		v = v<<8 | uint64(n.data[at+i-1])
	}
	return v
}

// varints reads all numbers of a column.
func varints(b []byte) (list []int) {
	for len(b) > 0 {
		v, k := binary.Uvarint(b)
		list = append(list, int(v))
		b = b[k:]
	}
	return list
}

func inflate(t *testing.T, b []byte) []byte {
	cmd := exec.Command("zstd", "-d", "-c")
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// part returns where a part of a kind begins.
func (n *naive) part(kind uint64) uint64 {
	for i := range n.u(16, 4) {
		if e := n.u(10, 2) + i*n.u(12, 2); n.u(e, 2) == kind {
			return n.u(e+8, 8)
		}
	}
	n.t.Fatalf("no part of the kind %d", kind)
	return 0
}

// A naiveBlock is a block: its key and its columns.
type naiveBlock struct {
	key     uint64
	columns [][]byte
}

func (n *naive) blocks(at uint64) (list []naiveBlock) {
	count := n.u(at, 4)
	data := at + 8 + 24*count
	for i := range count {
		e := at + 8 + 24*i
		b := naiveBlock{key: n.u(e, 8)}
		stored := n.data[data : data+n.u(e+8, 4)]
		data += n.u(e+8, 4)
		k, w := binary.Uvarint(stored)
		stored = stored[w:]
		for range k {
			raw, w := binary.Uvarint(stored)
			stored = stored[w:]
			packed, w := binary.Uvarint(stored)
			stored = stored[w:]
			column := stored[:packed]
			stored = stored[packed:]
			if packed != raw {
				column = inflate(n.t, column)
			}
			b.columns = append(b.columns, column)
		}
		list = append(list, b)
	}
	return list
}

// names returns pairs of a name and a signature.
func (n *naive) names(kind uint64) (list [][2]string) {
	for _, b := range n.blocks(n.part(kind) + 8) {
		shared, rest, shared2, rest2 := varints(b.columns[0]), varints(b.columns[1]), varints(b.columns[2]), varints(b.columns[3])
		texts, before := string(b.columns[4]), ""
		for i := range shared {
			name := before[:shared[i]] + texts[:rest[i]]
			texts = texts[rest[i]:]
			signature := name[:shared2[i]] + texts[:rest2[i]]
			texts = texts[rest2[i]:]
			list = append(list, [2]string{name, signature})
			before = name
		}
	}
	return list
}

// take takes the first number of a list.
func take(list *[]int) int {
	v := (*list)[0]
	*list = (*list)[1:]
	return v
}

func signed(v int) int { return v>>1 ^ -(v & 1) }

// choose takes a record's number: the one that is expected, the next new one, or one by its
// place in the list of those before, of which it then becomes the first.
func choose(code int, expected int, news *[]int, last *int, list *[]int) int {
	switch code {
	case 0:
		return expected
	case 1:
		*last += signed(take(news))
		*list = append([]int{*last}, *list...)
		return *last
	}
	v := (*list)[code-2]
	rest := append(append([]int{}, (*list)[:code-2]...), (*list)[code-1:]...)
	*list = append([]int{v}, rest...)
	return v
}

// answers returns the answer of each byte, as text.
func (n *naive) answers() map[uint64]string {
	functions, files := n.names(3), n.names(4)
	kind := []symbols.Kind{"procedure", "thunk", "ilt-thunk", "public", "symbol", "export", "plt"}
	type at struct{ function, file, line int }
	none := uint32(noID)
	all := make(map[uint64]string)
	for _, b := range n.blocks(n.part(2)) {
		var c [9][]int
		for i := range c {
			if i != 1 {
				c[i] = varints(b.columns[i])
			}
		}
		rva := b.key
		var stack []at
		var head string
		latest, entered := map[int]at{}, map[int]at{}
		var seenFunctions, seenFiles []int
		lastFunction, lastFile := 0, 0
		for _, op := range b.columns[1] {
			length := take(&c[0])
			if op&1 != 0 {
				if op&2 != 0 {
					start := rva - uint64(signed(take(&c[3])))
					size, k, aliases := take(&c[3]), take(&c[3]), take(&c[3])
					head = fmt.Sprintf("%x+%x %s", start, size, kind[k])
					for range aliases {
						head += " =" + files[take(&c[3])][0]
					}
				}
				pops, pushes := int(op>>2&7), int(op>>5)
				if pops == 7 {
					pops = take(&c[2])
				}
				if pushes == 7 {
					pushes = take(&c[2])
				}
				was := append([]at{}, stack...)
				stack = stack[:len(stack)-pops]
				for range pushes {
					anew := c[4][0] != 0
					var f at
					same := -1
					if len(stack) < len(was) {
						same = was[len(stack)].function
					}
					f.function = choose(take(&c[4]), same, &c[5], &lastFunction, &seenFunctions)
					expected, ok := latest[f.function]
					if anew {
						expected, ok = entered[f.function]
					}
					if !ok {
						expected = at{file: int(none)}
						if len(stack) > 0 {
							expected = stack[len(stack)-1]
						}
					}
					f.file = choose(take(&c[6]), expected.file, &c[7], &lastFile, &seenFiles)
					f.line = expected.line + signed(take(&c[8]))
					stack = append(stack, f)
					latest[f.function] = f
					if anew {
						entered[f.function] = f
					}
				}
				text := head
				for i := len(stack) - 1; i >= 0; i-- {
					f, file := stack[i], ""
					if f.file != int(none) {
						file = files[f.file][0]
					}
					text += fmt.Sprintf(" | %s %s %s %d", functions[f.function][0], functions[f.function][1], file, f.line)
				}
				for i := range length {
					all[rva+uint64(i)] = text
				}
			}
			rva += uint64(length)
		}
	}
	return all
}

// TestSecondReader holds the reader against the naive one, byte by byte.
func TestSecondReader(t *testing.T) {
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("no zstd")
	}
	for _, path := range []string{"../dwarf/testdata/gcc5.so", "../dwarf/testdata/clang5.so", "../pdb/testdata/shapes-x86_64.pdb", "../../../shared/data/pdb/dump_syms_regtest64.pdb"} {
		t.Run(path, func(t *testing.T) {
			if matches(path) == 0 {
				t.Skip("not there")
			}
			table := openFile(t, path)
			ranges, _ := codeOf(t, table, path)
			data, _ := encodeFile(t, table, ranges)
			kept := openContainer(t, data)
			answers := (&naive{t, data}).answers()
			if len(answers) == 0 {
				t.Fatal("no answers")
			}
			for _, r := range ranges {
				for rva := r.Lo; rva < r.Hi; rva++ {
					got := ""
					if s, err := kept.Lookup(rva); err == nil {
						got = fmt.Sprintf("%x+%x %s", s.Start, s.Size, s.Kind)
						for _, a := range s.Aliases {
							got += " =" + a
						}
						for _, f := range s.Frames {
							got += fmt.Sprintf(" | %s %s %s %d", f.Function, f.Signature, f.File, f.Line)
						}
					}
					if got != answers[rva] {
						t.Fatalf("%#x: %s, the second reader has %s", rva, got, answers[rva])
					}
				}
			}
		})
	}
}
