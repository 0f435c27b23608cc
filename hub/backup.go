package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/embed"
	"github.com/berth-project/berth/hub/internal/backup"
	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/internal/kube/version"
)

const (
	// snapshotName is the name of etcd's snapshot in a backup.
	snapshotName = "etcd.snapshot"
	// maxKeptBytes bounds a file that a backup holds in memory. Keys and certificates have a few kilobytes.
	maxKeptBytes = 1 << 20
)

// Backup describes a backup of a hub that runs, or that is stopped.
type Backup struct {
	// DataDir is the folder of the hub.
	DataDir string
	// Path is the file to write, which must not exist.
	Path string
	// KeyFile has public or private keys of age, which encrypt the backup. Empty writes it without encryption.
	KeyFile string
}

// Write writes the backup and reads it back. While it runs, the data folder has a copy of etcd's database.
func (b Backup) Write(ctx context.Context, clock clock.PassiveClock) (manifest backup.Manifest, err error) {
	dir, err := existingData(b.DataDir)
	if err != nil {
		return manifest, err
	}
	embed.DiscardGRPC()
	var folder string
	defer func() {
		if folder != "" {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	return backup.Create(b.Path, b.KeyFile, func() (backup.Manifest, []backup.Source, error) {
		about := backup.Manifest{Berth: version.Version(), Created: clock.Now().UTC(), Etcd: embed.LinkedVersions().Etcd}
		if folder, err = os.MkdirTemp(dir, datadir.BackupPrefix); err != nil {
			return about, nil, fmt.Errorf("creating a folder for the snapshot of etcd: %w", err)
		}
		snapshot := filepath.Join(folder, snapshotName)
		if err := saveSnapshot(ctx, dir, snapshot); err != nil {
			return about, nil, err
		}
		if about.Revision, err = embed.CheckSnapshot(snapshot); err != nil {
			return about, nil, err
		}
		// After the snapshot, so that no object in it is of a later version.
		if about.Kubernetes, err = datadir.Version(dir); err != nil {
			return about, nil, err
		}
		about.Kubernetes = cmp.Or(about.Kubernetes, embed.LinkedVersions().Kubernetes)
		// After the snapshot, so that there is a key for everything in it.
		sources, err := keptFiles(dir)
		return about, append(sources, backup.Source{Name: snapshotName, Path: snapshot}), err
	})
}

// existingData returns the absolute path of a folder that has the data of a hub.
func existingData(path string) (string, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolving data folder %q: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(dir, datadir.EtcdFolder, "member")); err != nil {
		return "", fmt.Errorf("no hub has run in the data folder %s; name the folder of the hub with --data-dir: %w", dir, err)
	}
	return dir, nil
}

// saveSnapshot stores a snapshot of the database of a hub. The database of a stopped hub is opened as at a start, because the end of its
// log may not be in its file yet.
func saveSnapshot(ctx context.Context, dir, path string) error {
	client := embed.EtcdClient{
		CA:   filepath.Join(dir, datadir.PKIFolder, "etcd-ca.crt"),
		Cert: filepath.Join(dir, datadir.PKIFolder, "etcd-client.crt"),
		Key:  filepath.Join(dir, datadir.PKIFolder, "etcd-client.key"),
	}
	locked, err := datadir.Open(dir)
	if _, running := errors.AsType[*datadir.LockedError](err); running {
		if client.Endpoint, err = datadir.EtcdEndpoint(dir); err != nil {
			return err
		}
		if err := client.SaveSnapshot(ctx, path); err != nil {
			return fmt.Errorf("the hub of data folder %s runs, and its database cannot be copied; try again if the hub is starting or stopping: %w",
				dir, err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer locked.Close()
	if err := locked.RequireVersion(embed.LinkedVersions().Kubernetes); err != nil {
		return err
	}
	etcd, err := embed.StartEtcd(ctx, embed.EtcdOptions{
		Dir: locked.Path(datadir.EtcdFolder), CA: client.CA,
		Cert: locked.Path(datadir.PKIFolder, "etcd-server.crt"), CertKey: locked.Path(datadir.PKIFolder, "etcd-server.key"),
		Quota: DefaultDatabaseQuota,
	}, embed.Logs{Writer: io.Discard})
	if err != nil {
		return err
	}
	defer etcd.Close()
	client.Endpoint = etcd.Endpoint()
	return client.SaveSnapshot(ctx, path)
}

// keptFiles reads the files of a data folder beside etcd's data.
func keptFiles(dir string) ([]backup.Source, error) {
	names, err := datadir.Kept(dir)
	if err != nil {
		return nil, err
	}
	out := make([]backup.Source, 0, len(names)+1)
	for _, name := range names {
		data, err := readKept(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since it was listed
		}
		if err != nil {
			return nil, err
		}
		out = append(out, backup.Source{Name: name, Data: data})
	}
	return out, nil
}

func readKept(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a file of the data folder: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	data, err := io.ReadAll(io.LimitReader(file, maxKeptBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading a file of the data folder: %w", err)
	}
	if len(data) > maxKeptBytes {
		return nil, fmt.Errorf("%s has more than %d bytes, so the hub did not write it; move it away", path, maxKeptBytes)
	}
	return data, nil
}
