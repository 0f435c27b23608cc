package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/pki"
	"github.com/berth-project/berth/hub/internal/rotation"
)

const (
	minKubeconfigLife = time.Minute
	maxKubeconfigLife = 365 * 24 * time.Hour
)

var (
	errNoUser       = errors.New("name the user: --user jane")
	errMastersGroup = errors.New("no kubeconfig is written for the group " + mastersGroup + ", which no role limits; " +
		datadir.AdminKubeconfig + " in the data folder is the administrator's")
)

// Kubeconfig describes a kubeconfig for a user of a hub. The roles of the user and the groups determine its permissions.
type Kubeconfig struct {
	// DataDir is the folder of the hub, which may be running.
	DataDir string
	// Path is the file to write, replaced if it is there.
	Path     string
	Identity Identity
	// Lifetime is the lifetime of the certificate: a minute to a year.
	Lifetime time.Duration
}

// Write writes the file with a certificate that the hub's authority signs, and returns when the certificate expires. Only the
// owner can read the file. A certificate cannot be revoked.
func (k Kubeconfig) Write(clock clock.PassiveClock) (end time.Time, err error) {
	if err := k.validate(); err != nil {
		return end, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	dir, err := filepath.Abs(k.DataDir)
	if err != nil {
		return end, fmt.Errorf("resolving data folder %q: %w", k.DataDir, err)
	}
	server, err := datadir.Server(dir)
	if err != nil {
		return end, err
	}
	state, err := rotation.Read(filepath.Join(dir, datadir.PKIFolder))
	if err != nil {
		return end, err
	}
	now := clock.Now()
	users, err := pki.Existing(filepath.Join(dir, datadir.PKIFolder), state.Signing, now)
	if errors.Is(err, fs.ErrNotExist) {
		return end, fmt.Errorf("no hub has run in the data folder %s; start berth-hub there first, or name another folder: %w", dir, err)
	}
	if err != nil {
		return end, err
	}
	pair, err := users.Client(now.Add(k.Lifetime), k.Identity.User, k.Identity.Groups...)
	if err != nil {
		return end, err
	}
	auth := &api.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	return pair.End, writeKubeconfig(k.Path, server, users.CertPEM(), k.Identity.User, auth)
}

func (k Kubeconfig) validate() error {
	switch {
	case k.Identity.User == "":
		return errNoUser
	case slices.Contains(k.Identity.Groups, mastersGroup):
		return errMastersGroup
	case slices.Contains(k.Identity.Groups, ""):
		return errors.New("a group has no name")
	case k.Lifetime < minKubeconfigLife || k.Lifetime > maxKubeconfigLife:
		return fmt.Errorf("a certificate lives from %s to %s, not %s", minKubeconfigLife, maxKubeconfigLife, k.Lifetime)
	default:
		return nil
	}
}
