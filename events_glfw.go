//go:build cgo && !ci

package main

import (
	"time"

	"github.com/go-gl/glfw/v3.4/glfw"
)

// waitForEvents waits for an event of the display, at most so long, and hands what came to the window. It is
// called where the drawing library calls glfw itself.
func waitForEvents(most time.Duration) { glfw.WaitEventsTimeout(most.Seconds()) }

// wakeUp ends waitForEvents. Any goroutine may call it, also when the display is gone.
func wakeUp() {
	// Without a display glfw panics, and nobody waits.
	defer func() { _ = recover() }()
	glfw.PostEmptyEvent()
}
