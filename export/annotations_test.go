package export_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/export"
	"logparser/rows"
)

// someAnnotations returns annotations and counters during the time of the rows, before them and after them.
func someAnnotations(r *rand.Rand, l list, n int) []rows.Annotation {
	first, last := l[0].Elapsed, l[len(l)-1].Elapsed
	annotations := make([]rows.Annotation, n)
	for i := range annotations {
		m := &annotations[i]
		m.Elapsed = first - 100 + r.Int64N(last-first+200)
		m.Thread = l[r.IntN(len(l))].Thread
		m.Kind = rows.AnnotationKind(r.IntN(4))
		m.Text = fmt.Sprintf("text %d", i)
		switch m.Kind {
		case rows.IntCounter:
			m.Bits = uint64(r.Int64N(2000) - 1000)
		case rows.UintCounter:
			m.Bits = r.Uint64()
		case rows.FloatCounter:
			m.Bits = math.Float64bits(r.NormFloat64())
		}
		if m.Kind != rows.TextAnnotation {
			m.Text = fmt.Sprintf("counter %d", r.IntN(5))
		}
	}
	slices.SortStableFunc(annotations, func(a, b rows.Annotation) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
	return annotations
}

func give(annotations []rows.Annotation, failing error) export.Annotations {
	return func(_ context.Context, yield func(*rows.Annotation) bool) error {
		for i := range annotations {
			if !yield(&annotations[i]) {
				return nil
			}
		}
		return failing
	}
}

// said is an annotation as a file should show it.
func said(m *rows.Annotation) string {
	if m.Kind == rows.TextAnnotation {
		return fmt.Sprintf("%d %s", max(m.Elapsed, 0), m.Text)
	}
	return fmt.Sprintf("%d %s = %.17g", max(m.Elapsed, 0), m.Text, m.Float())
}

// chromeAnnotations returns the annotations of a file, and the file without them.
func chromeAnnotations(t *testing.T, text []byte) (annotations []string, rest []byte) {
	t.Helper()
	var kept [][]byte
	for _, line := range bytes.SplitAfter(text, []byte("\n")) {
		var e struct {
			Ph, Cat, Name, S string
			Ts               json.Number
			Args             struct{ Value float64 }
		}
		if json.Unmarshal(bytes.TrimSuffix(bytes.TrimSpace(line), []byte(",")), &e) != nil || e.Cat != "mark" && e.Cat != "counter" {
			kept = append(kept, line)
			continue
		}
		switch at := ns(t, e.Ts); {
		case e.Ph == "i" && e.Cat == "mark" && e.S == "t":
			annotations = append(annotations, fmt.Sprintf("%d %s", at, e.Name))
		case e.Ph == "C" && e.Cat == "counter":
			annotations = append(annotations, fmt.Sprintf("%d %s = %.17g", at, e.Name, e.Args.Value))
		default:
			t.Fatalf("%s", line)
		}
	}
	return annotations, bytes.Join(kept, nil)
}

// perfettoAnnotations returns the annotations of a file, and the file without their packets.
func perfettoAnnotations(t *testing.T, text []byte) (annotations []string, rest []byte) {
	t.Helper()
	names := make(map[uint64]string)
	for len(text) > 0 {
		length, n := binary.Uvarint(text[1:])
		whole := text[:1+n+int(length)]
		text = text[len(whole):]
		packet, keep := parseMessage(t, whole[1+n:]), true
		packet.each(t, 60, func(d message) {
			if d[8] != nil {
				names[d.number(1)], keep = string(d[2][0].([]byte)), false
			}
		})
		packet.each(t, 11, func(e message) {
			at := packet.number(8)
			switch {
			case e[23] != nil:
				keep = false
				annotations = append(annotations, fmt.Sprintf("%d %s", at, e[23][0]))
			case e.number(9) == 4:
				keep = false
				v := float64(int64(e.number(30)))
				if e[44] != nil {
					v = math.Float64frombits(e.number(44))
				}
				annotations = append(annotations, fmt.Sprintf("%d %s = %.17g", at, names[e.number(11)], v))
			}
		})
		if keep {
			rest = append(rest, whole...)
		}
	}
	return annotations, rest
}

// TestAnnotations saves calls with annotations. The calls are the same as without, and each annotation is there once, also in
// files with parts.
func TestAnnotations(t *testing.T) {
	l := program(rand.New(rand.NewPCG(7, 7)), 3000)
	r := rand.New(rand.NewPCG(1, 2))
	annotations := someAnnotations(r, l, 500)
	var want []string
	for i := range annotations {
		want = append(want, said(&annotations[i]))
	}
	slices.Sort(want)
	for _, test := range []struct {
		format string
		read   func(t *testing.T, text []byte) ([]string, []byte)
		calls  func(t testing.TB, text []byte) ([]interval, int)
	}{
		{"chrome", chromeAnnotations, readChrome},
		{"perfetto", perfettoAnnotations, readPerfetto},
	} {
		plain := write(t, test.format, l, export.Options{})
		text := write(t, test.format, l, export.Options{Annotations: give(annotations, nil)})
		got, rest := test.read(t, text)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d annotations, want %d: %q, %q", test.format, len(got), len(want), got[:3], want[:3])
		}
		withAnnotations, _ := test.calls(t, rest)
		without, _ := test.calls(t, plain)
		same(t, test.format, withAnnotations, without)

		path := filepath.Join(t.TempDir(), "out."+format(t, test.format).Extension)
		paths, err := export.Save(context.Background(), path, format(t, test.format), l, export.Options{Annotations: give(annotations, nil), Split: export.Limits{Rows: 700}})
		if err != nil || len(paths) < 5 {
			t.Fatalf("%d parts, %v", len(paths), err)
		}
		got = nil
		for _, p := range paths {
			list, rest := test.read(t, read(t, p))
			test.calls(t, rest)
			got = append(got, list...)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s in parts: %d annotations, want %d", test.format, len(got), len(want))
		}
	}
	// The other formats leave annotations out.
	for _, f := range export.Formats() {
		if f.Name != "chrome" && f.Name != "perfetto" && !bytes.Equal(write(t, f.Name, l, export.Options{}), write(t, f.Name, l, export.Options{Annotations: give(annotations, nil)})) {
			t.Errorf("%s differs", f.Name)
		}
	}
	broken := errors.New("broken")
	if err := format(t, "chrome").Write(context.Background(), &bytes.Buffer{}, l, export.Options{Annotations: give(annotations, broken)}); !errors.Is(err, broken) {
		t.Errorf("an error of the annotations is %v", err)
	}
}

