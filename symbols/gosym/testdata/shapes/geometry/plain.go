//go:build !go1.18
// +build !go1.18

package geometry

// Words is for releases without generic functions.
func Words(numbers []int, add func(int) int, word func(int) string) []string {
	var words []string
	for _, n := range numbers {
		words = append(words, word(add(n)))
	}
	return words
}
