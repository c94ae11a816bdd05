package store

import (
	"golang.org/x/sys/windows"

	"logparser/message"
)

// checkVolume refuses drive letters that stand for a network share.
func checkVolume(root string) error {
	p, err := windows.UTF16PtrFromString(root)
	if err != nil {
		return err
	}
	switch windows.GetDriveType(p) {
	case windows.DRIVE_REMOTE:
		return message.Wrap(nil, "it lies on a network drive")
	case windows.DRIVE_NO_ROOT_DIR:
		return message.Wrap(nil, "its drive does not exist")
	}
	return nil
}

func checkMount(string) error { return nil }
