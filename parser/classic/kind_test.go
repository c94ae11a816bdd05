package classic

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/parser"
)

func TestOtherKinds(t *testing.T) {
	noise := func(begin string) []byte {
		r := rand.New(rand.NewPCG(1, 2))
		b := []byte(begin)
		for len(b) < 5000 {
			b = append(b, byte(r.Uint32()))
		}
		return b
	}
	var zipped, gzipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	w, err := z.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	w.Write(noise(""))
	z.Close()
	g := gzip.NewWriter(&gzipped)
	g.Write(noise(""))
	g.Close()
	packets := bytes.Repeat([]byte("\x0a\x12\x40\x05\x50\x01\x62\x03abc\x11\x01\x02\x03\x04\x05\x06\x07\x08"), 300)
	for _, test := range []struct {
		data []byte
		want string
	}{
		{gzipped.Bytes(), "compressed (gzip): unpack it first"},
		{zipped.Bytes(), "an archive (zip): unpack it first"},
		{noise("\x28\xb5\x2f\xfd"), "compressed (zstd): unpack it first"},
		{noise("\xfd7zXZ\x00"), "compressed (xz): unpack it first"},
		{noise("BZh91AY&SY"), "compressed (bzip2): unpack it first"},
		{noise("\x01" + strings.Repeat("\x00", 256) + "ustar"), "an archive (tar): unpack it first"},
		{noise("!<arch>\n"), "a library of object files (ar)"},
		{noise("\x89PNG\r\n\x1a\n"), "a picture (PNG)"},
		{noise("PERFILE2"), "a recording of perf"},
		{noise("PAR1"), "a table (Parquet)"},
		{packets, "a saved trace (Perfetto)"},
	} {
		_, err := openBytes(test.data, nil, parser.Options{})
		if !errors.Is(err, ErrOther) || !strings.HasSuffix(err.Error(), ": "+test.want) {
			t.Errorf("%s: %v", test.want, err)
		}
		if _, err := openBytes(test.data, nil, parser.Options{RecordSize: 16}); err != nil {
			t.Errorf("%s, forced: %v", test.want, err)
		}
	}
}

// TestOtherTables opens what is no log and fits in places, as tables of other
// programs do.
func TestOtherTables(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, row := range map[string]func(i int) []uint32{
		// Length and place of each text, with the high byte in the flag's place
		// at some offset.
		"texts": func(i int) []uint32 { return []uint32{20 + r.Uint32N(50), 4000 + uint32(i)*37} },
		"cache": func(i int) []uint32 { return []uint32{0, 3000 + uint32(i)*24, 3010 + uint32(i)*24, 0x30000, 0, 0} },
		"times": func(i int) []uint32 {
			return []uint32{uint32(i) * 99991, 0x5a10 + uint32(i)>>15, 0x401000 | 5<<16, 0x55550000}
		},
		"pixels":   func(i int) []uint32 { return []uint32{0x00ffffff, 0x01fefefe, r.Uint32() >> 9} },
		"doubles":  func(i int) []uint32 { return []uint32{r.Uint32(), 0x3ff00000 | r.Uint32()>>12} },
		"few fits": func(i int) []uint32 { return []uint32{r.Uint32(), r.Uint32(), uint32(i), uint32(i/100%9) / 8} },
	} {
		data := []byte("head")
		for i := range 3000 {
			for _, v := range row(i) {
				data = binary.LittleEndian.AppendUint32(data, v)
			}
		}
		if l, err := openBytes(data, nil, parser.Options{}); !errors.Is(err, ErrNotLog) {
			why := ""
			if err == nil {
				why = l.Info().Why.String()
			}
			t.Errorf("%s: %v %s", name, err, why)
		}
	}
}

// TestDamagedBeginning expects the records behind a beginning that is noise, and
// before damage, of logs that have no modules file.
func TestDamagedBeginning(t *testing.T) {
	if testing.Short() {
		t.Skip("many damaged logs")
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, size := range []int{Size32, Size64} {
		for _, records := range []int64{100, 3000, 40_000} {
			log, _ := generate(t, classictest.Spec{Records: records, RecordSize: size, Threads: 3, Seed: 7})
			damage := func(from, to int) []byte {
				b := bytes.Clone(log)
				for i := from; i < to; i++ {
					b[i] = byte(r.Uint32())
				}
				return b
			}
			behind := func(b []byte, part float64) {
				t.Helper()
				name := fmt.Sprintf("%d-byte records, %d, %g damaged, %d bytes", size, records, part, len(b))
				l, err := openBytes(b, nil, parser.Options{})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				if info := l.Info(); info.RecordSize != size || float64(info.Size-info.DamageBytes) < (1-part)*0.9*float64(info.Size)-float64(size) {
					t.Errorf("%s: %s, %d bytes damaged", name, info.Why, info.DamageBytes)
				}
			}
			for _, part := range []float64{0.02, 0.1, 0.3, 0.5, 0.75} {
				if records == 100 && part > 0.5 {
					continue // too little is left to find the step by
				}
				n := int(part * float64(len(log)))
				behind(damage(0, n), part)
				behind(damage(0, n)[5:], part)
				behind(damage(len(log)-n, len(log)), part)
			}
			// The first records of a file that was reserved, or overwritten.
			for _, n := range []int{8 * size, 16 * size, 40 * size} {
				if l, err := openBytes(append(bytes.Clone(log[:n]), make([]byte, 1<<18)...), nil, parser.Options{}); err != nil || l.Info().Records != int64(n/size) {
					t.Errorf("%d bytes and zeros: %v", n, err)
				}
				if l, err := openBytes(damage(n, len(log)), nil, parser.Options{}); err != nil || l.Info().RecordSize != size {
					t.Errorf("%d of %d bytes: %v", n, len(log), err)
				}
			}
		}
		// A recursion without end has nothing but enters.
		var deep []byte
		for i := range 10_000 {
			deep = classictest.AppendRecord(deep, size, 0x401000, 7, 5000+uint32(i/900), 1, 0)
		}
		if l, err := openBytes(deep, nil, parser.Options{}); err != nil || l.Info().RecordSize != size {
			t.Errorf("only enters: %v", err)
		}
	}
}
