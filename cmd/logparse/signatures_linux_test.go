package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkSignatures takes values of the program of TestPrototypes without its debug information, by the names of its functions: all
// that is shown is what each function says itself.
func checkSignatures(t *testing.T, program string, libcxx bool) {
	t.Helper()
	if out, err := exec.Command("strip", "-g", program).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v: %s", err, out)
	}
	record := recordProcess(t, program, "--values", "app::*", "-o", "signed", "--head", "0", "./program")
	var errs strings.Builder
	record.Stderr = &errs
	out, err := record.Output()
	if err != nil || !strings.Contains(errs.String(), "by signature") {
		t.Fatalf("%v: %s", err, errs.String())
	}
	told := toldCalls(t, string(out))
	names := functionsOf(told)
	unread := "{[aOL"
	if libcxx {
		unread += `"` // only libstdc++'s texts are known by their names
	}
	shown := withoutAdjusters(told, enteredCalls(t, filepath.Join(filepath.Dir(program), "signed"), names))
	known, all := compareSigned(t, told, shown, unread)
	t.Logf("%d of %d arguments are known by signature", known, all)
	if known*100 < all*35 {
		t.Errorf("%d arguments of %d are known by signature", known, all)
	}
}

// withoutAdjusters leaves out what shownCalls does, where functions of which nothing is known have no values either: where more
// calls of a function follow each other than it tells of, as many that have none.
func withoutAdjusters(told, shown []toldCall) (list []toldCall) {
	for len(told) > 0 && len(shown) > 0 {
		n, m := sameFunction(told), sameFunction(shown)
		more := m - n
		for _, call := range shown[:m] {
			if more > 0 && len(call.values) == 0 {
				more--
				continue
			}
			list = append(list, call)
		}
		told, shown = told[n:], shown[m:]
	}
	return append(list, shown...)
}

// sameFunction returns how many calls from the first on are of the same function.
func sameFunction(calls []toldCall) int {
	n := slices.IndexFunc(calls, func(c toldCall) bool { return c.function != calls[0].function })
	if n < 0 {
		return len(calls)
	}
	return n
}

// compareSigned reports arguments that are shown as others than they were, by their order, since names have none of
// parameters. unread are the letters with which texts begin of what references lead to that names do not tell how to read.
func compareSigned(t *testing.T, told, shown []toldCall, unread string) (known, all int) {
	t.Helper()
	for i, want := range told {
		if i >= len(shown) || shown[i].function != want.function {
			t.Fatalf("call %d is one of %s, and shown as %v", i, want.function, shown[min(i, len(shown)-1)])
		}
		var arguments [][2]string
		for _, v := range want.values {
			if v[0] != "return" && !strings.ContainsAny(v[0], "@>*") {
				arguments = append(arguments, v)
			}
		}
		all += len(arguments)
		for _, v := range shown[i].values {
			if v[0] == "return" && v[1] != "?" && !slices.Contains(want.values, v) {
				t.Errorf("%s returned %v, and is shown with %s", want.function, want.values, v[1])
			}
		}
		got := slices.DeleteFunc(slices.Clone(shown[i].values), func(v [2]string) bool { return v[0] == "return" })
		if len(arguments) > 0 && len(got) > 0 && arguments[0][0] == "this" && got[0][0] != "this" {
			arguments = arguments[1:] // it is not known that it has one
		}
		if len(got) > 0 && len(got) != len(arguments) {
			t.Errorf("%s has %v, and is shown with %v", want.function, arguments, got)
			continue
		}
		for k, v := range got {
			text, _ := strings.CutPrefix(arguments[k][1], "?or ")
			switch {
			case v[1] == "?" || v[1] == "not readable":
			case isAddress.MatchString(v[1]) && text != "" && strings.Contains(unread, text[:1]):
				// a reference to what is not known: {x = 3}, app::Circle {…}, One
			case v[1] == text, text == "?any", text == "":
				known++
			default:
				t.Errorf("%s: argument %d is shown as %s, and was %s", want.function, k, v[1], text)
			}
		}
	}
	return known, all
}
