package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rustProgram counts its own calls while it makes them, in recursion, by generics, methods and closures, and prints the counts.
const rustProgram = `
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
static FIB: AtomicU64 = AtomicU64::new(0);
static AREA: AtomicU64 = AtomicU64::new(0);
static TWICE: AtomicU64 = AtomicU64::new(0);
static CAUGHT: AtomicU64 = AtomicU64::new(0);
// What the compiler does not look through; std::hint::black_box is of later versions than Debian's.
#[inline(always)]
fn black_box<T>(x: T) -> T { unsafe { let y = std::ptr::read_volatile(&x); std::mem::forget(x); y } }
#[inline(never)]
fn counted_fib(n: u64) -> u64 { FIB.fetch_add(1, Relaxed); if n < 2 { n } else { black_box(counted_fib(n - 1)) + black_box(counted_fib(n - 2)) } }
struct Shape { w: u64, h: u64 }
impl Shape {
    #[inline(never)]
    fn counted_area(&self) -> u64 { AREA.fetch_add(1, Relaxed); self.w * self.h }
}
#[inline(never)]
fn counted_twice<T: std::ops::Add<Output = T> + Copy>(x: T) -> T { TWICE.fetch_add(1, Relaxed); x + x }
#[inline(never)]
fn counted_panic(x: u64) -> u64 { CAUGHT.fetch_add(1, Relaxed); if x % 2 == 1 { std::panic::resume_unwind(Box::new(x)) } x }
fn main() {
    let mut sum = counted_fib(black_box(15));
    for i in 0..1000 { sum += black_box(Shape { w: i, h: 2 }).counted_area() + counted_twice(i) + counted_twice(i as u32) as u64; }
    for i in 0..10 { sum += std::panic::catch_unwind(|| counted_panic(black_box(i))).unwrap_or(1); }
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(|| counted_fib(black_box(10)))).collect();
    for t in threads { sum += t.join().unwrap(); }
    println!("counted_fib {}\ncounted_area {}\ncounted_twice {}\ncounted_panic {}", FIB.load(Relaxed), AREA.load(Relaxed), TWICE.load(Relaxed), CAUGHT.load(Relaxed));
    std::process::exit((sum % 200) as i32);
}
`

// TestRecordRust records a program in Rust by each way in that rustc has: as many calls as it counts itself.
func TestRecordRust(t *testing.T) {
	rustc, err := exec.LookPath("rustc")
	if err != nil || testing.Short() || runtime.GOARCH != "amd64" {
		t.Skip("there is no rustc, or no time to build programs, for x86-64")
	}
	for _, test := range []struct {
		name   string
		flags  []string
		record []string
		ends   bool // ends of calls are seen
		needs  string
	}{
		{"XRay", []string{"-Zinstrument-xray=always"}, nil, true, "instrument-xray"},
		{"patchable", []string{"-Zpatchable-function-entry=5"}, nil, false, "patchable-function-entry"},
		{"mcount", []string{"-Zinstrument-mcount"}, nil, false, "instrument-mcount"},
		{"probes", nil, []string{"--probe", "*counted_*"}, true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "probes" && os.Geteuid() != 0 {
				t.Skip("not root")
			}
			// Options that begin with -Z are for nightly versions.
			help := exec.Command(rustc, "-Z", "help")
			help.Env = append(os.Environ(), "RUSTC_BOOTSTRAP=1")
			if out, err := help.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(test.needs)) {
				t.Skipf("this rustc has no -Z %s", test.needs)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "p.rs"), []byte(rustProgram), 0o666); err != nil {
				t.Fatal(err)
			}
			build := exec.Command(rustc, append([]string{"-g", "-O", "-C", "panic=unwind", "p.rs", "-o", "p"}, test.flags...)...)
			build.Dir, build.Env = dir, help.Env
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			program := filepath.Join(dir, "p")
			plain := exec.Command(program)
			want, _ := plain.Output()
			var errs bytes.Buffer
			cmd := recordProcess(t, program, slices.Concat([]string{"--head", "0", "-o", "log"}, test.record, []string{program})...)
			cmd.Stderr = &errs
			out, _ := cmd.Output()
			if string(out) != string(want) || cmd.ProcessState.ExitCode() != plain.ProcessState.ExitCode() {
				t.Fatalf("%v, output %q, without the recorder %v, %q: %s", cmd.ProcessState, out, plain.ProcessState, want, errs.String())
			}
			if test.name == "probes" && strings.Contains(errs.String(), "needs") {
				t.Skip(errs.String())
			}
			if test.name == "mcount" {
				if data, err := os.ReadFile(program); err == nil && !bytes.Contains(data, []byte("\x00mcount")) {
					t.Skip("this rustc calls no mcount (1.63)")
				}
				if !strings.Contains(errs.String(), "was compiled with -pg alone") {
					t.Errorf("said: %s", errs.String())
				}
				return
			}
			compareRust(t, filepath.Join(dir, "log"), string(want), test.ends, errs.String())
		})
	}
}

// compareRust holds the calls of a log against what the program printed.
func compareRust(t *testing.T, log, printed string, ends bool, said string) {
	t.Helper()
	code, out, errs := logparse("show", log, "--json", "--where", "fn:counted_")
	if code != exitOK {
		t.Fatalf("status %d: %s%s", code, errs, said)
	}
	enters, leaves, unfinished := map[string]int{}, map[string]int{}, map[string]int{}
	for line := range strings.Lines(out) {
		var r struct{ Event, Function, Note string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		name := r.Function[strings.LastIndex(r.Function, "counted_"):]
		name, _, _ = strings.Cut(name, "<")
		name = strings.TrimSuffix(name, "::")
		if r.Event == "leave" {
			leaves[name]++
			continue
		}
		enters[name]++
		if r.Note != "" {
			unfinished[name]++
		}
	}
	for line := range strings.Lines(printed) {
		if strings.Contains(said, "get no probe") && !strings.HasPrefix(line, "counted_fib") {
			continue // they begin with the increment of their counter
		}
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if got := enters[name]; strconv.Itoa(got) != count {
			t.Errorf("%s: %d calls, want %s: %v %s", name, got, count, enters, said)
		}
		// Half of these calls are left by a panic.
		if want := enters[name] - unfinished[name]; ends && (leaves[name] != want || name != "counted_panic" && unfinished[name] > 0) {
			t.Errorf("%s: %d of %d calls end, %d have a note", name, leaves[name], enters[name], unfinished[name])
		}
	}
}
