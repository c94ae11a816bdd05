package demangle

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// different lists the cases of the published test files that are answered
// otherwise on purpose, with what is printed instead.
var different = map[string]struct{ want, why string }{
	"??__EFoo@@YAXXZ": {
		"void __cdecl `dynamic initializer for 'Foo''(void)",
		"the file was changed for another demangler; this is LLVM's own expectation, kept there as a comment",
	},
	"??__FFoo@@YAXXZ": {
		"void __cdecl `dynamic atexit destructor for 'Foo''(void)",
		"as above",
	},
	"??__F_decisionToDFA@XPathLexer@@0V?$vector@VDFA@dfa@antlr4@@V?$allocator@VDFA@dfa@antlr4@@@std@@@std@@A@YAXXZ": {
		"void __cdecl `dynamic atexit destructor for `private: static class std::vector<class antlr4::dfa::DFA, class std::allocator<class antlr4::dfa::DFA>> XPathLexer::_decisionToDFA''(void)",
		"as above",
	},
	"??_EBase@@G3AEPAXI@Z": {
		"[thunk]: private: virtual void * __thiscall Base::`vector deleting dtor'`adjustor{4}'(unsigned int)",
		"every adjusting thunk is of a virtual function; LLVM leaves the word out of private ones only",
	},
}

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

// TestMSVCPublished runs the cases that LLVM publishes. A case is one or more
// names and the text that the demangled form of each contains; it is compared
// as FileCheck does, runs of blanks being one.
func TestMSVCPublished(t *testing.T) {
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
			var names []string
			sc := bufio.NewScanner(f)
			for sc.Scan() {
				// Cases that another demangler failed are commented out.
				line := strings.TrimSpace(strings.TrimPrefix(sc.Text(), ";"))
				if strings.HasPrefix(line, "?") || strings.HasPrefix(line, ".?") {
					names = append(names, line)
					continue
				}
				want, ok := strings.CutPrefix(line, "CHECK: ")
				if !ok {
					want, ok = strings.CutPrefix(line, "; CHECK: ")
				}
				if !ok || len(names) == 0 {
					if strings.HasPrefix(line, "FIXME:") {
						names = names[:0]
					}
					continue
				}
				for _, name := range names {
					total++
					got, err := msvcFull(name)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					if d, ok := different[name]; ok {
						seen[name] = true
						if got != d.want {
							t.Errorf("%s\n got  %s\n want %s (on purpose: %s)", name, got, d.want, d.why)
						}
						continue
					}
					if differentBlank[name] {
						seen[name] = true
						if !strings.Contains(want, "__cdecl (") {
							t.Errorf("%s is listed as different by a blank and is not", name)
						}
						want = strings.ReplaceAll(want, "__cdecl (", "__cdecl(")
					}
					if !strings.Contains(squeeze(got), squeeze(want)) {
						t.Errorf("%s\n got  %s\n want %s", name, got, want)
					}
				}
				names = names[:0]
			}
			if err := sc.Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
	for name := range different {
		if !seen[name] {
			t.Errorf("%s is listed as different and not among the cases", name)
		}
	}
	for name := range differentBlank {
		if !seen[name] {
			t.Errorf("%s is listed as different and not among the cases", name)
		}
	}
	t.Logf("%d names in %d files, %d of them different on purpose", total, len(files), len(seen))
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
