package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestColumns chooses the columns of tables: what show prints and save writes is the same.
func TestColumns(t *testing.T) {
	const chosen = "index,self,thread_name,function,site"
	for _, log := range []string{sampleDir, markedTrace(t)} {
		for _, format := range []string{"csv", "jsonl", "txt", "html", "parquet"} {
			code, printed, errs := logparse("show", log, "--format", format, "--columns", chosen)
			if code != exitOK || printed == "" {
				t.Fatalf("%s of %s: status %d, %s", format, log, code, errs)
			}
			path := filepath.Join(t.TempDir(), "file")
			if code, _, errs := logparse("save", log, "-o", path, "--format", format, "--columns", chosen); code != exitOK {
				t.Fatalf("%s of %s: status %d, %s", format, log, code, errs)
			}
			if saved, err := os.ReadFile(path); err != nil || !bytes.Equal(saved, []byte(printed)) {
				t.Errorf("%s of %s: what is saved is not what is shown; %v", format, log, err)
			}
			// It is known as such a file, and replaced without force.
			if code, _, errs := logparse("save", log, "-o", path, "--format", format); code != exitOK {
				t.Errorf("%s of %s is not replaced: %s", format, log, errs)
			}
		}
		_, printed, _ := logparse("show", log, "--format", "csv", "--columns", "duration_us,SELF,depth")
		records, err := csv.NewReader(strings.NewReader(printed)).ReadAll()
		if err != nil || !slices.Equal(records[0], []string{"duration_us", "self_us", "depth"}) {
			t.Fatalf("%s: %v, %v", log, records[0], err)
		}
		for _, r := range records[1:] {
			if (r[0] == "") != (r[1] == "") {
				t.Errorf("%s: a duration of %q has a self time of %q", log, r[0], r[1])
			}
		}
	}
}
