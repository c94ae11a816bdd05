package message

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
)

// pseudo is a language: the pattern in brackets.
func pseudo(key string) string { return "[" + key + "]" }

func TestEnglishIsFmt(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		args    []any
	}{
		{"the log is empty", nil},
		{"100%% of %d", []any{7}},
		{"%d of %d records", []any{3, int64(9)}},
		{"%#x, %q, %-5s|%5.1f", []any{uint64(255), "a\nb", "x", 1.25}},
		{"reading: %v", []any{io.ErrUnexpectedEOF}},
		{"%*d of %x", []any{5, 42, []byte("ab")}},
	} {
		want := fmt.Sprintf(tt.pattern, tt.args...)
		if got := Textf(tt.pattern, tt.args...).String(); got != want {
			t.Errorf("%q is %q, want %q", tt.pattern, got, want)
		}
		if got := Errorf(tt.pattern, tt.args...).Error(); got != want {
			t.Errorf("the error %q is %q, want %q", tt.pattern, got, want)
		}
		if got := Wrap(io.EOF, tt.pattern, tt.args...).Error(); got != want {
			t.Errorf("wrapping, %q is %q, want %q", tt.pattern, got, want)
		}
	}
	if got := New("50% of it").Error(); got != "50% of it" {
		t.Errorf("a text without arguments is %q", got)
	}
	if got := (Text{}).String(); got != "" {
		t.Errorf("nothing is %q", got)
	}
}

// A custom error with a text of its own.
type runError int

func (e runError) Error() string { return e.Message().String() }
func (e runError) Message() Text { return Textf("run %d", int(e)) }

func TestNested(t *testing.T) {
	inner := New("it is empty")
	for _, tt := range []struct {
		text Text
		want string
	}{
		{Textf("%d: %s", 1, Textf("a %s", Textf("b"))), "[1: [a [b]]]"},
		{Of(Errorf("%s: %w", "x.dat", Errorf("line %d: %w", 3, inner))), "[x.dat: [line 3: [it is empty]]]"},
		{Of(Errorf("%w, %w", inner, runError(2))), "[[it is empty], [run 2]]"},
		{Of(InFile("x.dat", inner)), "[x.dat: [it is empty]]"},
		{Of(Wrap(io.EOF, "not opened: %v", inner)), "[not opened: [it is empty]]"},
		{Textf("named: %q", Textf("b")), `[named: "[b]"]`},
		{Textf("a").And(Text{}), "[a]"},
		{Text{}.And(Textf("b")), "[b]"},
		{Textf("a").And(Textf("b")), "[[a]; [b]]"},
		{Or([]Text{Textf("a"), Textf("b"), Textf("c")}), "[[[a] or [b]] or [c]]"},
		// Of what comes from elsewhere nothing is known but its English text.
		{Of(io.ErrUnexpectedEOF), "[unexpected EOF]"},
		{Of(fmt.Errorf("outside: %w", inner)), "[outside: it is empty]"},
	} {
		if got := tt.text.In(pseudo); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.text, got, tt.want)
		}
	}
	reversed := func(key string) string {
		if key == "%d of %s" {
			return "%[2]s: %[1]d"
		}
		return key
	}
	if got := Textf("%d of %s", 1, "x").In(reversed); got != "x: 1" {
		t.Errorf("with another order of arguments: %q", got)
	}
}

func TestTextKeepsItsArguments(t *testing.T) {
	bytes := []byte("before")
	text, err := Textf("%s", bytes), Errorf("%q", bytes)
	args := []any{bytes, "other"}
	handedOn := Textf("%s %s", args...)
	copy(bytes, "after!")
	if text.String() != "before" || err.Error() != `"before"` || handedOn.String() != "before other" {
		t.Errorf("the texts became %q, %q and %q", text, err, handedOn)
	}
	if string(args[0].([]byte)) != "after!" {
		t.Error("the caller's slice was changed")
	}
}

func TestWrapped(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	for _, tt := range []struct {
		pattern string
		args    []any
		is      []error
		isNot   []error
	}{
		{"nothing", nil, nil, []error{io.EOF}},
		{"%d: %w", []any{1, io.EOF}, []error{io.EOF}, []error{fs.ErrNotExist}},
		{"%v: %w", []any{io.EOF, fs.ErrExist}, []error{fs.ErrExist}, []error{io.EOF}},
		{"%w: %v", []any{fs.ErrExist, io.EOF}, []error{fs.ErrExist}, []error{io.EOF}},
		{"%w and %w", []any{io.EOF, path}, []error{io.EOF, fs.ErrNotExist}, []error{fs.ErrExist}},
		{"100%% %-3d %*d %#x: %w", []any{1, 2, 3, 4, io.EOF}, []error{io.EOF}, nil},
	} {
		got, model := Errorf(tt.pattern, tt.args...), fmt.Errorf(tt.pattern, tt.args...)
		for _, target := range append(tt.is, tt.isNot...) {
			if errors.Is(got, target) != errors.Is(model, target) {
				t.Errorf("%q: that it is %v is %v, and by fmt %v", tt.pattern, target, errors.Is(got, target), errors.Is(model, target))
			}
		}
		for _, target := range tt.is {
			if !errors.Is(got, target) {
				t.Errorf("%q does not wrap %v", tt.pattern, target)
			}
		}
		var found *fs.PathError
		if errors.As(got, &found) != errors.As(model, new(*fs.PathError)) {
			t.Errorf("%q: that it holds a path is %v", tt.pattern, found != nil)
		}
	}
	if err := Wrap(io.EOF, "no %d", 1); !errors.Is(err, io.EOF) || strings.Contains(err.Error(), "EOF") {
		t.Errorf("%v wraps the end of the file: %v", err, errors.Is(err, io.EOF))
	}
	a, b := New("same"), New("same")
	if errors.Is(a, b) || !errors.Is(Errorf("in %w", a), a) {
		t.Error("sentinels are told apart by their texts")
	}
}

func TestFileError(t *testing.T) {
	err := InFile("/x/y.dat", io.EOF)
	if err.Error() != "/x/y.dat: EOF" || !errors.Is(err, io.EOF) {
		t.Errorf("the error is %q", err)
	}
	if InFile("x", nil) != nil {
		t.Error("no error became one")
	}
	if got := WithoutFile("/x/y.dat", err); got != io.EOF {
		t.Errorf("without its file: %v", got)
	}
	if got := WithoutFile("/x/z.dat", err); got != err {
		t.Errorf("without another file: %v", got)
	}
	around := Errorf("reading: %w", err)
	if got := WithoutFile("/x/y.dat", around); got != around {
		t.Errorf("the words around are lost: %v", got)
	}
}

func TestKey(t *testing.T) {
	if got := Key("%s: %w (%v)"); got != "%s: %v (%v)" {
		t.Errorf("the key is %q", got)
	}
	asked := ""
	Of(Errorf("reading: %w", io.EOF)).In(func(key string) string { asked = key; return key })
	if asked != "reading: %v" {
		t.Errorf("asked for %q", asked)
	}
}
