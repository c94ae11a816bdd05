package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clangPDB compiles as clangMinGW does, with a PDB instead of DWARF.
func clangPDB(level string) []string { return append(clangMinGW(level), "-gcodeview") }

// linkPDB links a program of clangPDB: the PDB is all that tells of it.
func linkPDB(compiler string) []string {
	return []string{compiler, "--target=x86_64-w64-mingw32", "-fuse-ld=lld", "--ld-path=" + findCompiler("ld.lld"), "-static", "program.o", "liblogrec.a",
		"-o", "program.exe", "-Wl,-s", "-Wl,--pdb=program.pdb"}
}

// compileClangCL compiles a program by Microsoft's C++ ABI, with hooks that tell of arguments, and with the headers and the C library of
// MinGW. It imports the recorder.
func compileClangCL(t *testing.T, source, level string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("programs and the recorder are built, and run by wine")
	}
	compiler, linker := findCompiler("clang-cl"), findCompiler("lld-link")
	const mingw = "x86_64-w64-mingw32"
	if _, err := exec.LookPath(mingw + "-g++"); err != nil || compiler == "" || linker == "" {
		t.Skip("there is no clang-cl, lld-link or MinGW")
	}
	if _, err := exec.LookPath("wine"); err != nil {
		t.Skip("there is no wine")
	}
	output := func(command ...string) string {
		out, err := exec.Command(command[0], command[1:]...).Output()
		if err != nil {
			t.Fatalf("%v: %v", command, err)
		}
		return strings.TrimSpace(string(out))
	}
	dir := t.TempDir()
	importLibrary(t, dir)
	hooks := " /clang:-pg /clang:-mfentry"
	if hooksOfFunctions(strings.Fields(level)) {
		hooks = ""
	}
	libgcc := output(mingw+"-g++", "-print-libgcc-file-name")
	headers := filepath.Join(filepath.Dir(libgcc), "include", "c++")
	flags := []string{compiler, "--target=x86_64-pc-windows-msvc", "-nostdinc"}
	for _, folder := range []string{headers, filepath.Join(headers, mingw), filepath.Join(output(findCompiler("clang"), "-print-resource-dir"), "include"), "/usr/" + mingw + "/include"} {
		flags = append(flags, "/clang:-isystem", "/clang:"+folder)
	}
	flags = append(flags, "/clang:-fgnuc-version=12.2.0", "/D__USE_MINGW_ANSI_STDIO=0", "/D__STRICT_ANSI__", "/Z7", "/GS-", "/Gs100000", "/GR-", "/EHs-c-",
		"/Zc:threadSafeInit-", "/std:c++17", "-Wno-everything", "/c")
	link := []string{linker, "/nologo", "/machine:x64", "/nodefaultlib", "/debug", "/opt:noicf", "/subsystem:console", "/entry:startup", "/out:program.exe", "/pdb:program.pdb", "liblogrec.a"}
	for _, o := range []struct{ source, object, more string }{
		{source, "program.obj", level + hooks},
		{"testdata/runtime_clangcl.cpp", "runtime.obj", "/O2"}, {"../../recorder/samples/logtest/startup_clangcl.cpp", "startup.obj", "/O2"},
	} {
		path, err := filepath.Abs(o.source)
		if err != nil {
			t.Fatal(err)
		}
		build(t, dir, slices.Concat(flags, strings.Fields(o.more), []string{"/Fo" + o.object, "--", path}))
		link = append(link, o.object)
	}
	libraries := "/usr/" + mingw + "/lib/lib"
	build(t, dir, append(link, libraries+"kernel32.a", libraries+"msvcrt.a", libraries+"mingwex.a", libraries+"msvcrt.a", libgcc))
	return filepath.Join(dir, "program.exe")
}

