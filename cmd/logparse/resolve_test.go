package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

const resolveImage = "../../symbols/dwarf/testdata/gcc5.so"

// resolveLines runs resolve over lines of the standard input.
func resolveLines(t *testing.T, in io.Reader, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), append([]string{"resolve", "--image", resolveImage}, args...), in, &o, &e)
	return o.String(), e.String(), code
}

// TestResolveOrder gives answers in the order of the lines, as they come one
// at a time.
func TestResolveOrder(t *testing.T) {
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf("%#x", 0x1000+i*37%0x1000))
	}
	for _, form := range [][]string{nil, {"--json"}, {"--return"}, {"--names-only"}, {"--aliases"}} {
		got, errs, code := resolveLines(t, strings.NewReader(strings.Join(lines, "\n")), form...)
		if code != exitOK || errs != "" {
			t.Fatalf("%v: %d, %s", form, code, errs)
		}
		want, _, _ := resolveLines(t, nil, append(form, lines...)...)
		var each strings.Builder
		for _, line := range lines[:100] {
			one, _, _ := resolveLines(t, nil, append(form, line)...)
			each.WriteString(one)
		}
		if got != want || !strings.HasPrefix(got, each.String()) {
			t.Errorf("%v: answers depend on how many are asked for", form)
		}
		if n := strings.Count(got, "0x"); n < len(lines) {
			t.Errorf("%v: %d answers", form, n)
		}
	}
}

func TestResolveNamesOnly(t *testing.T) {
	out, _, _ := resolveLines(t, strings.NewReader("0x1139\n"), "--names-only")
	if strings.Contains(out, "inlined into") || strings.Contains(out, ".cc:") || strings.Contains(out, ".cpp:") || strings.Count(out, "\n") != 1 {
		t.Errorf("%q", out)
	}
}

// TestResolveWrongLines has an answer for each line.
func TestResolveWrongLines(t *testing.T) {
	out, errs, code := resolveLines(t, strings.NewReader("zz\n\n0x1\n 12g \n"))
	want := "zz  ?? (not a hexadecimal address)\n0x1  ??\n12g  ?? (not a hexadecimal address)\n"
	if out != want || code != exitError || !strings.Contains(errs, "2 lines are no hexadecimal addresses, the first is line 1") {
		t.Errorf("%q, %d, %s", out, code, errs)
	}
	if _, _, code := resolveLines(t, nil, "zz"); code != exitUsage {
		t.Errorf("a wrong argument: %d", code)
	}
	long := strings.Repeat("1", maxLine+1)
	if out, errs, code := resolveLines(t, strings.NewReader("0x1\n"+long+"\n")); code != exitError || !strings.Contains(errs, "too long") || out != "0x1  ??\n" {
		t.Errorf("a long line: %q, %d, %s", out, code, errs)
	}
}

// TestResolveAnswersAtOnce answers a line before the next one comes.
func TestResolveAnswersAtOnce(t *testing.T) {
	in, ask := io.Pipe()
	answer, out := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(context.Background(), []string{"resolve", "--image", resolveImage}, in, out, io.Discard)
		out.Close()
	}()
	for _, line := range []string{"0x1\n", "0x2\n"} {
		if _, err := io.WriteString(ask, line); err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		go func() {
			b := make([]byte, 64)
			n, _ := answer.Read(b)
			got <- string(b[:n])
		}()
		select {
		case text := <-got:
			if want := strings.TrimSpace(line) + "  ??\n"; text != want {
				t.Errorf("%q, want %q", text, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no answer")
		}
	}
	ask.Close()
	if code := <-done; code != exitOK {
		t.Errorf("status %d", code)
	}
}

// TestResolveSections looks up offsets in sections of an object, which has no
// addresses, and of an image.
func TestResolveSections(t *testing.T) {
	const data = "../../symbols/dwarf/testdata/"
	for _, tt := range []struct {
		image string
		args  []string
		want  []string // a part of each line
	}{
		{"count.o", []string{"0x4", ".text+0x30", ".text+0x100", ".data+0x0"}, []string{
			"0x4  counted  /src/count.c:15", ".text+0x30  half", "  inlined into counted",
			".text+0x100  ?? (no code at 0x100 of a section .text)", ".data+0x0  ?? (no code at"}},
		{"gcc5.o", []string{".text._ZN3app5twiceIiEET_S1_+1", "0x0", "0x300"}, []string{
			".text._ZN3app5twiceIiEET_S1_+0x1  int app::twice<int>(int)  /src/", "0x0  ?? (4 sections of code have this offset: say which, such as .text+0x0)",
			"0x300  "}},
		{"gcc5.so", []string{".text+0x0", ".plt+0x100000"}, []string{".text+0x0  ", ".plt+0x100000  ?? (no code"}},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), append([]string{"resolve", "--image", data + tt.image}, tt.args...), nil, &out, &errs)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if code != exitOK {
			t.Errorf("%s: %d, %s", tt.image, code, errs.String())
		}
		for i, want := range tt.want {
			if i >= len(lines) || !strings.Contains(lines[i], want) {
				t.Errorf("%s: line %d of\n%swant %q", tt.image, i, out.String(), want)
			}
		}
	}
	var out, errs bytes.Buffer
	run(context.Background(), []string{"resolve", "--json", "--image", data + "gcc5.o", ".text._ZN3app5twiceIiEET_S1_+0x2", "1"}, nil, &out, &errs)
	for _, want := range []string{`"address":".text._ZN3app5twiceIiEET_S1_+0x2","function":"app::twice<int>"`, `"start":"0x0","size":4,`,
		`{"address":"0x1","status":"embedded","error":"4 sections of code have this offset`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s, want %s", out.String(), want)
		}
	}
	if code := run(context.Background(), []string{"resolve", "--image", data + "count.o", ".text+zz"}, nil, &out, &errs); code != exitUsage {
		t.Errorf("a wrong offset: %d", code)
	}
}
