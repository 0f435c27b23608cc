package embed

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
)

const (
	// revisionBump is how far a restore moves the revision on. It is more than a hub writes between a backup and the restore, so
	// that no client has seen a later revision.
	revisionBump = 1_000_000_000
	// openTimeout is how long to wait for the lock of a database that another process has open.
	openTimeout = time.Second
	// sectorBytes divides the size of every database. A snapshot is longer by its hash.
	sectorBytes = 512
)

var (
	errNoHash    = errors.New("its end is missing")
	errWrongHash = errors.New("its hash is wrong")
)

// CheckSnapshot verifies the hash of a snapshot, reads the whole database in it, and returns its revision.
func CheckSnapshot(path string) (revision int64, err error) {
	if err := checkHash(path); err != nil {
		return 0, fmt.Errorf("checking the snapshot of etcd: %w", err)
	}
	revision, err = readDatabase(path)
	if err != nil {
		return 0, fmt.Errorf("checking the snapshot of etcd: %w", err)
	}
	return revision, nil
}

// RestoreSnapshot creates the data folder of etcd from a snapshot that was checked. Its revision is far after that of the snapshot,
// and all earlier revisions are compacted. So a client that has seen later writes than the snapshot has lists everything again;
// otherwise it would wait until the new revisions reach the old ones.
func RestoreSnapshot(path, dir string) error {
	config := EtcdOptions{Dir: dir}.config()
	peers := make([]string, 0, len(config.AdvertisePeerUrls))
	for i := range config.AdvertisePeerUrls {
		peers = append(peers, config.AdvertisePeerUrls[i].String())
	}
	err := recovered(func() error {
		return snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
			SnapshotPath: path, OutputDataDir: dir,
			Name: config.Name, PeerURLs: peers, InitialCluster: config.InitialCluster, InitialClusterToken: config.InitialClusterToken,
			RevisionBump: revisionBump, MarkCompacted: true,
		})
	})
	if err != nil {
		return fmt.Errorf("restoring the snapshot of etcd: %w", err)
	}
	return nil
}

// checkHash verifies the hash at the end of a snapshot.
func checkHash(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // the caller wraps it
	}
	defer file.Close() //nolint:errcheck // it is only read
	info, err := file.Stat()
	if err != nil {
		return err //nolint:wrapcheck // the caller wraps it
	}
	size := info.Size() - sha256.Size
	if size <= 0 || size%sectorBytes != 0 {
		return errNoHash
	}
	hash, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.CopyN(hash, file, size); err != nil {
		return err //nolint:wrapcheck // the caller wraps it
	}
	if _, err := io.ReadFull(file, want); err != nil {
		return err //nolint:wrapcheck // the caller wraps it
	}
	if !bytes.Equal(hash.Sum(nil), want) {
		return errWrongHash
	}
	return nil
}

// checkData reads the database in the folder of a stopped etcd. etcd panics on a damaged one in goroutines that no caller can
// recover. A folder without a database is fine.
func checkData(dir string) error {
	path := filepath.Join(dir, "member", "snap", "db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := readDatabase(path)
	return err
}

// readDatabase reads every value of a database without changing it, and returns the last revision. An error about its content wraps
// errDamaged. Every error names the file.
func readDatabase(path string) (revision int64, err error) {
	db, err := openDatabase(path)
	if err != nil {
		return 0, err
	}
	defer db.Close() //nolint:errcheck // it is only read
	info, err := os.Stat(path)
	if err != nil {
		return 0, err //nolint:wrapcheck // it names the file
	}
	err = recovered(func() error {
		return db.View(func(tx *bolt.Tx) error {
			if tx.Size() > info.Size() {
				return fmt.Errorf("it has %d bytes of %d", info.Size(), tx.Size())
			}
			return tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
				last, err := readBucket(bucket, bytes.Equal(name, schema.Key.Name()))
				revision = max(revision, last)
				return err
			})
		})
	})
	if err != nil {
		return 0, fmt.Errorf("the database %s is %w: %w", path, errDamaged, err)
	}
	return revision, nil
}

// openDatabase opens a database to read it. An error of the operating system is no damage.
func openDatabase(path string) (db *bolt.DB, err error) {
	err = recovered(func() error {
		db, err = bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: openTimeout})
		return err
	})
	var system *fs.PathError
	switch {
	case errors.As(err, &system):
		return nil, fmt.Errorf("opening the database: %w", err)
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("opening the database %s, which another process uses: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("the database %s is %w: %w", path, errDamaged, err)
	}
	return db, nil
}

// readBucket reads every byte of a bucket. Where its keys are revisions, it returns the last one.
func readBucket(bucket *bolt.Bucket, revisions bool) (last int64, err error) {
	table := crc32.MakeTable(crc32.Castagnoli)
	err = bucket.ForEach(func(key, value []byte) error {
		_ = crc32.Update(crc32.Checksum(key, table), table, value) // reads the pages
		if revisions {
			last = mvcc.BytesToRev(key).Main // panics on another key
		}
		return nil
	})
	return last, err
}

// recovered returns a panic, or a fault in a mapped file, as an error.
func recovered(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return do()
}
