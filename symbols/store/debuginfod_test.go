package store

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"logparser/modules"
	"logparser/symbols"
)

// TestDebuginfodProgram asks elfutils' own server, where it is installed.
func TestDebuginfodProgram(t *testing.T) {
	program, err := exec.LookPath("debuginfod")
	if err != nil || testing.Short() {
		t.Skip("debuginfod is not installed, or the tests are short")
	}
	files := t.TempDir()
	plant(t, files, "gcc5-stripped.so="+dwarfData+"gcc5-stripped.so", "gcc5.debug="+dwarfData+"gcc5.debug")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	cmd := exec.Command(program, "-F", "-p", fmt.Sprint(port), "-d", ":memory:", files)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()

	const build = "afeda5eaf1ad95a24b1d1139d14a564ed7eeaaea"
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(url + "/buildid/" + build + "/debuginfo")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Skip("debuginfod has not indexed the files within 30 s")
		}
	}
	raw, err := hex.DecodeString(build)
	if err != nil {
		t.Fatal(err)
	}
	mod := &modules.Module{Path: "/opt/app.so", Identity: modules.Identity{BuildID: string(raw)}}
	dir := t.TempDir()
	b, _, _ := run(t, dir, networked(dir, "debuginfod:"+url), mod)
	if b.Status != symbols.Matched || !strings.HasPrefix(b.Reason.String(), "DWARF 5") {
		t.Errorf("%s: %s\n%s", b.Status, b.Reason, outcomes(b))
	}
	other := &modules.Module{Path: "/opt/app.so", Identity: modules.Identity{BuildID: string(raw[:19]) + "x"}}
	if b, _, _ := run(t, dir, networked(dir, "debuginfod:"+url), other); b.Status != symbols.NotFound || !strings.Contains(outcomes(b), "not there") {
		t.Errorf("a build that it does not have: %s\n%s", b.Status, outcomes(b))
	}
}
