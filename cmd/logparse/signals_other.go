//go:build !unix

package main

// ignoreBrokenPipes has nothing to do: writing to a pipe without a reader is an
// error here.
func ignoreBrokenPipes() {}

// endBy has nothing to do: no signal ends a program here.
func endBy(int) {}
