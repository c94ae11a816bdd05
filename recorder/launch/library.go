package launch

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"logparser/message"
	"logparser/recorder"
	"logparser/wholefile"
)

// Errors of [FindLibrary].
var (
	// ErrNoCompiler: the library is not installed, and there is nothing to build it with.
	ErrNoCompiler = message.New("the recorder's library is not installed, and there is no C compiler to build it with")
	// ErrBuild: the compiler failed.
	ErrBuild = message.New("the recorder's library could not be built")
)

// A Target is what a recorder's library is for.
type Target struct {
	Format  Format
	Machine elf.Machine
	Bits    int
	// Name is that of the library's file.
	Name string
}

// target returns what library the program is to be given; false for none.
func (p *Program) target() (Target, bool) {
	t := Target{p.Format, p.Machine, p.Bits, "liblogrec.so"}
	if p.Format == PE {
		t.Name = p.dll
		return t, p.dll != "" && !p.present
	}
	// A static program may start programs that are linked dynamically.
	return t, !p.Linked
}

// Native returns the target of programs for the system that this one runs on.
func Native() Target {
	t := Target{Format: ELF, Machine: nativeMachine, Bits: 64, Name: "liblogrec.so"}
	if onWindows {
		t.Format, t.Name = PE, "logrec.dll"
	}
	if runtime.GOARCH == "386" {
		t.Bits = 32
	}
	return t
}

// nativeMachine is this system's, 0 if the recorder is not made for it.
var nativeMachine = map[string]elf.Machine{"amd64": elf.EM_X86_64, "386": elf.EM_386, "arm64": elf.EM_AARCH64}[runtime.GOARCH]

// FindLibrary returns the path of the recorder's library for a target: beside the running program, where
// packages install it, or in the user's cache, where it is built with the C compiler at hand if it
// is not there. building, if not nil, is called before that.
func FindLibrary(t Target, building func(compiler string)) (string, error) {
	for _, dir := range libraryFolders(t) {
		file := filepath.Join(dir, t.Name)
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if t.Format == PE || checkLibrary(file, t.Machine, t.Bits) == nil {
			return file, nil
		}
	}
	cache, err := wholefile.CacheFolder()
	if err != nil {
		return "", message.Errorf("there is no folder to keep the recorder's library in: %w", err)
	}
	return t.build(filepath.Join(cache, "recorder"), building)
}

// libraryFolders returns where the library may be installed.
func libraryFolders(t Target) (dirs []string) {
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		here := filepath.Dir(exe)
		dirs = append(dirs, here, filepath.Join(here, "..", "lib", triplets[t.Machine]), filepath.Join(here, "..", "lib"))
	}
	if t.Format == PE {
		return dirs
	}
	for _, root := range []string{"/usr/local/lib", "/usr/lib"} {
		dirs = append(dirs, filepath.Join(root, triplets[t.Machine]), root)
	}
	return dirs
}

// A compiler builds the library for a target.
type compiler struct {
	path string
	args []string // before the sources
	last []string // behind them
}

// compilers returns the compilers at hand that may build for a target, the best first.
func (t Target) compilers() (list []compiler) {
	add := func(name string, more ...string) {
		words := strings.Fields(name) // CC may have options
		if len(words) == 0 {
			return
		}
		file, err := exec.LookPath(words[0])
		if err != nil {
			return
		}
		c := compiler{path: file, args: append(words[1:], "-O2", "-shared", "-DLOGREC_BUILD_SHARED", "-fno-instrument-functions")}
		if t.Format == PE {
			if strings.Contains(words[0], "clang") {
				c.args = append(c.args, "-fms-extensions")
			}
		} else {
			c.args = append(c.args, "-fPIC", "-pthread", "-fvisibility=hidden")
			c.last = []string{"-ldl", "-Wl,-z,nodelete"}
		}
		c.args = append(c.args, more...)
		list = append(list, c)
	}
	switch {
	case t.Format == PE:
		prefix := map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_386: "i686", elf.EM_AARCH64: "aarch64"}[t.Machine]
		add(prefix + "-w64-mingw32-gcc")
		add(prefix + "-w64-mingw32-clang")
		if onWindows && t.Machine == nativeMachine {
			add("gcc")
			add("clang")
		}
	case t.Machine == nativeMachine:
		for _, name := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
			add(name)
		}
	default:
		if t.Machine == elf.EM_386 && nativeMachine == elf.EM_X86_64 {
			for _, name := range []string{os.Getenv("CC"), "gcc", "clang"} {
				add(name, "-m32")
			}
			add("i686-linux-gnu-gcc")
		}
		if triplet := triplets[t.Machine]; triplet != "" {
			add(triplet + "-gcc")
		}
	}
	return list
}

