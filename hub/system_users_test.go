package hub

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/pki"
)

var today = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// newDataDir returns the data folder of a hub that has run.
func newDataDir(t *testing.T) *datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Close)
	listener, err := dir.Listen(t.Context(), "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return dir
}

func usersIn(t *testing.T, dir *datadir.Dir) *pki.Authority {
	t.Helper()
	users, err := pki.Open(dir.Path(datadir.PKIFolder), "users-ca", today)
	if err != nil {
		t.Fatal(err)
	}
	return users
}

// certificate returns the client certificate of a kubeconfig, and fails the test if another user may read the file.
func certificate(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %o, want 600", path, info.Mode().Perm())
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := config.CertData, config.KeyData
	if config.CertFile != "" {
		var errs [2]error
		cert, errs[0] = os.ReadFile(config.CertFile)
		key, errs[1] = os.ReadFile(config.KeyFile)
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

// TestSystemUserCertificatesAreLimited checks that a copied key of the administrator is valid for a year at most.
func TestSystemUserCertificatesAreLimited(t *testing.T) {
	dir := newDataDir(t)
	users := &systemUsers{dir: dir, users: usersIn(t, dir), server: "https://127.0.0.1:1", manager: Identity{User: "manager"}}
	if err := users.writeKubeconfigs(today); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir.Path(datadir.AdminKubeconfig)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the kubeconfig of the administrator exists before the hub is ready: %v", err)
	}
	if err := users.publish(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{datadir.AdminKubeconfig, controllersKubeconfig, managerKubeconfig} {
		if end := certificate(t, dir.Path(file)).NotAfter; end.After(today.AddDate(1, 0, 0)) {
			t.Errorf("the certificate in %s is valid until %s, want a year at most", file, end)
		}
	}
	if admin := users.admin(); admin.CertFile == "" || len(admin.CertData) > 0 {
		t.Error("the hub's own client does not read the certificate again")
	}
}

// TestKubeconfigIsScopedAndPrivate checks the user, the groups, the lifetime and the mode of the file. The mode is private also
// after an overwrite of a file that other users could read.
func TestKubeconfigIsScopedAndPrivate(t *testing.T) {
	dir := newDataDir(t)
	usersIn(t, dir)
	path := filepath.Join(t.TempDir(), "jane.kubeconfig")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	kubeconfig := Kubeconfig{
		DataDir: dir.Path(), Path: path, Identity: Identity{User: "jane", Groups: []string{"team", "ops"}},
		Lifetime: 24 * time.Hour,
	}
	end, err := kubeconfig.Write(clocktesting.NewFakePassiveClock(today))
	if err != nil {
		t.Fatal(err)
	}
	cert := certificate(t, path)
	if cert.Subject.CommonName != "jane" || !end.Equal(today.Add(24*time.Hour)) || !cert.NotAfter.Equal(end) {
		t.Errorf("the certificate is for %q until %s, and the returned end is %s", cert.Subject.CommonName, cert.NotAfter, end)
	}
	if diff := cmp.Diff([]string{"ops", "team"}, cert.Subject.Organization, cmp.Transformer("sort", sorted)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(usersIn(t, dir).CertPEM())
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: today, KeyUsages: usage}); err != nil {
		t.Errorf("the hub does not trust it: %v", err)
	}
}

func sorted(in []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range in {
		out[name] = true
	}
	return out
}

func TestKubeconfigIsRefused(t *testing.T) {
	dir := newDataDir(t)
	usersIn(t, dir)
	unused := filepath.Join(t.TempDir(), "unused")
	jane := Identity{User: "jane"}
	for sentence, test := range map[string]struct {
		kubeconfig Kubeconfig
		want       string
	}{
		"without a user": {Kubeconfig{DataDir: dir.Path(), Lifetime: time.Hour}, "name the user"},
		"for the administrators": {Kubeconfig{
			DataDir: dir.Path(), Lifetime: time.Hour,
			Identity: Identity{"jane", []string{"system:masters"}},
		}, "no role limits"},
		"for a moment":         {Kubeconfig{DataDir: dir.Path(), Lifetime: time.Second, Identity: jane}, "lives from 1m0s"},
		"for more than a year": {Kubeconfig{DataDir: dir.Path(), Lifetime: 366 * 24 * time.Hour, Identity: jane}, "lives from 1m0s"},
		"in a folder without a hub": {
			Kubeconfig{DataDir: unused, Lifetime: time.Hour, Identity: jane},
			"no hub has run in the data folder " + unused,
		},
		"of a group with no name": {
			Kubeconfig{DataDir: dir.Path(), Lifetime: time.Hour, Identity: Identity{"jane", []string{""}}},
			"a group has no name",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.kubeconfig.Path = filepath.Join(t.TempDir(), "kubeconfig")
			_, err := test.kubeconfig.Write(clocktesting.NewFakePassiveClock(today))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Write = %v, want an error with %q", err, test.want)
			}
			if _, err := os.Stat(test.kubeconfig.Path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file is left: %v", err)
			}
		})
	}
	if _, err := os.Stat(unused); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder is left: %v", err)
	}
}
