package store

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestNetworkMounts(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	share := filepath.Join(dir, "share")
	table := mounts()
	table[share] = "nfs4"
	defer delete(table, share)
	for _, path := range []string{share, filepath.Join(share, "app")} {
		if _, err := CheckRecorded(path); !errors.Is(err, ErrRefused) {
			t.Errorf("%s on an nfs mount: got %v, want refused", path, err)
		}
	}
}
