package docs_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What is read in one go: a file, and a function without the tables in it.
const (
	mostLinesOfFile     = 700
	mostLinesOfFunction = 100
)

// longer are the files and functions that stay longer, with the reason.
var longer = map[string]string{
	"recorder/include/Logger.h":              "it is generated: users copy one file",
	"parser/trace/decode.go other":           "a decoder: a case for each kind of record",
	"symbols/gosym/synthetic_test.go tables": "an encoder: one table after the other, each of which has offsets into the last",
}

// sources calls visit with each source file of the project, its path from the root.
func sources(t *testing.T, visit func(file string, text []byte)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != ".." && (strings.HasPrefix(base, ".") || base == "build" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".c", ".h", ".cpp", ".S", ".asm", ".sh", ".py", ".mjs", ".cjs", ".lua":
		default:
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("..", name)
		files++
		visit(filepath.ToSlash(rel), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 1000 {
		t.Fatalf("only %d files were found", files)
	}
}

// A function is a name with the number of its lines.
type function struct {
	name  string
	lines int
}

// functionsOfGo lists the functions of a Go file. Lines inside of composite literals, which are
// tables, do not count.
func functionsOfGo(file string, text []byte) ([]function, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	line := func(p token.Pos) int { return set.Position(p).Line }
	var list []function
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		lines := line(fn.End()) - line(fn.Pos()) + 1
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if table, ok := n.(*ast.CompositeLit); ok {
				lines -= line(table.End()) - line(table.Pos())
				return false
			}
			return true
		})
		list = append(list, function{fn.Name.Name, lines})
	}
	return list, nil
}

// nameBefore is the last name before the parameters of a function of C.
var nameBefore = regexp.MustCompile(`(\w+)\(`)

// functionsOfC lists the functions of a file of C or C++ that is formatted as ours are: a function
// begins in the first column, and so does its last brace.
func functionsOfC(text []byte) []function {
	var list []function
	name, begin := "", 0
	for i, l := range strings.Split(string(text), "\n") {
		switch {
		case l == "" || l[0] == ' ' || l[0] == '#' || l[0] == '/':
		case strings.HasPrefix(l, "}"):
			if name != "" {
				list = append(list, function{name, i - begin + 1})
			}
			name = ""
		default:
			if m := nameBefore.FindStringSubmatch(l); m != nil {
				name, begin = m[1], i
			} else if strings.HasSuffix(l, "{") {
				name = "" // a struct or a table
			}
		}
	}
	return list
}

// TestSizes holds files and functions to what is read in one go.
func TestSizes(t *testing.T) {
	used := make(map[string]bool)
	check := func(what string, lines, most int) {
		switch {
		case lines <= most:
		case longer[what] != "":
			used[what] = true
		default:
			t.Errorf("%s has %d lines; %d are the most", what, lines, most)
		}
	}
	sources(t, func(file string, text []byte) {
		check(file, bytes.Count(text, []byte("\n")), mostLinesOfFile)
		var functions []function
		switch filepath.Ext(file) {
		case ".go":
			var err error
			if functions, err = functionsOfGo(file, text); err != nil {
				t.Error(err)
			}
		case ".c", ".h", ".cpp":
			functions = functionsOfC(text)
		}
		for _, f := range functions {
			check(file+" "+f.name, f.lines, mostLinesOfFunction)
		}
	})
	for what := range longer {
		if !used[what] {
			t.Errorf("%s may be longer and is not", what)
		}
	}
}

// TestFunctionsOfC counts those of a text.
func TestFunctionsOfC(t *testing.T) {
	list := functionsOfC([]byte("static int one(int a) {\n  return a;\n}\n\nLR_OWN int two(int a,\n           int b) {\n  return a + b;\n}\nstruct s {\n  int a;\n};\nint three(int);\nstatic const int table[] = {\n  1,\n};\n"))
	if len(list) != 2 || list[0] != (function{"one", 3}) || list[1] != (function{"two", 4}) {
		t.Errorf("%v", list)
	}
}
