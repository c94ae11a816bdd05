package language

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fyne.io/fyne/v2/lang"
	"golang.org/x/image/font/opentype"

	"logparser/assets"
	"logparser/message"
	"logparser/ui/control"
)

// fyneTexts are texts of Fyne's own dialogs and menus, which must follow the
// chosen language too.
var fyneTexts = []string{
	"Advanced", "Confirm", "Create Folder", "Cut", "Enter filename", "Error", "Favourites", "Folder",
	"New Folder", "No", "Open", "Paste", "Redo", "Select all", "Show Hidden Files", "Undo", "Yes",
	"file.name", "file.parent",
}

// ownEnglish are the folders whose texts are in English alone, with the reason.
var ownEnglish = map[string]string{
	"cmd":                    "the command is in English",
	"scripts":                "tools of the project",
	"calls/internal/logtest": "for tests",
	"internal/testlog":       "for tests",
	"parser/trace/tracetext": "the command's text form of traces",
	"symbols/symtest":        "for tests",
	"symbols/demangle":       "a name that cannot be demangled is shown as it is",
	"ui/launch":              "what is said before there is a window",
	"ui/language":            "what is wrong with the translations themselves",
}

// A use is a text that stands in the code.
type use struct {
	key string
	// message says that it is a pattern of package message, with fmt's verbs.
	message bool
}

// An extractor finds the texts in a package's code.
type extractor struct {
	t     *testing.T
	files *token.FileSet
	found map[string]use
	// handOn are the functions of the package that hand on a pattern to package
	// message, by name: the place of the pattern among their parameters.
	handOn map[string]int
}

// extract finds the texts in all of the product's code.
func extract(t *testing.T) map[string]use {
	t.Helper()
	x := &extractor{t: t, files: token.NewFileSet(), found: map[string]use{}}
	packages := map[string][]*ast.File{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder, _ := filepath.Rel("../..", path)
		folder = filepath.ToSlash(folder)
		if d.IsDir() {
			_, english := ownEnglish[folder]
			if english || d.Name() == "testdata" || folder == "build" || strings.HasPrefix(d.Name(), ".") && folder != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(x.files, path, nil, 0)
		packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range packages {
		x.handOn = map[string]int{}
		for _, file := range list {
			ast.Inspect(file, x.findHandOn)
		}
		for _, file := range list {
			ast.Inspect(file, x.inspect)
		}
	}
	return x.found
}

// findHandOn finds functions with parameters "pattern string, args ...any".
func (x *extractor) findHandOn(n ast.Node) bool {
	var name string
	var typ *ast.FuncType
	switch n := n.(type) {
	case *ast.FuncDecl:
		name, typ = n.Name.Name, n.Type
	case *ast.AssignStmt:
		f, ok := n.Rhs[0].(*ast.FuncLit)
		if to, ok2 := n.Lhs[0].(*ast.Ident); ok && ok2 {
			name, typ = to.Name, f.Type
		}
	}
	if typ == nil {
		return true
	}
	var names []string
	for _, field := range typ.Params.List {
		for _, n := range field.Names {
			names = append(names, n.Name)
		}
	}
	if n := len(names); n >= 2 && names[n-2] == "pattern" && names[n-1] == "args" {
		x.handOn[name] = n - 2
	}
	return true
}

// option is the name of a command's option.
var option = regexp.MustCompile(`(^|[^-\w])--[a-z][-a-z]`)

// inspect takes the texts of a call.
func (x *extractor) inspect(n ast.Node) bool {
	if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && option.MatchString(lit.Value) {
		x.t.Errorf("%s: %s names an option", x.files.Position(lit.Pos()), lit.Value)
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return true
	}
	name, qualified := "", ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if name = f.Sel.Name; name == "Error" || name == "String" {
			return true
		}
		if p, ok := f.X.(*ast.Ident); ok {
			qualified = p.Name + "." + name
		}
	case *ast.Ident:
		name = f.Name
	}
	at := x.files.Position(call.Pos())
	from, to := 0, 0
	place, handsOn := x.handOn[name]
	switch qualified {
	case "lang.L":
		to = 1
	case "control.Count":
		to = 2
	case "message.New", "message.Textf", "message.Errorf":
		to, handsOn = 1, true
	case "message.Wrap":
		from, to, handsOn = 1, 2, true
	case "fmt.Errorf", "errors.New":
		if handsOnItself(call.Args[0]) {
			break
		}
		x.t.Errorf("%s: %s makes an error that cannot be translated", at, qualified)
	default:
		switch {
		case strings.HasPrefix(qualified, "strings.") || strings.HasPrefix(name, "Match"):
			for _, arg := range call.Args {
				if c, ok := arg.(*ast.CallExpr); ok && isError(c) && !strings.HasPrefix(qualified, "strings.NewReader") {
					x.t.Errorf("%s: an error is recognised by its text", at)
				}
			}
		case qualified == "" && name == "Count" && len(call.Args) == 3:
			to = 2
		case handsOn && len(call.Args) > place:
			from, to = place, place+1
		}
	}
	for _, e := range call.Args[from:to] {
		text, ok := literal(e)
		switch {
		case ok && qualified == "message.New":
			x.found[strings.ReplaceAll(text, "%", "%%")] = use{key: text, message: true}
		case ok && handsOn:
			x.found[message.Key(text)] = use{key: text, message: true}
		case ok:
			x.found[text] = use{key: text}
		case !handsOnItself(e):
			x.t.Errorf("%s: %s without a literal text", at, name)
		}
	}
	return true
}

// isError reports whether a call is that of a method Error.
func isError(c *ast.CallExpr) bool {
	f, ok := c.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Error" && len(c.Args) == 0
}

// literal returns the text of a literal, or of several that are added.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		a, ok := literal(e.X)
		b, ok2 := literal(e.Y)
		return a + b, ok && ok2 && e.Op == token.ADD
	}
	return "", false
}

