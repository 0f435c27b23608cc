// Package durable makes files and names survive a power cut.
//
// It owns the calls to the operating system, and no format and no name. The invariant: what Sync returned for without an error is on
// the disk.
package durable

import (
	"errors"
	"os"
)

// Sync waits until a file is on the disk; of a folder, the names in it.
func Sync(paths ...string) error {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err //nolint:wrapcheck // it names the file
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	return nil
}
