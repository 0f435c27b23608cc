// Package backup tests what a hub keeps: in a backup and its restore, over kills, on a full disk, in a damaged file, and encrypted at rest.
//
// Each test has hubs of its own, as processes. With BERTH_LONG=1 a hub is killed a hundred times.
package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var errNotYet = errors.New("not yet")

// berthHub runs a command of berth-hub and returns its output.
func berthHub(t *testing.T, args ...string) (string, error) {
	t.Helper()
	binary := kit.Must(hubtest.Binary()).In(t)
	printed, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	if err != nil {
		return string(printed), fmt.Errorf("berth-hub %s: %w: %s", strings.Join(args, " "), err, printed)
	}
	return string(printed), nil
}

// must is berthHub for a command that succeeds.
func must(t *testing.T, args ...string) string {
	t.Helper()
	printed := kit.Must(berthHub(t, args...)).In(t)
	return printed
}

// restored restores a backup into a new folder and starts a hub there.
func restored(t *testing.T, path string, args ...string) *hubtest.Hub {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "another", "place")
	must(t, append([]string{"restore", path, "--data-dir", folder}, args...)...)
	return hubtest.New(t, hubtest.Options{DataDir: folder})
}

// startError returns the error of a hub that must not start.
func startError(t *testing.T, opts hubtest.Options) error {
	t.Helper()
	hub, err := hubtest.Start(t.Context(), opts)
	if err == nil {
		t.Fatalf("the hub starts: %v", hub.Stop())
	}
	return err
}

// store creates a ConfigMap.
func store(ctx context.Context, t *testing.T, hub *hubtest.Hub, name, value string) (*corev1.ConfigMap, error) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
	configMaps := hub.Client(t).CoreV1().ConfigMaps(metav1.NamespaceDefault)
	return configMaps.Create(ctx, object, metav1.CreateOptions{})
}

func mustStore(t *testing.T, hub *hubtest.Hub, name, value string) *corev1.ConfigMap {
	t.Helper()
	out := kit.Must(store(t.Context(), t, hub, name, value)).In(t)
	return out
}

// stored returns the ConfigMaps of the tests.
func stored(t *testing.T, hub *hubtest.Hub) map[string]string {
	t.Helper()
	list := kit.Must(hub.Client(t).CoreV1().ConfigMaps(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})).In(t)
	out := map[string]string{}
	for i := range list.Items {
		if value, ok := list.Items[i].Data["value"]; ok {
			out[list.Items[i].Name] = value
		}
	}
	return out
}

// requireKept requires that a hub has what was acknowledged. A write that was refused may be stored nevertheless.
func requireKept(t *testing.T, hub *hubtest.Hub, acknowledged map[string]string) {
	t.Helper()
	got := stored(t, hub)
	for name, value := range acknowledged {
		if got[name] != value {
			t.Errorf("%s has %d bytes, want %d", name, len(got[name]), len(value))
		}
	}
}

// requireMissing requires that nothing is at a path.
func requireMissing(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", path, err)
	}
}

// hashes returns the hash of each file below a folder.
func hashes(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
