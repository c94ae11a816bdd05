//go:build unix && !linux

package wholefile

const searchOnly = 0