// key returns a name for a build, made of the sources, the compiler and its options.
func (t Target) key(c compiler) (string, error) {
	h := sha256.New()
	err := eachSource(func(name string, data []byte) error {
		h.Write([]byte(name + "\x00"))
		h.Write(data)
		return nil
	})
	if err != nil {
		return "", err
	}
	info, err := os.Stat(c.path)
	if err != nil {
		return "", err
	}
	words := slices.Concat([]string{c.path, info.ModTime().UTC().String(), t.Machine.String(), t.Name}, c.args, c.last)
	h.Write([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(h.Sum(nil))[:32], nil
}

// eachSource calls do for each file that the library is built of.
func eachSource(do func(name string, data []byte) error) error {
	return fs.WalkDir(recorder.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !(strings.HasPrefix(name, "src/") || strings.HasPrefix(name, "include/")) {
			return err
		}
		data, err := recorder.Files.ReadFile(name)
		if err != nil {
			return err
		}
		return do(name, data)
	})
}

// build returns the library in the folder of kept libraries, and builds it first if it is not there.
func (t Target) build(dir string, building func(compiler string)) (string, error) {
	compilers := t.compilers()
	if len(compilers) == 0 {
		return "", ErrNoCompiler
	}
	dir, err := wholefile.OwnFolder(dir)
	if err != nil {
		return "", message.Errorf("%w: %w", ErrNoLibrary, err)
	}
	keys := make([]string, len(compilers))
	for i, c := range compilers {
		var err error
		if keys[i], err = t.key(c); err != nil {
			return "", err
		}
		file := filepath.Join(dir, keys[i], t.Name)
		if _, err := os.Stat(file); err == nil {
			now := time.Now()
			// The file's time says when it was used last; see prune.
			os.Chtimes(filepath.Dir(file), now, now)
			return file, nil
		}
	}
	prune(dir)
	var failed error
	for i, c := range compilers {
		if building != nil {
			building(filepath.Base(c.path))
		}
		file, err := t.compile(c, dir, keys[i])
		if err == nil {
			return file, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return "", failed
}

// compile builds the library in a temporary folder and renames that at the end, so that a library is there as a
// whole or not at all.
func (t Target) compile(c compiler, dir, key string) (string, error) {
	work, err := os.MkdirTemp(dir, ".build-*")
	if err != nil {
		return "", message.Errorf("%w: %w", ErrNoLibrary, err)
	}
	defer os.RemoveAll(work)
	var sources []string
	err = eachSource(func(name string, data []byte) error {
		file := filepath.Join(work, filepath.FromSlash(name))
		if ext := path.Ext(name); ext == ".c" || ext == ".S" {
			sources = append(sources, filepath.FromSlash(name))
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, data, 0o600)
	})
	if err != nil {
		return "", err
	}
	made := filepath.Join(work, "made")
	if err := os.Mkdir(made, 0o700); err != nil {
		return "", err
	}
	out := filepath.Join(made, t.Name)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, slices.Concat(c.args, []string{"-Iinclude"}, sources, c.last, []string{"-o", out})...)
	cmd.Dir = work
	if text, err := cmd.CombinedOutput(); len(text) > 0 && err != nil {
		return "", message.Errorf("%w: %s: %s", ErrBuild, c.path, firstError(string(text)))
	} else if err != nil {
		return "", message.Errorf("%w: %s: %w", ErrBuild, c.path, err)
	}
	if t.Format == ELF {
		if err := checkLibrary(out, t.Machine, t.Bits); err != nil {
			return "", message.Errorf("%w: %s: %w", ErrBuild, c.path, err)
		}
	}
	place := filepath.Join(dir, key)
	if err := os.Rename(made, place); err != nil {
		// Another command has put its build there meanwhile.
		if _, e := os.Stat(filepath.Join(place, t.Name)); e != nil {
			return "", err
		}
	}
	return filepath.Join(place, t.Name), nil
}

// firstError is the first line of a compiler's output that tells of an error.
func firstError(text string) string {
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if strings.Contains(line, "error:") || strings.Contains(line, "cannot find") {
			return line
		}
	}
	return lines[0]
}

// unused is how long a library is kept that no command asked for.
const unused = 90 * 24 * time.Hour

// prune removes libraries that have not been used for long, and builds that were broken off.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		age := time.Since(info.ModTime())
		if age > unused || strings.HasPrefix(e.Name(), ".build-") && age > time.Hour {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}
