package symtest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// MaxBeyond is how many bytes a reader may allocate beyond its file's size,
// whatever is in the file. What is inflated to temporary files does not count.
const MaxBeyond = 64 << 20

// maxTime is how long a small file may take, whatever is in it, on a machine
// that has other work.
const maxTime = 20 * time.Second

// Allocated returns how many bytes f allocates, freed ones included, which is
// a bound for what it holds at any time. Nothing else may run meanwhile.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Limited calls f, which reads a file of size bytes, and fails the test where
// it allocates more than [MaxBeyond] beyond that, or takes too long.
func Limited(t testing.TB, what string, size int, f func()) {
	t.Helper()
	begin := time.Now()
	if used := Allocated(f); used > uint64(size)+MaxBeyond {
		t.Errorf("%s: %d bytes allocated for a file of %d", what, used, size)
	}
	if d := time.Since(begin); d > maxTime {
		t.Errorf("%s: took %v", what, d)
	}
}

// Rounds is how often a random test runs: the environment variable
// LOGPARSER_SOAK, or few.
func Rounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("LOGPARSER_SOAK")); err == nil {
		return n
	}
	return few
}

// Hostile damages a file in one way after the other (changed bytes, words that
// break readers, missing ends, repeated parts) and calls exercise with each,
// within the limits of [Limited].
func Hostile(t testing.TB, name string, file []byte, rounds int, exercise func(data []byte)) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(len(file))))
	for round := range rounds {
		data := Damage(r, file, round)
		Limited(t, name+", round "+strconv.Itoa(round), len(data), func() { exercise(data) })
		if t.Failed() {
			return
		}
	}
}

// Damage returns a damaged copy of a file that is not empty; the round says
// how it is damaged.
func Damage(r *rand.Rand, file []byte, round int) []byte {
	data := bytes.Clone(file)
	switch round % 4 {
	case 0:
		for range 16 {
			data[r.IntN(len(data))] = byte(r.Uint32())
		}
	case 1:
		extreme := []uint32{0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, uint32(len(data)), r.Uint32()}
		for range 4 {
			v := extreme[r.IntN(len(extreme))]
			at := r.IntN(len(data)) &^ 3
			for i := 0; i < 4 && at+i < len(data); i++ {
				data[at+i] = byte(v >> (8 * i))
			}
		}
	case 2:
		data = data[:r.IntN(len(data))]
	case 3:
		from, to := r.IntN(len(data)), r.IntN(len(data))
		copy(data[to:], file[from:])
	}
	return data
}
