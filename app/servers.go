package app

import (
	"os"
	"path/filepath"
	"slices"

	"logparser/symbols/store"
	"logparser/wholefile"
)

// symbolCache returns the folder for what symbol servers give, "" where the
// system has none.
func (in *Inputs) symbolCache() string {
	if in.SymbolCache != "" {
		return in.SymbolCache
	}
	dir, err := wholefile.CacheFolder()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "symbols")
}

// DefaultSymbolCache returns the folder for what symbol servers give where
// [Inputs].SymbolCache names none, "" where the system has none.
func DefaultSymbolCache() string { return (&Inputs{}).symbolCache() }

// Servers returns the symbol servers that a search path and the environment
// name: those that [Inputs].Network permits asking. Nothing is asked.
func Servers(symbols []string) []string {
	return store.Servers(append(slices.Clone(symbols), store.EnvironmentPath(os.Getenv)...))
}

// ForgetMisses lets servers be asked again for what they did not have.
func ForgetMisses(in Inputs) error {
	path := append(slices.Clone(in.Symbols), store.EnvironmentPath(os.Getenv)...)
	return store.ForgetMisses(path, in.symbolCache())
}
