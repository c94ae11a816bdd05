package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A mutated is a kind of input of which damaged copies are given to the command.
type mutated struct {
	name string
	// files are what is damaged, one of them each time; the others of a folder, such as the modules of a log, lie beside it.
	files func(dir string) ([]string, error)
	// calls are command lines, with FILE for what was damaged and DIR for its folder.
	calls []string
}

// copied returns files of the repository, copied into a folder with what belongs to them.
func copied(paths ...string) func(dir string) ([]string, error) {
	return func(dir string) (list []string, err error) {
		for _, path := range paths {
			b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
			if err != nil {
				return nil, err
			}
			to, err := write(dir, filepath.Base(path), b)
			if err != nil {
				return nil, err
			}
			list = append(list, to)
		}
		return list, nil
	}
}

// made returns the one file that a function writes.
func made(make func(dir string, n int) (string, error), n int) func(dir string) ([]string, error) {
	return func(dir string) ([]string, error) {
		path, err := make(dir, n)
		return []string{path}, err
	}
}

// keptSample writes the sample's symbols, or the sample with them, as the command does.
func keptSample(name string, args ...string) func(dir string) ([]string, error) {
	return func(dir string) ([]string, error) {
		path := filepath.Join(dir, name)
		all := append(append([]string{args[0], filepath.Join("..", "..", "assets", "sample")}, args[1:]...), "-o", path)
		var errs bytes.Buffer
		if code := run(context.Background(), all, strings.NewReader(""), io.Discard, &errs); code != exitOK {
			return nil, fmt.Errorf("%s: %s", args[0], errs.String())
		}
		return []string{path}, nil
	}
}

// mutations returns all kinds.
func mutations() []mutated {
	const sample = "assets/sample/"
	logs := []string{"show FILE --symbols DIR", "stats FILE", "info FILE"}
	return []mutated{
		{"classic logs", copied(sample + "LogDetails.dat"), []string{"show FILE --format csv", "info FILE", "tree FILE"}},
		{"modules files", copied(sample+"LogDetails.bin", sample+"LogDetails.dat"), []string{"show DIR/LogDetails.dat"}},
		{"traces", func(dir string) ([]string, error) {
			text, err := write(dir, "a.txt", []byte(coroutineTrace+"enter @3000 entry 0x401010\nmark +5 \"a\"\ncounter +5 i64 -5 \"b\"\n"))
			path := filepath.Join(dir, "a.lptrace")
			if err == nil && run(context.Background(), []string{"trace", "load", text, path}, strings.NewReader(""), io.Discard, io.Discard) != exitOK {
				err = fmt.Errorf("trace load")
			}
			return []string{path}, err
		}, append(logs, "trace dump FILE", "save FILE --format perfetto -o DIR/out", "compare FILE FILE")},
		{"traces with values", made(writePlan, 20), append(logs, "save FILE --format jsonl -o DIR/out")},
		{"packs", keptSample("a.lppack", "pack"), []string{"show FILE"}},
		{"kept symbols", func(dir string) ([]string, error) {
			if _, err := copied(sample+"LogDetails.dat", sample+"LogDetails.bin")(dir); err != nil {
				return nil, err
			}
			return keptSample("LogDetails.lpsym", "keep")(dir)
		}, []string{"show DIR/LogDetails.dat", "resolve --image FILE 1010"}},
		{"minidumps", made(writeMinidump(dumpMemory), 200), []string{"crash FILE", "crash FILE --format json"}},
		{"core files", made(writeCore(coreMemory), 200), []string{"crash FILE", "crash FILE --format html"}},
		{"texts with addresses", func(dir string) ([]string, error) {
			path, err := write(dir, "report.txt", []byte(mutatedReport))
			return []string{path}, err
		}, []string{"symbolize FILE", "symbolize FILE --json", "crash FILE"}},
		{"texts of probes", copied("parser/probes/testdata/perf.txt", "parser/probes/testdata/trace_pipe.txt", "parser/probes/testdata/bpftrace.txt", "parser/probes/testdata/gdb.txt",
			"parser/probes/testdata/names.lpnames"), []string{"show DIR/perf.txt", "stats FILE"}},
		{"PDBs", copied(sample + "logtest_shapes.pdb"), []string{"resolve --image FILE 1010 1100 1234", "values FILE"}},
		{"ELF images", copied("symbols/dwarf/testdata/gcc5.so", "symbols/dwarf/testdata/clang4.so", "symbols/dwarf/testdata/gcc5-zstd.so"),
			[]string{"resolve --image FILE 1120 1200", "values FILE", "attach FILE", "probes FILE *"}},
		{"PE images", copied("symbols/dwarf/testdata/x86_64.dll", "symbols/dwarf/testdata/i686.dll"), []string{"resolve --image FILE 1010 1400", "values FILE", "attach FILE"}},
		{"linker maps", copied("symbols/mapfile/testdata/bfd.map", "symbols/mapfile/testdata/lld.map", "symbols/mapfile/testdata/lld-link-x86_64.map"), []string{"resolve --image FILE 1010"}},
	}
}

