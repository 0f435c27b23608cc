package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/berth-project/berth/hub/internal/durable"
)

// versionFile has the release of Kubernetes whose API server last wrote the objects.
const versionFile = "kubernetes-version"

// Version returns the release of Kubernetes that last wrote the objects of a folder; empty for a folder of a release of Berth that
// recorded none. The folder need not be locked.
func Version(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(path, versionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the version of data folder %s: %w", path, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// RequireVersion returns an error for a folder with objects of a later minor version of Kubernetes than the given one, which may be
// unable to read them. It must be called before etcd opens the folder. An empty version, of a build without versions, is not compared.
func (d *Dir) RequireVersion(kubernetes string) error {
	written, err := Version(d.path)
	if err != nil || written == "" || kubernetes == "" {
		return err
	}
	last, err := version.ParseSemantic(written)
	if err != nil {
		return fmt.Errorf("data folder %s: %s is damaged: it has %q, and not a version such as %s; write the version of Kubernetes into "+
			"it that last ran there: %w",
			d.path, d.Path(versionFile), written, kubernetes, err)
	}
	own, err := version.ParseSemantic(kubernetes)
	if err != nil {
		return fmt.Errorf("comparing the versions of data folder %s: %w", d.path, err)
	}
	if last.Major() != own.Major() || last.Minor() > own.Minor() {
		return fmt.Errorf("data folder %s has objects of Kubernetes %s, and this release runs Kubernetes %s, which may not read them: "+
			"start the release of Berth that last ran there, or a later one; to go back, restore a backup from before the "+
			"upgrade into another folder",
			d.path, written, kubernetes)
	}
	return nil
}

// StoreVersion records the release of Kubernetes that writes objects from now on. It must be called before the API server starts. The
// file is replaced as a whole, so that a power cut leaves the former or the new version.
func (d *Dir) StoreVersion(kubernetes string) error {
	if written, err := Version(d.path); err != nil || written == kubernetes {
		return err
	}
	return storeVersion(d.path, kubernetes)
}

func storeVersion(folder, kubernetes string) error {
	path := filepath.Join(folder, versionFile)
	next := path + temporaryMark + "version"
	if err := os.WriteFile(next, []byte(kubernetes+"\n"), 0o600); err != nil {
		return fmt.Errorf("recording the version of Kubernetes: %w", err)
	}
	// The file has its name only once it is on the disk.
	if err := durable.Sync(next); err != nil {
		return fmt.Errorf("recording the version of Kubernetes: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("recording the version of Kubernetes: %w", err)
	}
	if err := durable.Sync(folder); err != nil {
		return fmt.Errorf("recording the version of Kubernetes: %w", err)
	}
	return nil
}

// StoreVersion records the release of Kubernetes that wrote the restored objects.
func (r *Restoring) StoreVersion(kubernetes string) error { return storeVersion(r.Path(), kubernetes) }
