package backup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	planted    = "planted-value-to-find"
	secretKey  = "/registry/secrets/default/planted"
	workKey    = "/registry/work.open-cluster-management.io/manifestworks/default/planted"
	cipherMark = "k8s:enc:secretbox:v1:hub:"
)

// rawValue returns what etcd stores for a key.
func rawValue(ctx context.Context, t *testing.T, hub *hubtest.Hub, key string) []byte {
	t.Helper()
	pki := func(name string) string { return filepath.Join(hub.DataDir(), "pki", name) }
	config, err := transport.TLSInfo{
		CertFile: pki("etcd-client.crt"), KeyFile: pki("etcd-client.key"),
		TrustedCAFile: pki("etcd-ca.crt"),
	}.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	endpoint := kit.Must(os.ReadFile(filepath.Join(hub.DataDir(), "etcd-endpoint"))).In(t)
	etcd := kit.Must(clientv3.New(clientv3.Config{
		Endpoints: []string{strings.TrimSpace(string(endpoint))}, TLS: config,
		Logger: zap.NewNop(),
	})).In(t)
	defer etcd.Close()
	found, err := etcd.Get(ctx, key)
	if err != nil || len(found.Kvs) != 1 {
		t.Fatalf("reading %s: %v, %v", key, found, err)
	}
	return found.Kvs[0].Value
}

// plant stores a value in a Secret and in a work.
func plant(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	admin := kit.New(t, hub)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "planted"},
		StringData: map[string]string{"value": planted},
	}
	work := kit.Work("default", "planted")
	manifest := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"data":{"value":"` + planted + `"}}`
	work.Spec.Workload.Manifests = make([]workv1.Manifest, 1)
	work.Spec.Workload.Manifests[0].Raw = []byte(manifest)
	admin.MustCreate(secret, work)
}

// requirePlanted waits until etcd stores the planted values encrypted or not, and requires that clients read them.
func requirePlanted(t *testing.T, hub *hubtest.Hub, secretEncrypted, workEncrypted bool) {
	t.Helper()
	for key, encrypted := range map[string]bool{secretKey: secretEncrypted, workKey: workEncrypted} {
		kit.Await(t, "etcd stores the planted values encrypted or not, and requires that clients read them", func(ctx context.Context) error {
			raw := rawValue(ctx, t, hub, key)
			if bytes.HasPrefix(raw, []byte(cipherMark)) != encrypted || bytes.Contains(raw, []byte(planted)) == encrypted {
				return fmt.Errorf("%s is stored as %.60q, want it encrypted: %t: %w", key, raw, encrypted, errNotYet)
			}
			return nil
		})
	}
	reader := kit.New(t, hub)
	secret, work := &corev1.Secret{}, &workv1.ManifestWork{}
	secret.Namespace, secret.Name, work.Namespace, work.Name = "default", "planted", "default", "planted"
	if err := reader.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil || string(secret.Data["value"]) != planted {
		t.Errorf("the Secret has %q, %v", secret.Data["value"], err)
	}
	if err := reader.Get(t.Context(), client.ObjectKeyFromObject(work), work); err != nil ||
		!bytes.Contains(work.Spec.Workload.Manifests[0].Raw, []byte(planted)) {
		t.Errorf("the work has %v, %v", work.Spec, err)
	}
}

// TestNoFileOfANewHubHasASecret reads all files of etcd, the log of raft too.
func TestNoFileOfANewHubHasASecret(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	hub := hubtest.New(t, hubtest.Options{DataDir: data, Args: []string{"--encrypt=secrets,works"}})
	plant(t, hub)
	kit.NoError(t, hub.Stop())
	for path := range hashes(t, filepath.Join(data, "etcd")) {
		content := kit.Must(os.ReadFile(path)).In(t)
		if bytes.Contains(content, []byte(planted)) {
			t.Errorf("%s has the value in plain text", path)
		}
	}
}
