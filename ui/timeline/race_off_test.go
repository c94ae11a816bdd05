//go:build !race

package timeline

// slower is how much longer things may take.
const slower = 1
