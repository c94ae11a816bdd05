// Typecheck checks the types of packages, with their tests, for another
// system, and compiles nothing:
//
//	GOOS=darwin GOARCH=arm64 typecheck PACKAGE...
//
// It finds what makes a build for that system fail: a file that no system has,
// a constant that does not fit into an int of 32 bits. All errors are told, where
// the compiler stops at the first package. Of what the packages import only
// the declarations are read. Packages that use cgo are read without it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

func main() {
	broken, checked, err := check(os.Args[1:])
	for _, err := range broken {
		fmt.Println(err)
	}
	if err != nil {
		fmt.Println("typecheck:", err)
	}
	if err != nil || len(broken) > 0 {
		os.Exit(1)
	}
	fmt.Printf("%d packages checked\n", checked)
}

// listed is what "go list" tells of a package.
type listed struct {
	Dir, ImportPath, ForTest string
	DepOnly                  bool
	GoFiles                  []string
	ImportMap                map[string]string
	Module                   *struct{ GoVersion string }
	Error                    *struct{ Err string }
}

// checker holds the packages by import path. Each is checked once, after those that it imports.
type checker struct {
	files    *token.FileSet
	sizes    types.Sizes
	packages map[string]*checked
	slots    chan struct{} // bounds how many are checked at once

	mu     sync.Mutex
	broken []string
}

type checked struct {
	listed
	once  sync.Once
	types *types.Package
}

// check checks the packages that match the patterns for the system of the environment. It returns the errors in
// them, sorted, and how many packages there were, those of tests among them.
func check(patterns []string) (broken []string, count int, err error) {
	arch, err := exec.Command("go", "env", "GOARCH").Output()
	if err != nil {
		return nil, 0, err
	}
	list := exec.Command("go", append([]string{"list", "-e", "-deps", "-test",
		"-json=Dir,ImportPath,ForTest,DepOnly,GoFiles,ImportMap,Module,Error", "--"}, patterns...)...)
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	if err := list.Start(); err != nil {
		return nil, 0, err
	}
	c := &checker{files: token.NewFileSet(), sizes: types.SizesFor("gc", string(arch[:len(arch)-1])),
		packages: map[string]*checked{}, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	decoder := json.NewDecoder(out)
	for {
		p := new(checked)
		err := decoder.Decode(&p.listed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("what go list prints: %w", err)
		}
		c.packages[p.ImportPath] = p
	}
	if err := list.Wait(); err != nil {
		return nil, 0, fmt.Errorf("go list: %w", err)
	}
	var all sync.WaitGroup
	for _, p := range c.packages {
		if p.DepOnly || generated(p) {
			continue
		}
		count++
		all.Add(1)
		go func() {
			defer all.Done()
			c.check(p)
		}()
	}
	all.Wait()
	slices.Sort(c.broken)
	return slices.Compact(c.broken), count, nil
}

// generated says that p is the main package that go test writes for the tests of another one; its file is in the build cache.
func generated(p *checked) bool {
	return len(p.GoFiles) > 0 && filepath.IsAbs(p.GoFiles[0])
}

// check checks p and, first, what it imports.
func (c *checker) check(p *checked) *types.Package {
	p.once.Do(func() { c.checkOnce(p) })
	return p.types
}

func (c *checker) checkOnce(p *checked) {
	if p.Error != nil {
		c.fail(fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err))
	}
	c.slots <- struct{}{}
	mode := parser.SkipObjectResolution
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, mode)
		if err != nil && !p.DepOnly {
			c.fail(err)
		}
		if file != nil {
			files = append(files, file)
		}
	}
	<-c.slots
	// What is imported is checked before a slot is taken: a package that waited for it in one would keep it from running.
	imports := importer{}
	for _, file := range files {
		for _, spec := range file.Imports {
			path := spec.Path.Value[1 : len(spec.Path.Value)-1]
			name := path
			if mapped, ok := p.ImportMap[path]; ok {
				name = mapped
			}
			if path == "unsafe" {
				imports[path] = types.Unsafe
			} else if q := c.packages[name]; q != nil {
				imports[path] = c.check(q)
			}
		}
	}
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	config := types.Config{Importer: imports, Sizes: c.sizes, IgnoreFuncBodies: p.DepOnly, FakeImportC: true,
		Error: func(err error) {
			if !p.DepOnly {
				c.fail(err)
			}
		}}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path := p.ImportPath
	if p.ForTest != "" && len(path) > len(p.ForTest) && path[:len(p.ForTest)+1] == p.ForTest+" " {
		path = p.ForTest
	}
	p.types, _ = config.Check(path, c.files, files, nil) // its errors were given to config.Error
}

func (c *checker) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = append(c.broken, err.Error())
}

// importer holds what a package imports, by the path that stands in its source.
type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no package %q", path)
}
