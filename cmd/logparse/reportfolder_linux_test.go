package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
)

// TestReportFolder holds that the folder for reports is made, and that what cannot be made is told before a program starts.
func TestReportFolder(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "app.lptrace")
	if err := os.WriteFile(log, tracetest.Crashed(tracetest.Smashed()), 0o600); err != nil {
		t.Fatal(err)
	}
	reports := filepath.Join(dir, "to", "be", "made")
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"crash", log, "--report", reports}, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("%d: %s", code, errs.String())
	}
	if path := strings.TrimSpace(out.String()); filepath.Dir(path) != reports {
		t.Errorf("the report is %q", path)
	} else if b, err := os.ReadFile(path); err != nil || len(b) == 0 {
		t.Error(err)
	}
	errs.Reset()
	marker := filepath.Join(dir, "started")
	code := run(context.Background(), []string{"record", "--report", filepath.Join(log, "below"), "/bin/touch", marker}, strings.NewReader(""), &out, &errs)
	if _, err := os.Stat(marker); code == exitOK || err == nil || !strings.Contains(errs.String(), "--report") {
		t.Errorf("%d, started %v: %s", code, err == nil, errs.String())
	}
}
