//go:build race

package timeline

const slower = 20
