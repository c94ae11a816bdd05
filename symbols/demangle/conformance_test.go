package demangle

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/symbols/symtest"
)

// different lists the cases of the published test files that are answered
// otherwise on purpose, with what is printed instead.
var different = map[string]struct{ want, why string }{
	"??__EFoo@@YAXXZ": {
		"void __cdecl `dynamic initializer for 'Foo''(void)",
		sameReason,
	},
	"??__FFoo@@YAXXZ": {
		"void __cdecl `dynamic atexit destructor for 'Foo''(void)",
		sameReason,
	},
	"??__F_decisionToDFA@XPathLexer@@0V?$vector@VDFA@dfa@antlr4@@V?$allocator@VDFA@dfa@antlr4@@@std@@@std@@A@YAXXZ": {
		"void __cdecl `dynamic atexit destructor for `private: static class std::vector<class antlr4::dfa::DFA, class std::allocator<class antlr4::dfa::DFA>> XPathLexer::_decisionToDFA''(void)",
		sameReason,
	},
	"??_EBase@@G3AEPAXI@Z": {
		"[thunk]: private: virtual void * __thiscall Base::`vector deleting dtor'`adjustor{4}'(unsigned int)",
		"a thunk that adjusts this is always of a virtual function; LLVM says so of public and protected ones and forgets it for private ones",
	},
}

const sameReason = "the file was changed for another demangler; this is what LLVM expects, kept there as a comment, and llvm-undname prints"

// blankReason is why the cases of differentBlank differ.
const blankReason = "one blank: ms-templates.test writes such a type without it, this file with it; llvm-undname has none"

// differentBlank lists the cases that differ from what is printed by one
// blank: two of the files write "int __cdecl (void)" for a function type that
// is a template argument, a third writes "int __cdecl(void)", as llvm-undname
// does.
var differentBlank = map[string]bool{
	"?foo_bt@@YAX_NV?$B@$$A6A_N_N@Z@@@Z":         true,
	"?a@FTypeWithQuals@@3U?$S@$$A8@@BAHXZ@1@A":   true,
	"?b@FTypeWithQuals@@3U?$S@$$A8@@CAHXZ@1@A":   true,
	"?c@FTypeWithQuals@@3U?$S@$$A8@@IAAHXZ@1@A":  true,
	"?d@FTypeWithQuals@@3U?$S@$$A8@@GBAHXZ@1@A":  true,
	"?e@FTypeWithQuals@@3U?$S@$$A8@@GCAHXZ@1@A":  true,
	"?f@FTypeWithQuals@@3U?$S@$$A8@@IGAAHXZ@1@A": true,
	"?g@FTypeWithQuals@@3U?$S@$$A8@@HBAHXZ@1@A":  true,
	"?h@FTypeWithQuals@@3U?$S@$$A8@@HCAHXZ@1@A":  true,
	"?i@FTypeWithQuals@@3U?$S@$$A8@@IHAAHXZ@1@A": true,
	"?j@FTypeWithQuals@@3U?$S@$$A6AHXZ@1@A":      true,
	"?k@FTypeWithQuals@@3U?$S@$$A8@@GAAHXZ@1@A":  true,
	"?l@FTypeWithQuals@@3U?$S@$$A8@@HAAHXZ@1@A":  true,
}

// TestConformance runs the cases that LLVM publishes. A case is one or more
// names and the text that the demangled form of each contains; it is compared
// as FileCheck does, runs of blanks being one. Cases that another demangler
// failed are commented out in the files, and run all the same.
func TestConformance(t *testing.T) {
	files, err := filepath.Glob("../../../shared/data/msvc-demangle/*.test")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the published test files are not here")
	}
	total, seen := 0, map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var c symtest.Comparison
			var names []string
			sc := bufio.NewScanner(f)
			inactive := false // the case is commented out
			for sc.Scan() {
				line, comment := strings.CutPrefix(sc.Text(), ";")
				line = strings.TrimSpace(line)
				if strings.HasPrefix(line, "?") || strings.HasPrefix(line, ".?") {
					names = append(names, line)
					inactive = comment
					continue
				}
				if inactive {
					line = strings.TrimPrefix(line, "; ")
				}
				want, ok := strings.CutPrefix(line, "CHECK: ")
				if !ok || len(names) == 0 {
					if strings.HasPrefix(line, "FIXME:") {
						names = names[:0]
					}
					continue
				}
				for _, name := range names {
					c.Names.All++
					got, err := msvcFull(name)
					if err == nil && strings.Contains(squeeze(got), squeeze(want)) {
						c.Names.Same++
						continue
					}
					cause := ""
					if d, ok := different[name]; ok && got == d.want {
						cause = d.why
					} else if differentBlank[name] && strings.Contains(squeeze(got), squeeze(strings.ReplaceAll(want, "__cdecl (", "__cdecl("))) {
						cause = blankReason
					}
					seen[name] = true
					c.Differ(&c.Names, symtest.Difference{Subject: symtest.Name, Want: want, Got: got, Err: err, What: name, Cause: cause})
				}
				names = names[:0]
			}
			if err := sc.Err(); err != nil {
				t.Fatal(err)
			}
			total += c.Names.All
			c.Report(t, "demangling "+filepath.Base(file), symtest.DefaultBars)
		})
	}
	for name := range different {
		if !seen[name] {
			t.Errorf("%s is listed as different and is not", name)
		}
	}
	for name := range differentBlank {
		if !seen[name] {
			t.Errorf("%s is listed as different and is not", name)
		}
	}
	t.Logf("%d names in %d files, %d of them different on purpose", total, len(files), len(seen))
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
