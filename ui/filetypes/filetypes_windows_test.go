package filetypes

import (
	"errors"
	"testing"

	"golang.org/x/sys/windows/registry"
)

// TestComeAndGo registers the types, and takes them back: nothing is left, and what was others' is theirs.
func TestComeAndGo(t *testing.T) {
	classes = `Software\LogParserTest`
	t.Cleanup(func() { _ = removeTree(classes) })
	if err := errors.Join(set(classes+`\.dat`, "Other.Data"), name(classes+`\.dat\OpenWithProgids`, "Other.Data"), set(classes+`\.lppack`, "Other.Pack")); err != nil {
		t.Fatal(err)
	}
	const exe = `C:\Program Files\LogParser\LogParser.exe`
	for range 2 {
		if Registered(exe) {
			t.Error("registered before it is")
		}
		if err := Register(exe); err != nil {
			t.Fatal(err)
		}
		if err := Register(exe); err != nil {
			t.Fatal(err)
		}
		if !Registered(exe) || Registered(`C:\elsewhere\LogParser.exe`) {
			t.Error("not registered")
		}
		for path, want := range map[string]string{
			`.lptrace`:                      program,
			`.lppack`:                       "Other.Pack",
			`.dat`:                          "Other.Data",
			program + `\shell\open\command`: `"` + exe + `" "%1"`,
			program + `\DefaultIcon`:        `"` + exe + `",0`,
		} {
			if got := text(classes + `\` + path); got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		}
		for _, k := range kinds {
			if !has(t, classes+`\`+k.extension+`\OpenWithProgids`, program) {
				t.Errorf("%s is not offered", k.extension)
			}
		}
		if err := Unregister(); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{`.lptrace`, program, `Applications`, `.lppack\OpenWithProgids`} {
			if k, err := registry.OpenKey(registry.CURRENT_USER, classes+`\`+path, registry.QUERY_VALUE); err == nil {
				k.Close()
				t.Errorf("%s is left", path)
			}
		}
		if text(classes+`\.dat`) != "Other.Data" || text(classes+`\.lppack`) != "Other.Pack" || !has(t, classes+`\.dat\OpenWithProgids`, "Other.Data") || has(t, classes+`\.dat\OpenWithProgids`, program) {
			t.Error("others' types are not as they were")
		}
	}
	if err := Unregister(); err != nil {
		t.Errorf("where nothing is: %v", err)
	}
}

func has(t *testing.T, path, value string) bool {
	t.Helper()
	k, err := registry.OpenKey(registry.CURRENT_USER, path, registry.QUERY_VALUE)
	if err != nil {
		return false
	}
	defer k.Close()
	_, _, err = k.GetStringValue(value)
	return err == nil
}
