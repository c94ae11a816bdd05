// Package docs_test holds the documents to the code that they describe.
package docs_test

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "logparser"

// A folder is what architecture.md says of one folder.
type folder struct {
	name string
	// row counts the rows of the table; imports point to later ones.
	row int
	// imports are the folders that are named, and what is below them; all
	// stands for all later rows.
	imports []string
	all     bool
}

// comments are those of Go and C.
var comments = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)

var code = regexp.MustCompile("`([^`]+)`")

// folders reads the table of folders.
func folders(t *testing.T) []folder {
	t.Helper()
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n| folder | what lives there | may import |\n|---|---|---|\n")
	if !ok {
		t.Fatal("architecture.md has no table of folders")
	}
	var list []folder
	for row, line := range strings.Split(table, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 {
			t.Fatalf("row %d has %d cells: %s", row+1, len(cells), line)
		}
		names := code.FindAllStringSubmatch(cells[0], -1)
		if len(names) == 0 {
			t.Fatalf("row %d names no folder: %s", row+1, line)
		}
		may := strings.TrimSpace(cells[2])
		first := names[0][1]
		for _, m := range names {
			f := folder{name: m[1], row: row}
			if m[1] != first && !strings.Contains(m[1], "/") {
				// `symbols/pdb`, `dwarf`: beside the first.
				f.name = path.Join(path.Dir(first), m[1])
			}
			for _, name := range strings.Split(may, ",") {
				switch name = strings.TrimSpace(name); name {
				case "":
				case "everything below":
					f.all = true
				default:
					f.imports = append(f.imports, name)
				}
			}
			list = append(list, f)
		}
	}
	for i := range list {
		f := &list[i]
		for k, name := range f.imports {
			// A short name stands for a folder beside this one.
			near := path.Join(path.Dir(f.name), name)
			known := func(name string) bool {
				return slices.ContainsFunc(list, func(g folder) bool { return g.name == name })
			}
			switch {
			case known(name):
			case known(near):
				f.imports[k] = near
			default:
				t.Errorf("%s may import %s, which is no folder of the table", f.name, name)
			}
		}
	}
	return list
}

// folderOf returns the entry of the table to which a package belongs: its own,
// or the nearest above it.
func folderOf(list []folder, pkg string) *folder {
	for name := pkg; ; name = path.Dir(name) {
		if i := slices.IndexFunc(list, func(f folder) bool { return f.name == name }); i >= 0 {
			return &list[i]
		}
		if name == "." {
			return nil
		}
	}
}

// top returns the folder of the root that a package is in.
func top(pkg string) string {
	name, _, _ := strings.Cut(pkg, "/")
	return name
}

func below(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// A use is an import of a product file.
type use struct{ file, pkg, imports string }

// productFiles parses the Go files of the programs and calls visit with the
// path of each from the root; those that are never built are left out.
func productFiles(t *testing.T, visit func(file string, f *ast.File)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != ".." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "build" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if expr, err := constraint.Parse(c.Text); err == nil && expr.String() == "ignore" {
					return nil
				}
			}
		}
		rel, err := filepath.Rel("..", name)
		if err != nil {
			return err
		}
		files++
		visit(filepath.ToSlash(rel), f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 200 {
		t.Fatalf("only %d files were found", files)
	}
}

// uses lists what product files import.
func uses(t *testing.T) []use {
	t.Helper()
	var list []use
	productFiles(t, func(file string, f *ast.File) {
		pkg := path.Dir(file)
		if pkg == "." {
			pkg = file // main.go
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, use{file, pkg, imported})
		}
	})
	if len(list) < 1000 {
		t.Fatalf("only %d imports were found", len(list))
	}
	return list
}

// TestImports holds what packages import to architecture.md's table: only
// what is named there or lies below the same folder, and of other folders of
// the root only those of later rows.
func TestImports(t *testing.T) {
	list := folders(t)
	for _, u := range uses(t) {
		imported, ok := strings.CutPrefix(u.imports, module+"/")
		if !ok || below(u.pkg, "scripts") {
			continue
		}
		from, to := folderOf(list, u.pkg), folderOf(list, imported)
		switch {
		case from == nil:
			t.Errorf("%s: %s is not in the table", u.file, u.pkg)
		case to == nil:
			t.Errorf("%s imports %s, which is not in the table", u.file, imported)
		case below(imported, from.name):
		case imported == "message" && to.row > from.row:
			// All may import it.
		case to.row < from.row && top(imported) != top(u.pkg):
			t.Errorf("%s imports %s, which stands above %s", u.file, imported, from.name)
		case !from.all && !slices.ContainsFunc(from.imports, func(name string) bool { return below(imported, name) }):
			t.Errorf("%s imports %s, which %s may not", u.file, imported, from.name)
		}
	}
}

// TestFyne keeps the toolkit in the window.
func TestFyne(t *testing.T) {
	for _, u := range uses(t) {
		if strings.HasPrefix(u.imports, "fyne.io/") && u.pkg != "main.go" && !below(u.pkg, "ui") {
			t.Errorf("%s imports %s", u.file, u.imports)
		}
	}
}

// TestTestCode keeps what only tests and the project's own tools use out of the
// programs.
func TestTestCode(t *testing.T) {
	tests := []string{"internal/testlog", "calls/internal/logtest", "symbols/symtest"}
	for _, u := range uses(t) {
		imported, ok := strings.CutPrefix(u.imports, module+"/")
		if !ok || below(u.pkg, "scripts") || slices.ContainsFunc(tests, func(only string) bool { return below(u.pkg, only) }) {
			continue
		}
		for _, only := range tests {
			if below(imported, only) {
				t.Errorf("%s imports %s, which is for tests", u.file, imported)
			}
		}
	}
}

// TestWhere looks for the files, and the names in them, that the table of
// questions answers with.
func TestWhere(t *testing.T) {
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n| question | answer |\n|---|---|\n")
	if !ok {
		t.Fatal("architecture.md has no table of questions")
	}
	rows := 0
	for _, line := range strings.Split(table, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|"), "|")
		file, content := "", ""
		for _, m := range code.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			if strings.Contains(m[1], "/") || file == "" {
				file = m[1]
				st, err := os.Stat(filepath.Join("..", filepath.FromSlash(file)))
				if err != nil {
					t.Errorf("%s: %v", cells[0], err)
					break
				}
				if content = ""; !st.IsDir() {
					b, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
					if err != nil {
						t.Fatal(err)
					}
					// What only a comment speaks of is not there.
					content = comments.ReplaceAllString(string(b), "")
				}
				continue
			}
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(m[1]) + `\b`).MatchString(content) {
				t.Errorf("%s: %s has no %s", cells[0], file, m[1])
			}
		}
	}
	if rows < 12 {
		t.Errorf("%d questions are answered", rows)
	}
}
