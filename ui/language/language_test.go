package language

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fyne.io/fyne/v2/lang"
	"golang.org/x/image/font/opentype"

	"logparser/assets"
	"logparser/ui/control"
)

// fyneTexts are texts of Fyne's own dialogs and menus, which must follow the
// chosen language too.
var fyneTexts = []string{
	"Advanced", "Confirm", "Create Folder", "Cut", "Enter filename", "Error", "Favourites", "Folder",
	"New Folder", "No", "Open", "Paste", "Redo", "Select all", "Show Hidden Files", "Undo", "Yes",
	"file.name", "file.parent",
}

// texts returns which arguments of a call are texts to be translated: the
// first of lang.L, the first two of Count, and the patterns of the engine's
// phrases.
func texts(name string) (from, to int) {
	switch name {
	case "lang.L", "symbols.Say", "Say", "refuse":
		return 0, 1
	case "Count", "control.Count":
		return 0, 2
	case "symbols.Fail", "s.note", "p.fail":
		return 1, 2
	}
	return 0, 0
}

// passThrough are the files that hand on texts of others.
var passThrough = []string{"words.go", "phrase.go", "find.go", "rule.go", "parse.go"}

// keys collects the texts that the window's code and the engine's phrases ask
// for.
func keys(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	for _, dir := range []string{"..", "../../app", "../../symbols/store", "../../symbols/phrase.go", "../../rows/filter"} {
		collect(t, dir, found)
	}
	list := make([]string, 0, len(found))
	for k := range found {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// filterError returns the pattern of a filter.Error that is made in its own
// package.
func filterError(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.CompositeLit)
	if !ok || len(lit.Elts) != 3 {
		return "", false
	}
	if name, ok := lit.Type.(*ast.Ident); !ok || name.Name != "Error" {
		return "", false
	}
	pattern, ok := lit.Elts[1].(*ast.BasicLit)
	if !ok || pattern.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(pattern.Value)
	return text, err == nil
}

func collect(t *testing.T, dir string, found map[string]bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := filterError(n); ok {
				found[text] = true
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				if x, ok := f.X.(*ast.Ident); ok {
					name = x.Name + "." + f.Sel.Name
				}
			case *ast.Ident:
				name = f.Name
			}
			from, to := texts(name)
			for _, e := range call.Args[from:to] {
				lit, ok := e.(*ast.BasicLit)
				if !ok {
					if !slices.Contains(passThrough, filepath.Base(path)) {
						t.Errorf("%s: %s without a literal text", path, name)
					}
					continue
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Error(err)
				}
				found[text] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func translations(t *testing.T, code string) map[string]string {
	t.Helper()
	raw, err := assets.Translation(code)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]string
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return m
}

func TestEveryTextIsTranslated(t *testing.T) {
	want := append(keys(t), fyneTexts...)
	if len(want) < 100 {
		t.Fatalf("only %d texts found in the code", len(want))
	}
	fields := regexp.MustCompile(`\{\{\.\w+\}\}|%[#+0-9]*[a-zA-Z]`)
	explicitIndex := regexp.MustCompile(`%\[\d+\]`)
	for _, l := range All {
		have := translations(t, l.Code)
		for _, k := range want {
			v, ok := have[k]
			if !ok {
				t.Errorf("%s lacks %q", l.Code, k)
				continue
			}
			got, wanted := fields.FindAllString(explicitIndex.ReplaceAllString(v, "%"), -1), fields.FindAllString(k, -1)
			slices.Sort(got)
			slices.Sort(wanted)
			if !slices.Equal(got, wanted) {
				t.Errorf("%s: %q fills in %v", l.Code, k, got)
			}
		}
		for k := range have {
			if !slices.Contains(want, k) {
				t.Errorf("%s has %q, which is not used", l.Code, k)
			}
		}
	}
}

// The bundled font must be able to show what is said in Chinese; it holds
// GB2312, which a rare character may lie outside of.
func TestFontHasEveryCharacter(t *testing.T) {
	f, err := opentype.Parse(assets.HanFont)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := assets.Translation(Chinese)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range string(raw) + All[1].Name {
		if r == '\n' {
			continue
		}
		if i, err := f.GlyphIndex(nil, r); err != nil || i == 0 {
			t.Errorf("the font lacks %c (%U)", r, r)
		}
	}
}

func TestSwitchIsLive(t *testing.T) {
	for range 2 {
		for _, test := range []struct{ code, save, one, many string }{
			{English, "Save", "1 thread", "5 threads"},
			{Chinese, "\u4fdd\u5b58", "1 \u4e2a\u7ebf\u7a0b", "5 \u4e2a\u7ebf\u7a0b"},
		} {
			if err := Set(test.code); err != nil {
				t.Fatal(err)
			}
			if got := lang.L("Save"); got != test.save {
				t.Errorf("%s: Save is %q", test.code, got)
			}
			for n, want := range map[int64]string{1: test.one, 5: test.many} {
				if got := control.Count("{{.N}} thread", "{{.N}} threads", n); got != want {
					t.Errorf("%s: %d threads is %q, want %q", test.code, n, got, want)
				}
			}
		}
	}
	if err := Set("xx"); err == nil {
		t.Error("an unknown language is accepted")
	}
	if err := Set(""); err != nil || Current() != System() {
		t.Errorf("the system's language: %v, %q", err, Current())
	}
}
