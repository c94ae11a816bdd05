// Package indexcache keeps files about logs in a folder of the user: indexes, which
// package index writes and reads, and notes, which are whatever else is worth keeping of
// a log. It knows nothing of what is in them.
//
// A file is found by its [Key]. It is written beside its place, gets its name when it is
// whole, and is sealed with a key that lies in the folder, so that only what this user
// wrote is taken; see seal.go. Files that nobody used for long, and the oldest where
// there is too much, are removed.
//
// It holds that
//
//  1. a file is whole or not there (TestFullFileSystem, TestFullDisk of package index),
//  2. a file with any changed byte, or of another key or folder, is not taken (TestSeal,
//     TestNotes, and TestForgedFiles of package index),
//  3. nothing is removed but what the store wrote, and no more than needed to stay below
//     the limit (TestPrune).
package indexcache
