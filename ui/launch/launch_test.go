package launch

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"logparser/app"
)

func env(pairs ...string) func(string) string {
	return func(key string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == key {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestParse(t *testing.T) {
	abs := func(p string) string {
		a, err := filepath.Abs(p)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, test := range []struct {
		args  []string
		paths []string
		print string
		bad   bool
	}{
		{nil, nil, "", false},
		{[]string{"a.dat", "file:///x/b%20c.bin"}, []string{abs("a.dat"), "file:///x/b%20c.bin"}, "", false},
		{[]string{"--", "--version"}, []string{abs("--version")}, "", false},
		{[]string{"--version"}, nil, "LogParser ", false},
		{[]string{"a.dat", "--help"}, nil, "Usage: ", false},
		{[]string{"-psn_0_1234", "a.dat"}, []string{abs("a.dat")}, "", false},
		{[]string{"--wrong"}, nil, "", true},
	} {
		s := Parse(test.args, env())
		if test.print == "" && !slices.Equal(s.Paths, test.paths) || !strings.HasPrefix(s.Print, test.print) ||
			(s.Print == "") != (test.print == "") || (s.Err != nil) != test.bad {
			t.Errorf("%q gives %+v", test.args, s)
		}
	}
	if s := Parse([]string{"--sample"}, env("LOGPARSER_TRACE", "1", "LOGPARSER_DIALOGS", "fyne")); !s.Sample || s.Options.Trace == nil || !s.Options.FyneDialogs {
		t.Errorf("%+v", s)
	}
	if s := Parse([]string{"--new-window", "a.dat"}, env()); !s.NewWindow || len(s.Paths) != 1 || Parse(nil, env()).NewWindow {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(help, "logparse ") {
		t.Error("the help does not name the command")
	}
}

// The version is written in two places, because packaging reads only one.
func TestVersionsAgree(t *testing.T) {
	toml, err := os.ReadFile("../../FyneApp.toml")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("\nVersion = %q\n", app.Version); !strings.Contains(string(toml), want) {
		t.Errorf("FyneApp.toml lacks %s", want)
	}
}

func TestDisplay(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("this system always has a display")
	}
	if err := Display(env()); !errors.Is(err, ErrNoDisplay) {
		t.Errorf("without a display: %v", err)
	}
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY"} {
		if err := Display(env(name, ":0")); err != nil {
			t.Errorf("with %s: %v", name, err)
		}
	}
}

func TestGuard(t *testing.T) {
	nothing := func() {}
	err := Guard(func() { panic(errors.New("APIUnavailable: GLX: No GLXFBConfigs returned")) }, nothing)
	if err == nil || !strings.Contains(err.Error(), "GLX") {
		t.Errorf("a failure to start gives %v", err)
	}
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	err = Guard(func() {
		log.Println("Fyne error:  window creation error")
		log.Println("  Cause: APIUnavailable: GLX: GLX extension not found")
		log.Println("  At: driver.go:180")
	}, func() { t.Error("the program runs without a window") })
	if err == nil || !strings.Contains(err.Error(), "(APIUnavailable: GLX: GLX extension not found)") {
		t.Errorf("a logged failure to start gives %v", err)
	}
	ran := false
	if err := Guard(func() { log.Println("something else") }, func() { ran = true }); err != nil || !ran {
		t.Errorf("no failure gives %v, ran %v", err, ran)
	}
	defer func() {
		if recover() == nil {
			t.Error("a fault of our own was hidden")
		}
	}()
	Guard(nothing, func() { panic("index out of range") })
}
