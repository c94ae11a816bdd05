package inflate

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// compressed returns a zlib stream of b.
func compressed(t testing.TB, b []byte, level int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zlib.NewWriterLevel(&out, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// contents are bytes of many kinds.
func contents() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 700<<10)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	few := make([]byte, 500<<10)
	for i := range few {
		few[i] = "aaaabbc\x00"[r.IntN(8)]
	}
	// Frequencies that fall by half make codes of 15 bits.
	skewed := make([]byte, 400<<10)
	for i := range skewed {
		n := 0
		for n < 40 && r.IntN(2) == 0 {
			n++
		}
		skewed[i] = byte(n * 5)
	}
	repeats := make([]byte, 0, 900<<10)
	for len(repeats) < 800<<10 {
		if len(repeats) < 10 || r.IntN(3) == 0 {
			for range r.IntN(20) {
				repeats = append(repeats, byte(r.IntN(256)))
			}
			continue
		}
		distance := 1 + r.IntN(min(len(repeats), 1<<r.IntN(16)))
		for range 1 + r.IntN(400) {
			repeats = append(repeats, repeats[len(repeats)-distance])
		}
	}
	text, err := os.ReadFile("inflate.go")
	if err != nil {
		panic(err)
	}
	return map[string][]byte{
		"nothing": nil, "a byte": {7}, "zeros": make([]byte, 1<<20), "random": random, "few letters": few,
		"skewed": skewed, "repeats": repeats, "text": bytes.Repeat(text, 20),
	}
}

func TestRoundTrip(t *testing.T) {
	for name, want := range contents() {
		for _, level := range []int{zlib.HuffmanOnly, zlib.NoCompression, 1, 6, 9} {
			t.Run(fmt.Sprint(name, " ", level), func(t *testing.T) {
				got, err := io.ReadAll(NewReader(bytes.NewReader(compressed(t, want, level))))
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes, want %d; %v", len(got), len(want), err)
				}
			})
		}
	}
}

// same reads a stream with this package and with compress/zlib.
func same(t *testing.T, stream []byte) {
	t.Helper()
	got, err := io.ReadAll(NewReader(bytes.NewReader(stream)))
	var want []byte
	r, wantErr := zlib.NewReader(bytes.NewReader(stream))
	if wantErr == nil {
		want, wantErr = io.ReadAll(r)
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%v, zlib says %v", err, wantErr)
	}
	if err != nil && !errors.Is(err, ErrDamaged) && err != io.ErrUnexpectedEOF {
		t.Fatalf("an error of another kind: %v", err)
	}
	// compress/zlib gives no symbol that has fewer bits behind it than the end of
	// the block takes.
	if more := len(got) - len(want); !bytes.HasPrefix(got, want) || more > 0 && (err != io.ErrUnexpectedEOF || more > maxCode*maxMatch) {
		t.Fatalf("%d bytes (%v), zlib makes %d (%v)", len(got), err, len(want), wantErr)
	}
}

// TestDamaged cuts streams at each of many places and changes bytes: what
// compress/zlib makes of them, this package does.
func TestDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	times := 300
	if testing.Short() {
		times = 50
	}
	for name, content := range contents() {
		content = content[:min(len(content), 20<<10)]
		for _, level := range []int{0, 1, 9} {
			t.Run(fmt.Sprint(name, " ", level), func(t *testing.T) {
				stream := compressed(t, content, level)
				for n := range len(stream) {
					if n < 50 || n > len(stream)-50 || n%97 == 0 {
						same(t, stream[:n])
					}
				}
				for range times {
					b := bytes.Clone(stream)
					for range 1 + r.IntN(3) {
						at := r.IntN(len(b))
						if r.IntN(2) == 0 {
							at = r.IntN(min(len(b), 100))
						}
						b[at] ^= byte(1 << r.IntN(8))
					}
					same(t, b)
				}
			})
		}
	}
}

// TestPieces hands over input in pieces and asks for output in pieces.
func TestPieces(t *testing.T) {
	for name, want := range contents() {
		want = want[:min(len(want), 50<<10)]
		stream := compressed(t, want, 6)
		for kind, r := range map[string]io.Reader{
			"a byte at a time":     iotest.OneByteReader(bytes.NewReader(stream)),
			"half":                 iotest.HalfReader(bytes.NewReader(stream)),
			"the end with bytes":   iotest.DataErrReader(bytes.NewReader(stream)),
			"with something after": io.MultiReader(bytes.NewReader(stream), strings.NewReader("anything")),
		} {
			if got, err := io.ReadAll(iotest.OneByteReader(NewReader(r))); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %s: %d bytes, want %d; %v", name, kind, len(got), len(want), err)
			}
		}
	}
}

// TestReadError gives the error of the input on.
func TestReadError(t *testing.T) {
	stream := compressed(t, contents()["text"], 6)
	for _, n := range []int{0, 1, 2, 10, 1000, len(stream) - 1} {
		broken := errors.New("broken")
		_, err := io.ReadAll(NewReader(io.MultiReader(bytes.NewReader(stream[:n]), iotest.ErrReader(broken))))
		if err != broken {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	if _, err := io.ReadAll(NewReader(idle{})); err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestMemory inflates much from little.
func TestMemory(t *testing.T) {
	stream := compressed(t, make([]byte, 64<<20), 9)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := io.Copy(io.Discard, NewReader(bytes.NewReader(stream)))
	runtime.ReadMemStats(&after)
	if n != 64<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
		t.Errorf("%d bytes were allocated", taken)
	}
}

func FuzzReader(f *testing.F) {
	for _, content := range contents() {
		content = content[:min(len(content), 3000)]
		for _, level := range []int{0, 1, 9} {
			f.Add(compressed(f, content, level))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if len(stream) > 1<<20 {
			return
		}
		same(t, stream)
	})
}

func benchmark(b *testing.B, open func(r io.Reader) io.Reader) {
	for _, name := range []string{"text", "repeats", "skewed", "random"} {
		content := contents()[name]
		stream := compressed(b, content, 6)
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				if n, err := io.Copy(io.Discard, open(bytes.NewReader(stream))); err != nil || n != int64(len(content)) {
					b.Fatal(n, err)
				}
			}
		})
	}
	if path := os.Getenv("LOGPARSER_INFLATE"); path != "" {
		stream, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("file", func(b *testing.B) {
			for b.Loop() {
				n, err := io.Copy(io.Discard, open(bytes.NewReader(stream)))
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
			}
		})
	}
}

func BenchmarkReader(b *testing.B) {
	benchmark(b, func(r io.Reader) io.Reader { return NewReader(r) })
}

// BenchmarkZlib is what it is compared with.
func BenchmarkZlib(b *testing.B) {
	benchmark(b, func(r io.Reader) io.Reader {
		z, err := zlib.NewReader(r)
		if err != nil {
			b.Fatal(err)
		}
		return z
	})
}
