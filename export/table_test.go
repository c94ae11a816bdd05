package export

import (
	"strings"
	"testing"
)

func TestWriteTable(t *testing.T) {
	list := [][]string{{"a,b", "1", ""}, {"=f()", `"`, "x"}}
	var b strings.Builder
	if err := WriteTable(&b, Options{BOM: true, CRLF: true}, []string{"function", "calls", "module"}, len(list), func(i int) []string { return list[i] }); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "\uFEFFfunction,calls,module\r\n\"a,b\",1,\r\n'=f(),\"\"\"\",x\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
