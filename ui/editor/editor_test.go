package editor

import (
	"errors"
	"slices"
	"testing"
)

func TestCommand(t *testing.T) {
	for _, test := range []struct {
		template, file string
		line           int
		want           []string
	}{
		{"code -g {file}:{line}", "/src/my file.cpp", 12, []string{"code", "-g", "/src/my file.cpp:12"}},
		{"gvim +{line} {file}", "/a.cpp", 0, []string{"gvim", "+1", "/a.cpp"}},
		{`"C:\Program Files\ed.exe" -n{line}`, `C:\a b.cpp`, 7, []string{`C:\Program Files\ed.exe`, "-n7", `C:\a b.cpp`}},
		{"ed", "/a;rm -rf $HOME.cpp", 1, []string{"ed", "/a;rm -rf $HOME.cpp"}},
	} {
		got, err := Command(test.template, test.file, test.line)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("Command(%q) = %q, %v; want %q", test.template, got, err, test.want)
		}
	}
	if _, err := Command(`ed "x`, "/a", 1); !errors.Is(err, ErrQuotes) {
		t.Errorf("open quotation mark: %v", err)
	}
	for _, file := range []string{"/x.sh", `C:\x.exe`, `C:\x.BAT`, "/x.desktop", "/x", "/x.cpp.js"} {
		if got, err := Command("", file, 1); !errors.Is(err, ErrNotSource) {
			t.Errorf("the system would open %s: %q, %v", file, got, err)
		}
	}
	if _, err := Command(" ", "/x.CPP", 1); err != nil {
		t.Errorf("a source file: %v", err)
	}
	for _, system := range []string{"windows", "darwin", "linux"} {
		if got := opener(system, "/a b.cpp"); got[len(got)-1] != "/a b.cpp" {
			t.Errorf("%s: %q", system, got)
		}
	}
}