// clangCLRecorder builds the recorder with clang-cl beside a program that compileClangCL has built: with its hooks in assembly.
func clangCLRecorder(t *testing.T, dir string) {
	t.Helper()
	const mingw = "/usr/x86_64-w64-mingw32/"
	resources, err := exec.Command(findCompiler("clang"), "-print-resource-dir").Output()
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("../../recorder/src/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal(err)
	}
	for _, hooks := range []string{"cyg_windows", "fentry_windows", "penter_gnu"} {
		sources = append(sources, "../../recorder/src/hooks_"+hooks+".S")
	}
	for i := range sources {
		if sources[i], err = filepath.Abs(sources[i]); err != nil {
			t.Fatal(err)
		}
	}
	include, err := filepath.Abs("../../recorder/include")
	if err != nil {
		t.Fatal(err)
	}
	objects := filepath.Join(dir, "recorder")
	if err := os.Mkdir(objects, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(objects, "runtime.c"), []byte("int _fltused;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	build(t, objects, slices.Concat([]string{findCompiler("clang-cl"), "--target=x86_64-pc-windows-msvc", "-nostdinc", "/clang:-isystem", "/clang:" + strings.TrimSpace(string(resources)) + "/include",
		"/clang:-isystem", "/clang:" + mingw + "include", "/clang:-fgnuc-version=12.2.0", "/D__USE_MINGW_ANSI_STDIO=0", "/O2", "/GS-", "/Gs100000", "/GR-", "/W4", "-Werror", "/I" + include,
		"/DLOGREC_BUILD_SHARED", "/DLOGREC_ASSEMBLED", "/c", "/Fo./", "--", "runtime.c"}, sources))
	made, err := filepath.Glob(filepath.Join(objects, "*.obj"))
	if err != nil {
		t.Fatal(err)
	}
	build(t, dir, slices.Concat([]string{findCompiler("lld-link"), "/nologo", "/nodefaultlib", "/machine:x64", "/dll", "/entry:DllMain"}, made,
		[]string{mingw + "lib/libkernel32.a", mingw + "lib/libmsvcrt.a", "/out:logrec.dll"}))
}

// TestRecorderClangCL records a program of clang-cl with a recorder of clang-cl, which lies beside it: it takes what that of MinGW
// takes.
func TestRecorderClangCL(t *testing.T) {
	const hooks = "/O2 -finstrument-functions"
	program := compileClangCL(t, "testdata/prototypes.cpp", "/O2 /clang:-finstrument-functions-after-inlining")
	clangCLRecorder(t, filepath.Dir(program))
	out, log := recordWine(t, program, slices.Concat(prototypeValues, []string{"./program.exe"})...)
	checkPrototypes(t, findCompiler("clang-cl"), "clang-cl "+hooks, "clang -O2 -finstrument-functions", out, log, false)
}

// TestPrototypesPDB is TestPrototypes with programs that have a PDB, of which clang-cl's have Microsoft's C++ ABI: exceptions and
// the libraries' texts there are those of MinGW.
func TestPrototypesPDB(t *testing.T) {
	for _, test := range []struct {
		name, as string
		compile  func(t *testing.T) string
	}{
		{"clang PDB -O0", "clang -O0", func(t *testing.T) string { return compileMinGW(t, "testdata/prototypes.cpp", clangPDB("-O0")...) }},
		{"clang PDB -O2", "clang -O2", func(t *testing.T) string { return compileMinGW(t, "testdata/prototypes.cpp", clangPDB("-O2")...) }},
		{"clang-cl /Od", "clang -O0", func(t *testing.T) string { return compileClangCL(t, "testdata/prototypes.cpp", "/Od") }},
		{"clang-cl /O2", "clang -O2", func(t *testing.T) string { return compileClangCL(t, "testdata/prototypes.cpp", "/O2") }},
		{"clang-cl /Od -finstrument-functions", "clang -O0 -finstrument-functions", func(t *testing.T) string {
			return compileClangCL(t, "testdata/prototypes.cpp", "/Od /clang:-finstrument-functions-after-inlining")
		}},
		{"clang-cl /O2 -finstrument-functions", "clang -O2 -finstrument-functions", func(t *testing.T) string {
			return compileClangCL(t, "testdata/prototypes.cpp", "/O2 /clang:-finstrument-functions-after-inlining")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if findCompiler("clang++") == "" || findCompiler("ld.lld") == "" {
				t.Skip("there is no clang++ or lld")
			}
			program := test.compile(t)
			out, log := recordWine(t, program, slices.Concat(prototypeValues, []string{"./program.exe"})...)
			checkPrototypes(t, findCompiler("clang++"), test.name, test.as, out, log, false)
		})
	}
}

// TestStringsMSVC records a program that has texts as Microsoft's library has them in memory.
func TestStringsMSVC(t *testing.T) {
	for _, level := range []string{"/Od", "/O2", "/Od /DCHECKED"} {
		t.Run(level, func(t *testing.T) {
			program := compileClangCL(t, "testdata/strings_msvc.cpp", level)
			out, log := recordWine(t, program, "--values", "app::s*", "./program.exe")
			told := toldCalls(t, out)
			if _, known, all := compareCalls(t, told, shownCalls(t, log, functionsOf(told))); known != all || all == 0 {
				t.Errorf("%d of %d values are known", known, all)
			} else {
				t.Logf("%d of %d values are known", known, all)
			}
		})
	}
}
