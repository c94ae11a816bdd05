package image

import (
	"bytes"
	"errors"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMiniDebugInfo opens the table inside a stripped file.
func TestMiniDebugInfo(t *testing.T) {
	im := openPath(t, filepath.Join(dwarfData, "gcc5-mini.so"))
	mini, err := im.MiniDebugInfo()
	if err != nil || mini == nil {
		t.Fatalf("%v, %v", mini, err)
	}
	if mini.Section(".symtab") == nil || mini.Base != im.Base || mini.Identity != im.Identity {
		t.Errorf("sections %v, base %#x, identity %v", mini.Sections, mini.Base, mini.Identity)
	}
	none, err := openPath(t, filepath.Join(dwarfData, "gcc5.so")).MiniDebugInfo()
	if none != nil || err != nil {
		t.Errorf("without: %v, %v", none, err)
	}
}

// TestXZ inflates what the xz command makes of different things.
func TestXZ(t *testing.T) {
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("xz is not installed")
	}
	random := make([]byte, 200<<10)
	rand.New(rand.NewSource(1)).Read(random)
	source, err := os.ReadFile("xz.go")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(filepath.Join(dwarfData, "gcc5.so"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty": {}, "zeros": make([]byte, 1<<20), "random": random, "source": source, "binary": binary,
		"mixed": bytes.Repeat(append(append(bytes.Clone(source), random...), binary...), 3),
	} {
		for _, args := range [][]string{
			{"-6"}, {"-0"}, {"--check=none"}, {"--check=crc32"}, {"--check=sha256"},
			{"--block-size=65536"}, {"--lzma2=preset=6,lc=0,lp=2,pb=0"}, {"--lzma2=preset=6,lc=2,lp=2,pb=4"},
		} {
			cmd := exec.Command("xz", append(args, "-c")...)
			cmd.Stdin = bytes.NewReader(data)
			packed, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			got, err := unxz(packed, len(data))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s %v: %d bytes, %v, want %d", name, args, len(got), err, len(data))
			}
			if len(data) > 0 {
				if _, err := unxz(packed, len(data)-1); err == nil {
					t.Errorf("%s %v: more than the limit was inflated", name, args)
				}
			}
			for range 4 {
				changed := bytes.Clone(packed)
				changed[rand.Intn(len(changed))] ^= byte(1 + rand.Intn(255))
				if got, err := unxz(changed, len(data)); err == nil && !bytes.Equal(got, data) && args[0] != "--check=none" {
					t.Errorf("%s %v: damage was not noticed", name, args)
				}
				unxz(packed[:rand.Intn(len(packed))], len(data))
			}
		}
	}
	if _, err := unxz([]byte("not xz at all, but long enough"), 100); !errors.Is(err, errXZ) {
		t.Errorf("not xz: %v", err)
	}
}

func FuzzXZ(f *testing.F) {
	im := openPath(f, filepath.Join(dwarfData, "gcc5-mini.so"))
	packed, err := contents(im.Section(".gnu_debugdata"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(t *testing.T, data []byte) { unxz(data, 1<<20) })
}