const mutatedReport = `55b25f3ca000-55b25f3cb000 r-xp 00001000 08:01 77   /opt/seg
./seg(mid+0x18) [0x55b25f3cb28e]
#1  0x000055555555528e in mid (p=0x8) at seg.c:11
    #0 0x5650da804a96  (/opt/ac+0x10ba96) (BuildId: b9b7b9b7b9b7b9b7b9b7b9b7b9b7b9b7b9b7b9b7)
{{{module:0:/opt/ac:elf:b9b7}}}{{{mmap:0x5611:0xdfb95:load:0:rx:0x2c000}}}{{{bt:0:0x5612}}}
seg[8730]: segfault at 8 ip 000055d0a1f00272 sp 00007ffd error 4 in seg[1272,55d0a1f00000+1000]
00 006ffb2c 778624c0 ntdll!RtlpNtSetValueKey+0x27a0
at 00601099 0001:00000099 H:\Log\MAPEXE\Debug\MAPDLL.dll
W/google-breakpad( 3728): -----BEGIN BREAKPAD MICRODUMP-----
W/google-breakpad( 3728): O A arm64 02 aarch64 OS 64 VERSION INFO
W/google-breakpad( 3728): S 0 0000007FE2BA6120 0000007FE2BA6000 0000000000003000
W/google-breakpad( 3728): S 0000007FE2BA6000 0700000000000000A060BAE27F000000
W/google-breakpad( 3728): C 060000800000000000000000000000
W/google-breakpad( 3728): M 000000555F608000 0000000000000000 00000000000C0000 D6D1FEC9A15DE7F38A236898871A2E770 app
W/google-breakpad( 3728): -----END BREAKPAD MICRODUMP-----
`

// mutate damages a copy of a file in one to four places.
func mutate(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(4) {
		if len(b) < 16 {
			return b
		}
		at := r.IntN(len(b) - 8)
		switch r.IntN(9) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2, 3:
			values := []uint32{0, 1, 0x7fffffff, 0x80000000, 0xffffffff, uint32(len(b)), 1 << 16, 0x10000000, r.Uint32()}
			binary.LittleEndian.PutUint32(b[at&^3:], values[r.IntN(len(values))])
		case 4:
			binary.LittleEndian.PutUint64(b[at:], []uint64{0, 1 << 63, 1<<64 - 1, 1 << 40, r.Uint64()}[r.IntN(5)])
		case 5:
			b = b[:at+1]
		case 6, 7: // a part again, or another part in its place
			n := min(1<<r.IntN(12), len(b)-at)
			from := r.IntN(len(b) - n + 1)
			if part := bytes.Clone(b[from : from+n]); r.IntN(2) == 0 {
				copy(b[at:], part)
			} else {
				b = append(b[:at:at], append(part, b[at:]...)...)
			}
		case 8:
			b = append(b[:at:at], b[min(len(b), at+1<<r.IntN(12)):]...)
		}
	}
	return b
}

// mutationSeconds is how much of the processor's time a damaged input may take.
const mutationSeconds = 10

// mutationsOf in the environment has a process do some of the tests: KIND FIRST END DIR.
const mutationsOf = "LOGPARSE_TEST_MUTATIONS"

// TestMutations gives the command damaged inputs. It runs in processes of their own, each for a few hundred inputs, so that a
// panic, or what the runtime takes for one, ends none but that.
func TestMutations(t *testing.T) {
	if job := os.Getenv(mutationsOf); job != "" {
		doMutations(t, strings.SplitN(job, " ", 4))
		return
	}
	count := 20
	if rounds, err := strconv.Atoi(os.Getenv("LOGPARSER_SOAK")); err == nil {
		count = 2 * rounds
	}
	for i, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			const batch = 500
			for first := 0; first < count; first += batch {
				cmd := process(t, "-test.run=^TestMutations$", "-test.timeout=0")
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %s", mutationsOf, i, first, min(first+batch, count), t.TempDir()))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v: …%s", err, out[max(0, len(out)-4000):])
				}
			}
			t.Logf("%d inputs", count)
		})
	}
}

func doMutations(t *testing.T, job []string) {
	kind, _ := strconv.Atoi(job[0])
	first, _ := strconv.Atoi(job[1])
	end, _ := strconv.Atoi(job[2])
	m := mutations()[kind]
	t.Setenv("XDG_CACHE_HOME", filepath.Join(job[3], "cache"))
	files, err := m.files(job[3])
	if err != nil {
		t.Fatal(err)
	}
	whole := make([][]byte, len(files))
	for i, path := range files {
		if whole[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	read := 0
	command := func(call, path string) {
		args := strings.Fields(strings.NewReplacer("FILE", path, "DIR", job[3]).Replace(call))
		if run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard) == exitOK {
			read++
		}
		os.Remove(filepath.Join(job[3], "out"))
	}
	for _, call := range m.calls {
		if command(call, files[0]); read == 0 {
			t.Errorf("%s fails with what is not damaged", call)
		}
	}
	for seed := first; seed < end; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), uint64(kind)))
		i := seed % len(files)
		if err := os.WriteFile(files[i], mutate(r, whole[i]), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, call := range m.calls {
			fmt.Printf("input %d: %s\n", seed, call) // the last line of a process that ends
			hangs := time.AfterFunc(20*mutationSeconds*time.Second, func() { panic("it does not end") })
			before := processorTime(t)
			command(call, files[i])
			hangs.Stop()
			if used := processorTime(t) - before; used > mutationSeconds*time.Second {
				t.Errorf("input %d: %s: %v", seed, call, used)
			}
		}
		if err := os.WriteFile(files[i], whole[i], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
