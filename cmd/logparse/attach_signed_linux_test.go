package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttachThenSign has osslsigncode sign a program that carries its symbols: the signature holds, the symbols are found,
// and once the signature is taken off detach gives the original back.
func TestAttachThenSign(t *testing.T) {
	for _, tool := range []string{"osslsigncode", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := copyLog(t, "windows-x64-clang")
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Nobody", "-keyout", at("key.pem"), "-out", at("cert.pem"))
	sign := func(to string) {
		t.Helper()
		run("osslsigncode", "sign", "-certs", at("cert.pem"), "-key", at("key.pem"), "-in", at("logtest.exe"), "-out", at(to))
	}
	original, err := os.ReadFile(at("logtest.exe"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, "attach", at("logtest.exe"), at("logtest_shapes.dll"))
	pdb := readFile(t, at("logtest.pdb"))
	remove(t, dir, "*.pdb")
	remove(t, dir, "logtest_shapes.dll")
	sign("signed.exe")
	// The certificate is nobody's, so that only its digests can be right.
	out, _ := exec.Command("osslsigncode", "verify", "-CAfile", at("cert.pem"), "-in", at("signed.exe")).CombinedOutput()
	if text := string(out); !strings.Contains(text, "Signature verification: ok") {
		t.Errorf("the signature does not hold:\n%s", text)
	}
	if err := os.Rename(at("signed.exe"), at("logtest.exe")); err != nil {
		t.Fatal(err)
	}
	if out, _ := must(t, "symbols", dir, "--no-recorded-paths", "-v"); strings.Count(out, "  attached ") != 2 || !strings.Contains(out, "\n    signer    Nobody (not verified)\n") {
		t.Errorf("signed it carries other symbols, or another has signed it: %s", out)
	}
	if out, _ := must(t, "symbols", dir, "--no-recorded-paths", "--json"); !strings.Contains(out, `"signer":"Nobody"`) {
		t.Errorf("symbols --json: %s", out)
	}
	if err := os.WriteFile(at("logtest.pdb"), []byte(pdb), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"attach", at("logtest.exe"), at("logtest.pdb")}, {"detach", at("logtest.exe")}} {
		verb := args[0]
		if _, errs, code := command(t, args...); code != exitError || !strings.Contains(errs, "sign") {
			t.Errorf("%s of a signed file: %d, %s", verb, code, errs)
		}
	}
	run("osslsigncode", "remove-signature", "-in", at("logtest.exe"), "-out", at("unsigned.exe"))
	must(t, "detach", at("unsigned.exe"))
	if got, err := os.ReadFile(at("unsigned.exe")); err != nil || !bytes.Equal(got, original) {
		t.Errorf("what detach gives back is %d bytes, the original %d, %v", len(got), len(original), err)
	}
}
