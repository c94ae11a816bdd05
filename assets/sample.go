package assets

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"

	"logparser/message"
	"logparser/wholefile"
)

// sample is a small log with its modules file and symbols.
//
//go:embed sample
var sample embed.FS

// ExtractSample writes the sample log and what belongs to it into the user's
// cache folder, where the log can be opened like any other, and returns the
// folder. Files that are there already and right are left alone.
func ExtractSample() (string, error) {
	cache, err := wholefile.CacheFolder()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "sample")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	err = fs.WalkDir(sample, "sample", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := sample.ReadFile(name)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, d.Name())
		if have, err := os.ReadFile(target); err == nil && string(have) == string(content) {
			return nil
		}
		return wholefile.Make(target, 0o644, func(f *wholefile.File) error {
			_, err := f.Write(content)
			return err
		})
	})
	if err != nil {
		return "", message.Errorf("the sample log: %w", err)
	}
	return dir, nil
}
