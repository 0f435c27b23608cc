// Package boltcheck reads through a bolt database before etcd does.
//
// It owns the check and knows nothing of etcd. It exists because etcd opens its
// database in goroutines of its own, where a damaged page panics, or faults when
// the file was cut short, beyond anybody's reach. The invariant: whatever is in
// the file, a caller gets an error or nil, never a panic.
package boltcheck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// lockWait is how long another reader of the database is waited for.
const lockWait = 5 * time.Second

// Readable returns an error that tells what is wrong with the database at path,
// and nil for one that does not exist yet.
func Readable(path string) (err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finding database %s: %w", path, err)
	}
	if info.Size() == 0 { // killed while creating it; etcd starts over
		return nil
	}
	// A page beyond the end of a truncated file faults; make that a panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("reading database %s: damaged: %v", path, r)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: lockWait})
	if err != nil {
		return fmt.Errorf("opening database %s: %w", path, err)
	}
	walk := db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, bucket *bolt.Bucket) error {
			return bucket.ForEach(func(_, _ []byte) error { return nil })
		})
	})
	if err := errors.Join(walk, db.Close()); err != nil {
		return fmt.Errorf("reading database %s: %w", path, err)
	}
	return nil
}
