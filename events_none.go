//go:build !cgo || ci

package main

import "time"

// Without glfw nobody can wait for an event.
var (
	waitForEvents func(most time.Duration)
	wakeUp        func()
)