// handsOnItself reports whether an argument is that of a function which hands on
// patterns or texts.
func handsOnItself(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && slices.Contains([]string{"pattern", "text", "key"}, name.Name)
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

// verbs are what a text is filled with: fields of Fyne's texts, verbs of fmt.
var verbs = regexp.MustCompile(`\{\{\.\w+\}\}|%[-#+0-9.*]*[a-zA-Z]`)

// TestEveryTextIsTranslated finds the texts in the code, of the window and of all
// packages below it, and looks for each in both languages. No error is made that
// has no translation, and none is recognised by its text.
func TestEveryTextIsTranslated(t *testing.T) {
	uses := extract(t)
	if len(uses) < 1000 {
		t.Fatalf("only %d texts found in the code", len(uses))
	}
	for _, k := range fyneTexts {
		uses[k] = use{key: k}
	}
	index := regexp.MustCompile(`%\[\d+\]`)
	for _, l := range All {
		have := translations(t, l.Code)
		for _, k := range slices.Sorted(maps.Keys(uses)) {
			v, ok := have[k]
			if !ok {
				t.Errorf("%s lacks %q", l.Code, k)
				continue
			}
			got, wanted := verbs.FindAllString(index.ReplaceAllString(v, "%"), -1), verbs.FindAllString(k, -1)
			if uses[k].message && !index.MatchString(v) && !slices.Equal(got, wanted) {
				t.Errorf("%s: %q fills in %v without their numbers", l.Code, k, got)
			}
			slices.Sort(got)
			slices.Sort(wanted)
			if !slices.Equal(got, wanted) {
				t.Errorf("%s: %q fills in %v", l.Code, k, got)
			}
		}
		for k := range have {
			if _, ok := uses[k]; !ok {
				t.Errorf("%s has %q, which is not used", l.Code, k)
			}
		}
	}
}

// TestNoOptions: the window has no options, and the packages below do not know
// those of the command.
func TestNoOptions(t *testing.T) {
	for _, l := range All {
		for k, v := range translations(t, l.Code) {
			if option.MatchString(k + "\n" + v) {
				t.Errorf("%s: %q names an option: %q", l.Code, k, v)
			}
		}
	}
}

// TestTranslationsOfMessages fills texts in as they are in the code.
func TestTranslationsOfMessages(t *testing.T) {
	if err := Set(Chinese); err != nil {
		t.Fatal(err)
	}
	defer Set(English)
	inner := message.New("the checksum is wrong")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{message.InFile("a.lptrace", message.Errorf("thread %d: %w", 7, inner)), "a.lptrace\uff1a\u7ebf\u7a0b 7\uff1a\u6821\u9a8c\u548c\u9519\u8bef"},
		{message.Errorf("no modules are known for %d of the %d runs, so their addresses have no names", 2, 5), "5 \u6b21\u8fd0\u884c\u4e2d\u6709 2 \u6b21\u7684\u6a21\u5757\u672a\u77e5\uff0c\u56e0\u6b64\u5176\u5730\u5740\u6ca1\u6709\u540d\u79f0"},
	} {
		if got := control.Translate(message.Of(tt.err)); got != tt.want {
			t.Errorf("%v is %q, want %q", tt.err, got, tt.want)
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
