package values

import (
	"encoding/binary"
	"runtime"
	"testing"

	"logparser/modules"
	"logparser/parser"
	"logparser/rows"
)

const benchPlan = `lpvalues 1
machine x86-64
abi sysv
type 1 int 4 int
type 2 text 0 char const*
module app
identity build-id 01
function 100 10 area(int, int)
enter rdi value 4 1 w
enter rsi value 4 1 h
leave rax value 4 1 return
function 200 10 open(char const*, int)
enter rdi text 64 2 path
enter rsi value 4 1 flags
leave rax value 4 1 return
`

// BenchmarkValues tests and decodes the values of calls: two integers and a result, or a text and an integer.
func BenchmarkValues(b *testing.B) {
	// As much memory as a session with a large log has, so that the garbage collector runs as often as there.
	session := make([]byte, 64<<20)
	defer runtime.KeepAlive(session)
	d, err := NewDecoder(&parser.ValuesTaken{Plan: []byte(benchPlan), PlanHash: 1})
	if err != nil {
		b.Fatal(err)
	}
	area := &Callee{Module: "app", Identity: modules.Identity{BuildID: "\x01"}, RVA: 0x100}
	open := &Callee{Module: "app", Identity: area.Identity, RVA: 0x200}
	le := binary.LittleEndian
	ints := le.AppendUint32(le.AppendUint32(nil, 300), 4)
	text := le.AppendUint32(append(le.AppendUint16(nil, 14), "/etc/passwd.db"...), 2)
	perSecond := func(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcalls/s") }
	match := func(c *Callee, path string, taken []byte, test Test) func(b *testing.B) {
		return func(b *testing.B) {
			m, ok := d.Matcher(c, true, path, test)
			if !ok || m == nil {
				b.Fatal("no matcher")
			}
			some := 0
			for b.Loop() {
				if m.Match(taken) {
					some++
				}
			}
			if some != b.N {
				b.Fatalf("%d of %d fit", some, b.N)
			}
			perSecond(b)
		}
	}
	b.Run("filter/int", match(area, "h", ints, Test{Number: func(_ rows.ValueKind, bits uint64) bool { return bits == 4 }}))
	b.Run("filter/text", match(open, "path", text, Test{Text: func(s string) bool { return len(s) == 14 }}))
	decode := func(c *Callee, taken []byte) func(b *testing.B) {
		return func(b *testing.B) {
			v := parser.CallValues{By: d.taken, Form: parser.ValuesByPlan, Taken: taken}
			for b.Loop() {
				if list := d.Arguments(c, &v); len(list) != 2 || list[0].Text == "" {
					b.Fatal(list)
				}
			}
			perSecond(b)
		}
	}
	b.Run("decode/ints", decode(area, ints))
	b.Run("decode/text", decode(open, text))
}
