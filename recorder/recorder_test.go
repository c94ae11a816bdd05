package recorder

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const testdata = "../testdata"

// machinePaths returns what would tell on which machine a file was made.
func machinePaths(t *testing.T) []string {
	// Z: is what wine calls the root of the machine it runs on.
	list := []string{`Z:\`}
	add := func(path string) {
		// A short path such as "/" or "/src" is no one machine's.
		if len(strings.Trim(path, "/")) > 3 {
			list = append(list, strings.TrimRight(path, "/")+"/")
		}
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	add(root)
	// Debian's libraries were built in /build.
	if parent := filepath.Dir(root); parent != "/build" {
		add(parent)
	}
	if home, err := os.UserHomeDir(); err == nil {
		add(home)
	}
	if u, err := user.Current(); err == nil {
		add(u.HomeDir)
		if u.Username != "" {
			list = append(list, `\users\`+filepath.Base(u.Username)+`\`)
		}
	}
	if passwd, err := os.ReadFile("/etc/passwd"); err == nil {
		for _, line := range strings.Split(string(passwd), "\n") {
			if f := strings.Split(line, ":"); len(f) > 5 && (f[2] == "0" || strings.HasPrefix(f[5], "/home/")) {
				add(f[5])
			}
		}
	}
	return list
}

// findPath returns the first of the paths that the content holds, in ASCII or
// UTF-16, upper case or lower.
func findPath(content []byte, paths []string) (string, bool) {
	lower := bytes.ToLower(content)
	for _, p := range paths {
		narrow := []byte(strings.ToLower(p))
		if bytes.Contains(lower, narrow) {
			return p, true
		}
		wide := make([]byte, 0, 2*len(narrow))
		for _, c := range narrow {
			wide = append(wide, c, 0)
		}
		if bytes.Contains(lower, wide) {
			return p, true
		}
	}
	return "", false
}

func TestFindPath(t *testing.T) {
	paths := []string{"/somebody/", `Z:\`}
	for content, want := range map[string]bool{
		"x/somebody/y":             true,
		"x/somebodyelse/y":         false,
		`0x1 0x2 8 - - z:\a\b.exe`: true,
		"\x00/\x00s\x00o\x00m\x00e\x00b\x00o\x00d\x00y\x00/\x00": true,
		"": false,
	} {
		if _, got := findPath([]byte(content), paths); got != want {
			t.Errorf("findPath(%q) = %v, want %v", content, got, want)
		}
	}
}

func TestNoMachinePaths(t *testing.T) {
	paths := machinePaths(t)
	files := 0
	err := filepath.WalkDir(testdata, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		check := paths
		if strings.HasPrefix(path, filepath.Join(testdata, "logtest")) && filepath.Ext(path) != ".sh" {
			// Built in temporary folders.
			check = append(check[:len(check):len(check)], "/tmp/")
		}
		if p, ok := findPath(content, check); ok {
			t.Errorf("%s holds the path %s", path, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("%d files below %s", files, testdata)
	}
}

// keptLanes are the lanes that testdata/logtest/make.sh keeps.
var keptLanes = []struct {
	name       string
	pointer    int
	exceptions bool
	identity   string
	images     []string
}{
	{"linux-gcc-O2", 8, true, "build-id", []string{"logtest", "liblogtest_shapes.so"}},
	{"windows-x64-clang", 8, true, "pdb", []string{"logtest.exe", "logtest_shapes.dll"}},
	{"windows-x64-clangcl", 8, false, "pdb", []string{"logtest.exe", "logtest_shapes.dll"}},
	{"windows-x64-mingw", 8, true, "pdb", []string{"logtest.exe", "logtest_shapes.dll"}},
	{"windows-x86-clang", 4, true, "pdb", []string{"logtest.exe", "logtest_shapes.dll"}},
}

// A line is what the truth file says of one record.
type line struct {
	enter bool
	name  string
}

func readTruth(t *testing.T, path string) map[uint32][]line {
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	truth := map[uint32][]line{}
	s := bufio.NewScanner(bytes.NewReader(content))
	for n := 1; s.Scan(); n++ {
		if n == 1 {
			if s.Text() != "# LogTest truth 1: thread event function" {
				t.Fatalf("%s begins with %q", path, s.Text())
			}
			continue
		}
		f := strings.Split(s.Text(), "\t")
		thread, err := strconv.ParseUint(f[0], 10, 32)
		if len(f) != 3 || err != nil || (f[1] != "enter" && f[1] != "leave") || f[2] == "" {
			t.Fatalf("%s:%d: %q", path, n, s.Text())
		}
		truth[uint32(thread)] = append(truth[uint32(thread)], line{f[1] == "enter", f[2]})
	}
	return truth
}

var moduleLine = regexp.MustCompile(`^0x([0-9a-f]{8}|[0-9a-f]{16}) 0x([0-9a-f]{8}) ([48]) ` +
	`(-|pdb:[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}:[0-9]+|build-id:(?:[0-9a-f]{2})+) (-|0x[0-9a-f]{8}) ([^\n]+)$`)

type module struct {
	base, size uint64
	identity   string
}

func readModules(t *testing.T, path string, pointer int) map[string]module {
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	if len(lines) < 5 || lines[len(lines)-1] != "" {
		t.Fatalf("%s: %d lines", path, len(lines))
	}
	if want := "# LogParser modules file 1: base size pointer-size identity timestamp path"; lines[0] != want {
		t.Errorf("%s begins with %q, want %q", path, lines[0], want)
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000", lines[1]); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	if _, err := strconv.ParseUint(lines[2], 10, 32); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	list := map[string]module{}
	for _, l := range lines[3 : len(lines)-1] {
		m := moduleLine.FindStringSubmatch(l)
		if m == nil || m[3] != strconv.Itoa(pointer) || len(m[1]) != 2*pointer {
			t.Errorf("%s: %q", path, l)
			continue
		}
		base, _ := strconv.ParseUint(m[1], 16, 64)
		size, _ := strconv.ParseUint(m[2], 16, 64)
		name := m[6][strings.LastIndexAny(m[6], `/\`)+1:]
		list[name] = module{base, size, m[4]}
	}
	return list
}

// identityBytes returns the bytes of an identity as an image has them.
func identityBytes(t *testing.T, identity string) []byte {
	if id, ok := strings.CutPrefix(identity, "build-id:"); ok {
		b, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	f := strings.Split(identity, ":")
	if len(f) != 3 {
		t.Fatalf("identity %q", identity)
	}
	g, err := hex.DecodeString(strings.ReplaceAll(f[1], "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	age, err := strconv.ParseUint(f[2], 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	b := []byte{'R', 'S', 'D', 'S', g[3], g[2], g[1], g[0], g[5], g[4], g[7], g[6]}
	return binary.LittleEndian.AppendUint32(append(b, g[8:]...), uint32(age))
}

// checkSeen holds that functions of all kinds were recorded.
func checkSeen(t *testing.T, names map[uint64]string, exceptions bool) {
	t.Helper()
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	for _, name := range []string{"main", "app::Startup::~Startup", "app::inlinedInner", "app::twice<double>",
		"app::withLambdas::<lambda>", "shapes::scale", "shapes::(anonymous namespace)::rounded", "logtest_sum"} {
		if !seen[name] {
			t.Errorf("no record of %s", name)
		}
	}
	if seen["app::thrower"] != exceptions {
		t.Errorf("exceptions: %v, want %v", seen["app::thrower"], exceptions)
	}
}

// TestKeptLogs compares the kept logs with their truth as far as that goes
// without symbols: the same events in the same order on every thread, each
// leave with its enter's address, no address with two names.
func TestKeptLogs(t *testing.T) {
	for _, lane := range keptLanes {
		t.Run(lane.name, func(t *testing.T) {
			folder := filepath.Join(testdata, "logtest", lane.name)
			truth := readTruth(t, filepath.Join(folder, "LogDetails.truth"))
			modules := readModules(t, filepath.Join(folder, "LogDetails.bin"), lane.pointer)
			var images []module
			for _, name := range lane.images {
				m, ok := modules[name]
				if !ok {
					t.Fatalf("%s is not among the modules", name)
				}
				images = append(images, m)
				content, err := os.ReadFile(filepath.Join(folder, name))
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(m.identity, lane.identity+":") || !bytes.Contains(content, identityBytes(t, m.identity)) {
					t.Errorf("%s was recorded with identity %s, which the file kept does not have", name, m.identity)
				}
			}

			log, err := os.ReadFile(filepath.Join(folder, "LogDetails.dat"))
			if err != nil {
				t.Fatal(err)
			}
			size := 16
			if lane.pointer == 8 {
				size = 24
			}
			if len(log)%size != 0 {
				t.Fatalf("%d bytes are no whole records", len(log))
			}
			names := map[uint64]string{}
			stacks := map[uint32][]uint64{}
			next := map[uint32]int{}
			for at := 0; at < len(log); at += size {
				r := log[at : at+size]
				var address uint64
				if lane.pointer == 8 {
					address = binary.LittleEndian.Uint64(r)
				} else {
					address = uint64(binary.LittleEndian.Uint32(r))
				}
				thread := binary.LittleEndian.Uint32(r[lane.pointer:])
				flag, padding := r[lane.pointer+8], r[lane.pointer+9:]
				if flag > 1 || len(bytes.Trim(padding, "\x00")) > 0 {
					t.Fatalf("offset %d: flag %d, padding % x", at, flag, padding)
				}
				if n := next[thread]; n >= len(truth[thread]) {
					t.Fatalf("offset %d: thread %d has more records than the truth", at, thread)
				}
				want := truth[thread][next[thread]]
				next[thread]++
				if want.enter != (flag == 1) {
					t.Fatalf("offset %d: flag %d, the truth says %v", at, flag, want)
				}
				if known, ok := names[address]; ok && known != want.name {
					t.Fatalf("offset %d: address %#x is %s and %s", at, address, known, want.name)
				}
				names[address] = want.name
				s := stacks[thread]
				if want.enter {
					s = append(s, address)
				} else if len(s) == 0 || s[len(s)-1] != address {
					t.Fatalf("offset %d: the leave of %s does not carry its enter's address", at, want.name)
				} else {
					s = s[:len(s)-1]
				}
				stacks[thread] = s
				inside := false
				for _, m := range images {
					inside = inside || address >= m.base && address-m.base < m.size
				}
				if !inside {
					t.Fatalf("offset %d: address %#x lies outside the program and its library", at, address)
				}
			}
			for thread, lines := range truth {
				if next[thread] != len(lines) || len(stacks[thread]) != 0 {
					t.Errorf("thread %d: %d records of %d, %d calls open", thread, next[thread], len(lines), len(stacks[thread]))
				}
			}
			if len(truth) != 4 || len(log)/size < 1000 {
				t.Errorf("%d threads, %d records", len(truth), len(log)/size)
			}
			checkSeen(t, names, lane.exceptions)
		})
	}
}
