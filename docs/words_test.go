package docs_test

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
	"unicode"
)

// Words that say nothing to somebody who does not know the project, with the
// field's terms for them. Those of retiredNames are words of every day, and
// only names of files and types must do without them.
var (
	retiredWords = map[string]string{
		"floor": "calls open at the beginning", "adopt": "merge", "speculate": "in parallel", "speculation": "in parallel",
		"slab": "per-address statistics", "tally": "totals", "kin": "earlier states of the same log", "odd": "slow path",
		"lod": "timeline, level of detail", "shelf": "lane layout",
	}
	retiredNames = map[string]string{
		"said": "message", "keep": "index cache", "found": "scan cache", "draft": "preformat", "judge": "status", "given": "input files",
		"words": "message", "trail": "history", "side": "side panel", "heap": "merge heap", "owners": "interval map", "inherit": "fork",
		"rule": "path policy", "spelling": "normalise", "folded": "folded by ICF, or collapsed stacks", "guess": "", "whole": "inclusive time without recursion",
	}
	// allowed are the uses that stay, with the reason.
	allowed = map[string]string{
		"ui sidePanel": "it is the panel at the side",
	}
)

// wordsOf takes a name in camel case or with underscores apart.
func wordsOf(name string) []string {
	var list []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
		}
		word = nil
	}
	before := rune(0)
	for _, r := range name {
		if !unicode.IsLetter(r) || unicode.IsUpper(r) && !unicode.IsUpper(before) {
			end()
		}
		if unicode.IsLetter(r) {
			word = append(word, r)
		}
		before = r
	}
	end()
	return list
}

// TestRetiredWords looks for them in the names that product code declares.
func TestRetiredWords(t *testing.T) {
	used := make(map[string]bool)
	report := func(place, name string, isFileOrType bool) {
		for _, w := range wordsOf(name) {
			term, retired := retiredWords[w]
			if !retired && isFileOrType {
				term, retired = retiredNames[w]
			}
			if !retired {
				continue
			}
			if key := place + " " + name; allowed[key] != "" {
				used[key] = true
				continue
			}
			t.Errorf("%s: %s has the word %q; say %q", place, name, w, term)
		}
	}
	productFiles(t, func(file string, f *ast.File) {
		place := path.Dir(file)
		report(place, strings.TrimSuffix(path.Base(file), ".go"), true)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				report(place, n.Name.Name, true)
			case *ast.FuncDecl:
				report(place, n.Name.Name, false)
			case *ast.ValueSpec:
				for _, id := range n.Names {
					report(place, id.Name, false)
				}
			case *ast.Field:
				for _, id := range n.Names {
					report(place, id.Name, false)
				}
			case *ast.AssignStmt:
				if n.Tok == token.DEFINE {
					for _, e := range n.Lhs {
						if id, ok := e.(*ast.Ident); ok {
							report(place, id.Name, false)
						}
					}
				}
			}
			return true
		})
	})
	for key := range allowed {
		if !used[key] {
			t.Errorf("%s is allowed and not there", key)
		}
	}
}
