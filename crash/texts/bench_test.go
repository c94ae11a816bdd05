package texts

import (
	"strings"
	"testing"
)

// BenchmarkInteresting examines lines of logs that have no addresses.
func BenchmarkInteresting(b *testing.B) {
	for _, log := range []struct{ name, line string }{
		{"times within a minute", "2026-11-26 21:00:07.123 INFO  worker-3 request finished in 12 ms status=200 path=/api/items/17"},
		{"times", "2026-11-26 21:14:07.123 INFO  worker-3 request finished in 12 ms status=200 path=/api/items/17"},
	} {
		b.Run(log.name, func(b *testing.B) {
			text := []byte(strings.Repeat(log.line+"\n", 100))
			r := NewReader()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for rest := text; len(rest) > 0; rest = rest[len(log.line)+1:] {
					if line := rest[:len(log.line)]; Interesting(line) && len(r.Line(string(line))) > 0 {
						b.Fatal("it has an address")
					}
				}
			}
		})
	}
}
