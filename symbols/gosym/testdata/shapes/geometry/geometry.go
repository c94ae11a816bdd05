// Package geometry gives the program something to inline across packages.
package geometry

// A Shape has an area.
type Shape interface{ Area() int }

// A Square is its side.
type Square struct{ Side int }

// Area is inlined where the type is known.
func (s Square) Area() int { return multiply(s.Side, s.Side) }

// Grow is called through a method value.
//
//go:noinline
func (s *Square) Grow(by int) { s.Side += by }

func multiply(a, b int) int {
	if a < 0 {
		return -a * b
	}
	return a * b
}
