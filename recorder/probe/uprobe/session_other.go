//go:build !linux || (!amd64 && !arm64)

package uprobe

import (
	"logparser/calls/values"
	"logparser/recorder/probe"
)

// A Session is a set of probes in the kernel, of which this system has none.
type Session struct{}

// Start returns ErrSystem.
func Start(*probe.Plan, []values.Module, Who) (*Session, error) { return nil, ErrSystem }

// Run returns ErrSystem.
func (*Session) Run(func(h *Hit) error, func() error) error { return ErrSystem }

// Stop does nothing.
func (*Session) Stop() error { return ErrSystem }

// Lost returns 0.
func (*Session) Lost() uint64 { return 0 }

// Close does nothing.
func (*Session) Close() {}
