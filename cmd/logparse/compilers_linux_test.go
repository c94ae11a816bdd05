package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// clangVersions are the versions of LLVM in the order in which tests choose one, as scripts/toolchains.sh does.
var clangVersions = []string{"19", "20", "21", "22", "18", "17", "16", "15", "14", "13"}

// clangSuffix is the end of the names of LLVM's programs that tests use: of the first version of which all are there, else of the
// first that has a compiler, else none. All programs are of one version, because a linker or headers of another one need not fit.
var clangSuffix = sync.OnceValue(func() string {
	missing := func(version, program string) bool {
		_, err := exec.LookPath(program + "-" + version)
		return err != nil
	}
	for _, needed := range [][]string{{"clang", "clang++", "clang-cl", "lld-link", "ld.lld"}, {"clang", "clang++"}} {
		for _, version := range clangVersions {
			if !slices.ContainsFunc(needed, func(program string) bool { return missing(version, program) }) {
				return "-" + version
			}
		}
	}
	return ""
})

// findCompiler returns a compiler or linker by its name; one of LLVM in the version that tests use, unless the name has one. It
// returns "" if that is not there.
func findCompiler(name string) string {
	if slices.Contains([]string{"clang", "clang++", "clang-cl", "lld-link", "ld.lld"}, name) {
		name += clangSuffix()
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// inTable reports whether a compiler is of the version of which testdata/prototypes.txt says what is known.
func inTable(compiler string) bool {
	out, err := exec.Command(compiler, "--version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return err == nil && (strings.Contains(first, "clang version 19.") || strings.Contains(first, " 12.") || strings.Contains(first, " 12-"))
}

// needHeaders skips a test if a compiler's command does not find the C++ library. A clang for MinGW looks for that of the gcc
// beside it, in folders that its version knows.
func needHeaders(t *testing.T, command ...string) {
	t.Helper()
	check := exec.Command(command[0], append(slices.Clone(command[1:]), "-x", "c++", "-std=c++17", "-fsyntax-only", "-")...)
	check.Stdin = strings.NewReader("#include <complex>\n#include <string_view>\n")
	if out, err := check.CombinedOutput(); err != nil {
		why, _, _ := strings.Cut(string(out), "\n")
		t.Skipf("%v does not find the C++ library: %s", command, why)
	}
}

// TestFindCompiler has a clang of another version come first in the search path.
func TestFindCompiler(t *testing.T) {
	if _, err := exec.LookPath("clang++" + clangSuffix()); err != nil || clangSuffix() == "" {
		t.Skip("there is no clang with a version in its name")
	}
	folder := t.TempDir()
	for _, name := range []string{"clang", "clang++"} {
		if err := os.WriteFile(folder+"/"+name, []byte("#!/bin/sh\nexit 1\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	for _, name := range []string{"clang", "clang++"} {
		if got := findCompiler(name); strings.HasPrefix(got, folder) || got == "" {
			t.Errorf("%s is %q", name, got)
		}
	}
}
