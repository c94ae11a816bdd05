package wholefile

import "golang.org/x/sys/unix"

// searchOnly opens folders that may be gone through, and not read.
const searchOnly = unix.O_PATH
