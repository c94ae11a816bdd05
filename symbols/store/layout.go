package store

import (
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"logparser/modules"
)

// A layout is how symbol stores arrange files: by a key in the path rather
// than flat. All keys are made from identities, so that a file found by one
// is mostly the right one; it is verified all the same.

// imageKeys returns the paths, below a store's root, of a module's image.
func imageKeys(name string, id modules.Identity) []string {
	if !plainName(name) {
		return nil
	}
	var keys []string
	if id.Timestamp != 0 && id.ImageSize != 0 {
		// SymSrv: the timestamp in upper case, the size in lower case.
		keys = append(keys, path.Join(name, fmt.Sprintf("%08X%x", id.Timestamp, id.ImageSize), name))
	}
	if id.BuildID != "" {
		// SSQP, the key convention of .NET's symbol server.
		keys = append(keys, path.Join(name, "elf-buildid-"+hex.EncodeToString([]byte(id.BuildID)), name))
	}
	return keys
}

// symbolKeys returns the paths, below a store's root, of a module's symbol
// files; names are the base names that they may have.
func symbolKeys(names []string, id modules.Identity) []string {
	var keys []string
	if !id.PDB.IsZero() {
		key := fmt.Sprintf("%s%X", id.PDB.Key(), id.Age)
		for _, name := range names {
			if !plainName(name) || !strings.HasSuffix(strings.ToLower(name), ".pdb") {
				continue
			}
			keys = append(keys, path.Join(name, key, name),
				// Breakpad writes the age in lower case.
				path.Join(name, fmt.Sprintf("%s%x", id.PDB.Key(), id.Age), name[:len(name)-4]+".sym"))
		}
	}
	if id.BuildID != "" {
		digits := hex.EncodeToString([]byte(id.BuildID))
		if len(digits) > 2 {
			file := path.Join(digits[:2], digits[2:]+".debug")
			keys = append(keys, path.Join(".build-id", file), file)
		}
		keys = append(keys, path.Join("_.debug", "elf-buildid-sym-"+digits, "_.debug"))
		// Breakpad takes the first 16 bytes for a GUID, of age 0.
		var guid modules.GUID
		copy(guid[:], id.BuildID)
		for _, name := range names {
			if image, ok := strings.CutSuffix(name, ".sym"); ok && plainName(image) {
				keys = append(keys, path.Join(image, guid.Key()+"0", name))
			}
		}
	}
	return keys
}

// twoTier returns the path of a key in a SymSrv store of two tiers, whose
// first folders are the first two characters of the files' names.
func twoTier(key string) string {
	if len(key) < 2 || key[:2] == ".." {
		return key // a name like "...pdb" must not lead out of the store
	}
	return path.Join(strings.ToLower(key[:2]), key)
}

// compressed returns the path of a key where SymSrv keeps the file in a
// cabinet: the last letter is an underscore.
func compressed(key string) string { return key[:len(key)-1] + "_" }

// plainName reports whether a name out of a file can be one element of a
// path below a store.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, `/\:*?"<>|`+"\x00") &&
		!isDosDevice(name)
}
