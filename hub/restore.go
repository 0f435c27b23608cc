package hub

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/berth-project/berth/hub/embed"
	"github.com/berth-project/berth/hub/internal/backup"
	"github.com/berth-project/berth/hub/internal/datadir"
)

var errNoSnapshot = errors.New("it has no snapshot of etcd")

// Restore describes the restore of a backup.
type Restore struct {
	// Path is the backup. KeyFile has the private key of an encrypted one, and is empty otherwise.
	Path, KeyFile string
	// DataDir is the folder to create. It may exist if it is empty.
	DataDir string
}

// Run creates the data folder of a hub, which runs nowhere yet. Either the folder is complete or nothing is left of it.
func (r Restore) Run() (backup.Manifest, error) {
	dir, err := filepath.Abs(r.DataDir)
	if err != nil {
		return backup.Manifest{}, fmt.Errorf("resolving data folder %q: %w", r.DataDir, err)
	}
	target, err := datadir.Restore(dir)
	if err != nil {
		return backup.Manifest{}, err
	}
	manifest, err := r.fill(target)
	if err != nil {
		return backup.Manifest{}, errors.Join(err, target.Discard())
	}
	return manifest, target.Complete()
}

// fill stores the content of the data folder.
func (r Restore) fill(target *datadir.Restoring) (manifest backup.Manifest, err error) {
	accept := func(read backup.Manifest) error {
		manifest = read
		return acceptBackup(read)
	}
	err = backup.ReadFile(r.Path, r.KeyFile, accept, func(file backup.File, content io.Reader) error {
		return store(target.Path(filepath.FromSlash(file.Name)), content)
	})
	if err != nil {
		return manifest, err
	}
	snapshot := target.Path(snapshotName)
	if err := checkSnapshot(snapshot, manifest); err != nil {
		return manifest, fmt.Errorf("reading the backup %s: %w", r.Path, err)
	}
	if err := embed.RestoreSnapshot(snapshot, target.Path(datadir.EtcdFolder)); err != nil {
		return manifest, err
	}
	if err := os.Remove(snapshot); err != nil {
		return manifest, fmt.Errorf("removing the snapshot: %w", err)
	}
	return manifest, target.StoreVersion(manifest.Kubernetes)
}

// VerifyBackup reads a whole backup, without restoring it. It does not open the database in it.
func VerifyBackup(path, keyFile string) (manifest backup.Manifest, err error) {
	err = backup.ReadFile(path, keyFile, func(read backup.Manifest) error {
		manifest = read
		return acceptBackup(read)
	}, nil)
	return manifest, err
}

// acceptBackup returns an error for a backup that this release cannot restore.
func acceptBackup(manifest backup.Manifest) error {
	found := false
	for _, file := range manifest.Files {
		found = found || file.Name == snapshotName
		if file.Name != snapshotName && !datadir.IsKept(file.Name) {
			return fmt.Errorf("it has the file %q, which this release does not know: use the release of Berth that wrote it (%s)", file.Name,
				manifest.Berth)
		}
	}
	if !found {
		return errNoSnapshot
	}
	linked := embed.LinkedVersions().Kubernetes
	own, err := version.ParseSemantic(linked)
	if err != nil {
		return nil //nolint:nilerr // a build without versions
	}
	written, err := version.ParseSemantic(manifest.Kubernetes)
	if err != nil {
		return fmt.Errorf("its version of Kubernetes is %q: %w", manifest.Kubernetes, err)
	}
	if written.Major() != own.Major() || written.Minor() > own.Minor() {
		return fmt.Errorf("its version of Kubernetes is %s, which is newer than the %s of this release: use the release of Berth that "+
			"wrote it (%s), or a later one",
			manifest.Kubernetes, linked, manifest.Berth)
	}
	return nil
}

func checkSnapshot(path string, manifest backup.Manifest) error {
	revision, err := embed.CheckSnapshot(path)
	if err != nil {
		return err
	}
	if revision != manifest.Revision {
		return fmt.Errorf("its snapshot ends with revision %d, and its manifest names %d", revision, manifest.Revision)
	}
	return nil
}

// store writes a new file, which is durable before the folder is complete.
func store(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("creating a file: %w", err)
	}
	_, err = io.Copy(file, content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}
	return nil
}
