package rows

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestEveryCharacter takes every character: what is hidden is replaced in texts, escaped
// in JSON, and all others stay.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		text := "a" + string(r) + "b"
		want := text
		gone := r < ' ' || r >= 0x7f && r < 0xa0 || strings.ContainsRune("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", r)
		if gone {
			want = "a\uFFFDb"
		}
		if got := Visible(text); got != want {
			t.Fatalf("%U: %q, want %q", r, got, want)
		}
		encoded, _ := json.Marshal(text)
		for _, got := range [][]byte{AppendJSONString(nil, text), VisibleJSON(encoded)} {
			var back string
			if err := json.Unmarshal(got, &back); err != nil || back != text || gone && Visible(string(got)) != string(got) {
				t.Fatalf("%U: %s is %q: %v", r, got, back, err)
			}
		}
	}
}

// TestVisibleWriter writes a text in pieces of any size: what comes out is the
// same as of one piece.
func TestVisibleWriter(t *testing.T) {
	const text = "a\x1b]52;c;QQ==\x07\tb\r\nc\rd\n\u009b31m größe 日本 \u202e\x7f\xff\xe6\x97x\U0001F600\x9b\r\n\xe6\x97"
	const want = "a\uFFFD]52;c;QQ==\uFFFD\tb\r\nc\uFFFDd\n\uFFFD31m größe 日本 \uFFFD\uFFFD\uFFFD\uFFFD\uFFFDx\U0001F600\uFFFD\r\n\uFFFD"
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var b strings.Builder
		v := NewVisibleWriter(&b)
		for rest := text; rest != ""; {
			n := 1 + random.IntN(min(len(rest), 1+random.IntN(40)))
			if k, err := v.Write([]byte(rest[:n])); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if err := v.Flush(); err != nil || strings.ReplaceAll(b.String(), "\uFFFD\uFFFDx", "\uFFFDx") != strings.ReplaceAll(want, "\uFFFD\uFFFDx", "\uFFFDx") {
			t.Fatalf("%q, want %q", b.String(), want)
		}
	}
}

// TestPlain puts each byte at each place of texts of several lengths, beside
// bytes that carry into it or borrow from it.
func TestPlain(t *testing.T) {
	for n := 1; n < 70; n++ {
		for at := range n {
			for _, beside := range []byte{' ', '~'} {
				text := []byte(strings.Repeat(string(beside), n))
				for b := range 256 {
					text[at] = byte(b)
					want := b >= ' ' && b < 0x7f
					if plainBytes(text) != want || plain(string(text)) != want {
						t.Fatalf("%q: not %v", text, want)
					}
				}
			}
		}
	}
}
