package main

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	tests := []struct {
		name   string
		stream string
		want   counts
		output string // a part of the report
	}{
		{
			name: "pass, skip and fail",
			stream: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    p_test.go:7: why\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"run","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"TestC","Output":"broken\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p","Elapsed":1.5}
`,
			want:   counts{1, 1, 1},
			output: "skip    p TestB: p_test.go:7: why\nFAIL    p (1.5 s)\n        broken\nfailed  p TestC\n",
		},
		{
			name: "a parent is not counted",
			stream: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"run","Package":"p","Test":"TestA/x/1"}
{"Action":"pass","Package":"p","Test":"TestA/x/1"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"run","Package":"p","Test":"TestA/y"}
{"Action":"fail","Package":"p","Test":"TestA/y"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`,
			want: counts{1, 1, 0},
		},
		{
			name: "a parent that fails by itself is counted",
			stream: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`,
			want: counts{1, 1, 0},
		},
		{
			name: "a package that does not build",
			stream: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p/a.go:3:1: bad\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`,
			want:   counts{0, 1, 0},
			output: "p/a.go:3:1: bad",
		},
		{
			name: "a test that never ended",
			stream: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"p"}
`,
			want:   counts{0, 1, 0},
			output: "panic: test timed out",
		},
		{
			name: "a stream that is cut",
			stream: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
`,
			want:   counts{1, 1, 0},
			output: "the stream ended",
		},
		{
			name:   "no test files",
			stream: `{"Action":"start","Package":"p"}` + "\n" + `{"Action":"skip","Package":"p"}`,
			output: "none    p\n",
		},
		{
			name:   "other lines pass through",
			stream: "go: downloading example.org/m v1.0.0\n",
			output: "go: downloading example.org/m v1.0.0\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			r := newReader(&b)
			if err := r.read(strings.NewReader(tt.stream)); err != nil {
				t.Fatal(err)
			}
			if r.total != tt.want {
				t.Errorf("counted %+v, want %+v", r.total, tt.want)
			}
			if !strings.Contains(b.String(), tt.output) {
				t.Errorf("report lacks %q:\n%s", tt.output, b.String())
			}
		})
	}
}
