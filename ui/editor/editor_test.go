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

// TestBatchLine holds what cmd.exe is given: nothing that it looks into stands outside quotation marks, or the name is refused.
func TestBatchLine(t *testing.T) {
	const script = `C:\VS Code\bin\code.cmd`
	for _, test := range []struct {
		file, want string
	}{
		{`C:\src\a.cpp:12`, `cmd.exe /e:on /v:off /d /c ""C:\VS Code\bin\code.cmd" "-g" "C:\src\a.cpp:12""`},
		{`a&calc&.cpp:1`, `cmd.exe /e:on /v:off /d /c ""C:\VS Code\bin\code.cmd" "-g" "a&calc&.cpp:1""`},
		{`a"&calc&".cpp:1`, ""}, {`%CD%.cpp:1`, ""}, {`!CD!.cpp:1`, ""}, {"a\r\ncalc.cpp:1", ""}, {`C:\src\`, ""},
	} {
		got, err := batchLine(script, []string{"-g", test.file})
		if got != test.want || (err != nil) != (test.want == "") || err != nil && !errors.Is(err, ErrBatch) {
			t.Errorf("%q: %s, %v; want %s", test.file, got, err, test.want)
		}
	}
	for name, want := range map[string]bool{`C:\code.cmd`: true, `C:\X.BAT`: true, `C:\x.bat. `: true, `C:\x.exe`: false, "/usr/bin/code": false} {
		if isBatch(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
