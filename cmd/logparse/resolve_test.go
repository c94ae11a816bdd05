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