// TestMismatchTag has names with special characters, and more counters than can have tracks.
func TestMismatchTag(t *testing.T) {
	l := program(rand.New(rand.NewPCG(7, 7)), 10)
	annotations := []rows.Annotation{{Text: "a \"b\"\n\x1b\u2028"}, {Kind: rows.FloatCounter, Bits: math.Float64bits(math.Inf(-1)), Text: ""}}
	for i := range 1<<16 + 2 {
		annotations = append(annotations, rows.Annotation{Kind: rows.IntCounter, Bits: 5, Text: fmt.Sprintf("c%d", i)})
	}
	text := write(t, "chrome", l, export.Options{Annotations: give(annotations, nil)})
	if !json.Valid(text) || !bytes.Contains(text, []byte(`"value":"-Inf"`)) {
		t.Errorf("%.2000s", text)
	}
	got, _ := perfettoAnnotations(t, write(t, "perfetto", l, export.Options{Annotations: give(annotations, nil)}))
	if len(got) != len(annotations) || got[0] != "0 a \"b\"\uFFFD\uFFFD\uFFFD" || got[1] != "0  = -Inf" {
		t.Errorf("%d annotations, %q", len(got), got[:2])
	}
	// One of the tracks belongs to the counter without a name.
	if n := len(slices.DeleteFunc(got, func(s string) bool { return !strings.HasSuffix(s, " = 5") })); n != 1<<16+2 {
		t.Errorf("%d values", n)
	}
}
