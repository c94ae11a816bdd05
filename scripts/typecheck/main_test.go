package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module example\n\ngo 1.24\n",
		"size/size.go":        "package size\n\nimport \"fmt\"\n\nvar A, B = fmt.Sprint(1 << 40), fmt.Sprint(2 << 40)\n",
		"size/size_test.go":   "package size\n\nvar C int = 3 << 40\n",
		"size/out_test.go":    "package size_test\n\nimport \"example/size\"\n\nvar D = size.C + 4<<40\n",
		"system/f_linux.go":   "package system\n\nfunc F() {}\n",
		"system/all.go":       "package system\n\nfunc G() { F() }\n",
		"system/imports.go":   "package system\n\nimport _ \"unsafe\"\n",
		"uses/uses.go":        "package uses\n\nimport \"example/system\"\n\nfunc H() { system.G(1) }\n",
		"absent/absent.go":    "package absent\n\nimport \"example/nothing\"\n\nvar X = nothing.X\n",
		"apart/apart_test.go": "package apart\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) { t.Nothing() }\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	t.Setenv("GOFLAGS", "")
	for _, test := range []struct {
		system, patterns string
		errors           []string // parts of them, in their order
	}{
		{"linux/amd64", "./size ./system", nil},
		{"linux/386", "./size", []string{"out_test.go:5:", "size.go:5:", "size.go:5:", "size_test.go:3:"}},
		{"windows/amd64", "./size ./system", []string{"undefined: F"}},
		{"linux/amd64", "./uses ./apart", []string{"t.Nothing undefined", "too many arguments"}},
		{"linux/amd64", "./absent", []string{"could not import example/nothing", "example/nothing: "}},
	} {
		system, machine, _ := strings.Cut(test.system, "/")
		t.Setenv("GOOS", system)
		t.Setenv("GOARCH", machine)
		broken, count, err := check(strings.Fields(test.patterns))
		ok := err == nil && count > 0 && len(broken) == len(test.errors)
		for i := 0; ok && i < len(broken); i++ {
			ok = strings.Contains(broken[i], test.errors[i])
		}
		if !ok {
			t.Errorf("%s %s: %d packages, error %v:\n%s", test.system, test.patterns, count, err, strings.Join(broken, "\n"))
		}
	}
}
