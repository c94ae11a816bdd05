//go:build !linux && !windows

package store

func checkVolume(string) error { return nil }

func checkMount(string) error { return nil }
