// Command unused lists what the product declares (functions, methods, types, constants,
// variables and fields) and no product code uses: what only tests use, or nothing does.
//
//	go run ./scripts/unused [-tags ci,migrated_fynedo] [packages]
//
// It is a list to look through, not a check: a method may be there for an interface of the
// library, a field for a file's layout or for encoding/json. Such are left out where that can be
// told: fields of structs with tags, and methods that an interface of any package has.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A listed is a package as go list knows it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
}

// A declared is an object, by where it stands.
type declared struct {
	at, what string
	used     bool
}

type finder struct {
	fset    *token.FileSet
	exports map[string]string
	objects map[string]*declared
	// methods are the names that interfaces have.
	methods map[string]bool
	uses    []string
}

// There are methods that the library looks for without an interface.
var known = []string{"Unwrap", "Is", "As"}

func main() {
	tags := flag.String("tags", "ci,migrated_fynedo", "build tags")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	packages, err := list(*tags, patterns)
	if err == nil {
		err = find(packages)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "unused:", err)
		os.Exit(1)
	}
}

// list returns packages with those that they import.
func list(tags string, patterns []string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-tags", tags, "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// find prints what is not used of the packages of this module.
func find(packages []listed) error {
	f := &finder{fset: token.NewFileSet(), exports: map[string]string{}, objects: map[string]*declared{}, methods: map[string]bool{}}
	for _, m := range known {
		f.methods[m] = true
	}
	for _, p := range packages {
		f.exports[p.ImportPath] = p.Export
	}
	imports := importer.ForCompiler(f.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(f.exports[path]) })
	for _, p := range packages {
		if p.Module == nil || !p.Module.Main {
			if imported, err := imports.Import(p.ImportPath); err == nil {
				f.interfaces(imported)
			}
			continue
		}
		if err := f.check(p, imports); err != nil {
			return err
		}
	}
	for _, at := range f.uses {
		if o := f.objects[at]; o != nil {
			o.used = true
		}
	}
	var lines []string
	for _, o := range f.objects {
		method := strings.TrimPrefix(o.what, "method ")
		if !o.used && (method == o.what || !f.methods[method]) {
			lines = append(lines, o.at+": "+o.what)
		}
	}
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Println(l)
	}
	return nil
}

// interfaces notes the methods of an imported package's interfaces.
func (f *finder) interfaces(p *types.Package) {
	for _, name := range p.Scope().Names() {
		f.interfaceMethods(p.Scope().Lookup(name).Type())
	}
}

func (f *finder) interfaceMethods(t types.Type) {
	if t == nil {
		return
	}
	if i, ok := t.Underlying().(*types.Interface); ok {
		for m := range i.Methods() {
			f.methods[m.Name()] = true
		}
	}
}

// key tells an object from others by what export data has of it, too, which has no columns.
func (f *finder) key(o types.Object) string {
	p := f.fset.Position(o.Pos())
	return fmt.Sprintf("%s:%d %s", p.Filename, p.Line, o.Name())
}

// check notes what a package declares and uses.
func (f *finder) check(p listed, imports types.Importer) error {
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(f.fset, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	checked, err := (&types.Config{Importer: imports}).Check(p.ImportPath, f.fset, files, info)
	if err != nil {
		return err
	}
	for _, t := range info.Types {
		f.interfaceMethods(t.Type)
	}
	tagged := map[types.Object]bool{}
	for _, o := range info.Defs {
		if t, ok := o.(*types.TypeName); ok {
			if s, ok := t.Type().Underlying().(*types.Struct); ok {
				for i := range s.NumFields() {
					tagged[s.Field(i)] = s.Tag(i) != ""
				}
			}
		}
	}
	for id, o := range info.Defs {
		if o == nil || id.Name == "_" || id.Name == "main" || id.Name == "init" || tagged[o] {
			continue
		}
		if what := kind(o, checked); what != "" {
			at := f.fset.Position(o.Pos())
			f.objects[f.key(o)] = &declared{at: fmt.Sprintf("%s/%s:%d", p.ImportPath, filepath.Base(at.Filename), at.Line), what: what + " " + id.Name}
		}
	}
	for _, o := range info.Uses {
		switch v := o.(type) {
		case *types.Var:
			o = v.Origin()
		case *types.Func:
			o = v.Origin()
		}
		f.uses = append(f.uses, f.key(o))
	}
	return nil
}

// kind says what an object is, "" for what is not looked for.
func kind(o types.Object, p *types.Package) string {
	switch o := o.(type) {
	case *types.Func:
		if o.Signature().Recv() != nil {
			return "method"
		}
		return "func"
	case *types.TypeName:
		return "type"
	case *types.Const:
		if o.Parent() == p.Scope() {
			return "const"
		}
	case *types.Var:
		if o.IsField() && !o.Embedded() {
			return "field"
		}
		if o.Parent() == p.Scope() {
			return "var"
		}
	}
	return ""
}
