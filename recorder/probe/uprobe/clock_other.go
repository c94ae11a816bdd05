//go:build !linux

package uprobe

func now() (mono uint64, wall int64) { return 0, 0 }
