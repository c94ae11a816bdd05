package store

import (
	"bufio"
	"os"
	"strings"
	"sync"

	"logparser/message"
)

func checkVolume(string) error { return nil }

// mounts returns the mount points and file system types of this process. They
// are read once: a mount that comes later is one that the user made.
var mounts = sync.OnceValue(func() map[string]string {
	m := make(map[string]string)
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return m
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		// id parent major:minor root mount-point options … - type source …
		fields := strings.Fields(s.Text())
		for i := 6; i+1 < len(fields); i++ {
			if fields[i] == "-" {
				m[unescapeMount(fields[4])] = fields[i+1]
				break
			}
		}
	}
	return m
})

// unescapeMount undoes the octal escapes of mountinfo.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// checkMount refuses a path at which a network file system is mounted. Callers
// ask it for every element on the way, from the root on.
func checkMount(path string) error {
	kind := mounts()[path]
	switch {
	case strings.HasPrefix(kind, "nfs"), strings.HasPrefix(kind, "cifs"), strings.HasPrefix(kind, "smb"),
		kind == "autofs", kind == "ceph", kind == "afs", kind == "ncpfs", kind == "davfs",
		strings.HasPrefix(kind, "fuse.sshfs"), strings.HasPrefix(kind, "fuse.rclone"),
		strings.HasPrefix(kind, "fuse.gvfsd"), strings.HasPrefix(kind, "fuse.davfs"):
		return message.Wrap(nil, "it lies on a network file system (%s)", kind)
	}
	return nil
}
