package attached

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
)

// packedFile returns a container of one file.
func packedFile(t testing.TB, data []byte) []byte {
	t.Helper()
	spool, err := NewSpool()
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	part, err := spool.Add(context.Background(), bytes.NewReader(data), int64(len(data)), File{Name: "LogDetails.dat", Role: RoleLog, Log: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, []Part{part}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFiles(t *testing.T) {
	random := make([]byte, 5<<20+17)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(r.Uint32() >> 28)
	}
	for name, data := range map[string][]byte{"empty": nil, "short": []byte("short"), "one block": random[:maxBlock], "random": random, "zeros": make([]byte, 3<<20)} {
		stored := packedFile(t, data)
		c, err := OpenContainer(bytes.NewReader(stored), int64(len(stored)))
		if err != nil {
			t.Fatal(err)
		}
		files, err := c.Files()
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v, %v", name, files, err)
		}
		f := files[0]
		if f.Name != "LogDetails.dat" || f.Role != RoleLog || f.Log != 3 || f.Size != int64(len(data)) {
			t.Errorf("%s: %+v", name, f)
		}
		var b bytes.Buffer
		if _, err := f.WriteTo(&b); err != nil || !bytes.Equal(b.Bytes(), data) {
			t.Errorf("%s: %d bytes, %v", name, b.Len(), err)
		}
	}
}

func TestFileThatShrinks(t *testing.T) {
	spool, err := NewSpool()
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	if _, err := spool.Add(context.Background(), bytes.NewReader(make([]byte, 100)), 200, File{}, nil); err == nil {
		t.Error("a file that has become shorter was packed")
	}
}
