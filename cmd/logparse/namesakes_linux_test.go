package main

import (
	"debug/elf"
	"debug/pe"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const namesakesA = `#if __cplusplus >= 202002L
#include <coroutine>
#endif
struct V { V(int) {} V(double) {} virtual ~V() {} };
struct W : virtual V { W() : V(1) {} virtual ~W() {} };
struct X : W { X() : V(2) {} ~X() {} };
int f(int x) { return x; }
int f(double x) { return (int)x; }
static int load(int x) { return x + 1; }
namespace { int hid() { return 1; } }
int other();
#ifdef __cpp_impl_coroutine
struct task { struct promise_type { task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
 std::suspend_always initial_suspend() { return {}; } std::suspend_always final_suspend() noexcept { return {}; }
 void return_void() {} void unhandled_exception() {} };
 std::coroutine_handle<promise_type> h; };
task counter(int n) { co_await std::suspend_always{}; }
#endif
int main() {
 V a(1), b(2.0); W w; X *x = new X; delete (V *)x;
#ifdef __cpp_impl_coroutine
 task t = counter(1); t.h.resume(); t.h.destroy();
#endif
 return f(1) + f(2.0) + load(1) + hid() + other(); }
`

const namesakesB = `static int load(int x) { return x + 2; }
namespace { int hid() { return 2; } }
int other() { return load(1) + hid(); }
`

// TestNamesakesOfCompilers shows functions of one name in programs of several compilers and forms of symbols.
func TestNamesakesOfCompilers(t *testing.T) {
	const mingw = "x86_64-w64-mingw32-g++"
	// Where debug information tells files, functions that are a file's own are told by it.
	overloads := map[string]string{"main": "main", "_Z1fi": "f(int)", "_Z1fd": "f(double)", "_ZN1VC2Ei": "V::V(int)", "_ZN1VC2Ed": "V::V(double)"}
	files := map[string]string{"_ZL4loadi 0": "load (a.cpp)", "_ZL4loadi 1": "load (b.cpp)",
		"_ZN12_GLOBAL__N_13hidEv 0": "(anonymous namespace)::hid (a.cpp)", "_ZN12_GLOBAL__N_13hidEv 1": "(anonymous namespace)::hid (b.cpp)"}
	structors := map[string]string{"_ZN1WC1Ev": "W::W", "_ZN1WC2Ev": "W::W [base object]", "_ZN1XD1Ev": "X::~X", "_ZN1XD0Ev": "X::~X [deleting]"}
	gcc := map[string]string{"_Z7counteri": "counter", "_Z7counterPZ7counteriE17_Z7counteri.Frame.actor": "counter [resume]", "_Z7counterPZ7counteriE17_Z7counteri.Frame.destroy": "counter [destroy]"}
	clang := map[string]string{"_Z7counteri": "counter", "_Z7counteri.resume": "counter [resume]", "_Z7counteri.destroy": "counter [destroy]", "_Z7counteri.cleanup": "counter [cleanup]"}
	placed := map[string]string{"_ZL4loadi 0": "load [+", "_ZL4loadi 1": "load [+"}
	for _, test := range []struct {
		name    string
		command []string
		want    []map[string]string
		attach  bool
	}{
		{"gcc, DWARF", []string{"g++", "-g", "-std=c++20"}, []map[string]string{overloads, files, structors, gcc}, false},
		{"gcc, optimised", []string{"g++", "-g", "-O2", "-std=c++20", "-fno-inline", "-fno-ipa-cp", "-fno-ipa-sra"}, []map[string]string{overloads, files, structors, gcc}, false},
		{"gcc, the symbol table", []string{"g++", "-std=c++20"}, []map[string]string{overloads, structors, gcc, placed}, false},
		{"gcc, attached", []string{"g++", "-g"}, []map[string]string{overloads, files}, true},
		{"clang, DWARF", []string{"clang++-19", "-g", "-std=c++20"}, []map[string]string{overloads, files, structors, clang}, false},
		{"MinGW, DWARF", []string{mingw, "-g", "-static"}, []map[string]string{overloads, files}, false},
		{"MinGW, the symbol table", []string{mingw, "-static"}, []map[string]string{overloads, placed}, false},
		{"clang, PDB", []string{"clang++-19", "--target=x86_64-w64-mingw32", "-fuse-ld=lld", "-g", "-gcodeview", "-Wl,--pdb=app.pdb", "-Wl,--Xlink=-map:list.txt"},
			[]map[string]string{{"_Z1fi": "f(int)", "_Z1fd": "f(double)"}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath(test.command[0]); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			for name, text := range map[string]string{"a.cpp": namesakesA, "b.cpp": namesakesB} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(test.command[0], append(test.command[1:], "a.cpp", "b.cpp", "-o", "app.exe")...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("%v: %v\n%s", cmd, err, out)
			}
			program, symbols := filepath.Join(dir, "app.exe"), filepath.Join(dir, "none")
			starts, size := linked(t, dir)
			if test.attach {
				if code, _, errs := logparse("attach", program); code != exitOK {
					t.Fatal(errs)
				}
				for _, name := range []string{"a.cpp", "b.cpp"} {
					os.Remove(filepath.Join(dir, name))
				}
				if out, err := exec.Command("strip", "-g", program).CombinedOutput(); err != nil {
					t.Skipf("%v\n%s", err, out)
				}
			}
			var want []string
			var rvas []uint64
			for _, names := range test.want {
				for link, name := range names {
					rva, ok := starts[link]
					if !ok {
						// Where nothing tells constructors of complete objects from others there may be one alone.
						rva, ok = starts[strings.Replace(link, "C2E", "C1E", 1)]
					}
					if !ok {
						t.Errorf("the program has no %s", link)
						continue
					}
					if strings.HasSuffix(name, "[+") {
						name += "0x" + strconv.FormatUint(rva, 16) + "]"
					}
					want, rvas = append(want, name), append(rvas, rva)
				}
			}
			checkApart(t, calledTrace(t, program, "-", size, rvas...), symbols, want)
		})
	}
}

// linked returns where the functions of the program begin, by what the linker calls them, and its size. Of a name that several
// have all are numbered: "name 0".
func linked(t *testing.T, dir string) (starts map[string]uint64, size uint64) {
	t.Helper()
	all := make(map[string][]uint64)
	path := filepath.Join(dir, "app.exe")
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		size = 0x10000
		list, _ := f.Symbols()
		for _, s := range list {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF {
				all[s.Name] = append(all[s.Name], s.Value)
			}
		}
	} else {
		f, err := pe.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		size = uint64(f.OptionalHeader.(*pe.OptionalHeader64).SizeOfImage)
		for _, s := range f.Symbols {
			if s.SectionNumber > 0 && int(s.SectionNumber) <= len(f.Sections) {
				all[s.Name] = append(all[s.Name], uint64(f.Sections[s.SectionNumber-1].VirtualAddress+s.Value))
			}
		}
		list, _ := os.ReadFile(filepath.Join(dir, "list.txt"))
		for _, m := range regexp.MustCompile(`0001:([0-9a-f]{8}) +(\S+)`).FindAllSubmatch(list, -1) {
			offset, _ := strconv.ParseUint(string(m[1]), 16, 64)
			all[string(m[2])] = append(all[string(m[2])], uint64(f.Sections[0].VirtualAddress)+offset)
		}
	}
	starts = make(map[string]uint64)
	for name, list := range all {
		starts[name] = list[0]
		for i, at := range list {
			starts[name+" "+strconv.Itoa(i)] = at
		}
	}
	return starts, size
}
