//go:build slow

package compat

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/internal/checkout"
)

const (
	// formerRelease is the minor version of Kubernetes before the linked one.
	formerRelease = "v1.35"
	// plaintext is in a Secret and in a work, which are encrypted at rest.
	plaintext = "a-value-that-must-not-lie-on-the-disk"
	encrypted = "--encrypt=secrets,works"
)

// TestAHubOpensTheDataOfTheFormerRelease runs a hub on the programs of the former release of Kubernetes and of its etcd, and stores an
// object of each kind. It then starts this hub on the data folder, and on a restored backup. The former release refuses the folder
// afterwards.
func TestAHubOpensTheDataOfTheFormerRelease(t *testing.T) {
	former := kit.Must(checkout.Program(formerRelease)).In(t)
	t.Setenv(hubtest.KubernetesVariable, former)
	data, copied := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "copied")
	hub := hubtest.New(t, hubtest.Options{DataDir: data, Manager: true, Manifests: manifests(t), Args: []string{encrypted}})
	requireRelease(t, hub, filepath.Base(former))
	before := store(t, hub)
	requireVersion(t, data, before.Kubernetes)
	file := filepath.Join(t.TempDir(), "former.backup")
	berthHub(t, "backup", file, "--data-dir="+data)
	kit.NoError(t, hub.Stop())
	requireEncrypted(t, data)

	t.Setenv(hubtest.KubernetesVariable, "")
	berthHub(t, "restore", file, "--data-dir="+copied)
	for _, folder := range []string{data, copied} {
		requireVersion(t, folder, before.Kubernetes)
		checkUpgraded(t, folder, before)
		requireEncrypted(t, folder)
	}

	t.Setenv(hubtest.KubernetesVariable, former)
	requireRefusal(t, data, filepath.Base(former))
}

// requireVersion requires which release of Kubernetes is recorded in a data folder.
func requireVersion(t *testing.T, data, want string) {
	t.Helper()
	if got, err := datadir.Version(data); err != nil || got != want {
		t.Fatalf("the data folder is of Kubernetes %q, %v, want %s", got, err, want)
	}
}

// checkUpgraded starts this hub on a data folder, and compares what it serves with what was stored.
func checkUpgraded(t *testing.T, data string, before state) {
	t.Helper()
	hub := hubtest.New(t, hubtest.Options{DataDir: data, Manager: true, Args: []string{encrypted}})
	found, err := hub.Client(t).Discovery().ServerVersion()
	if err != nil || found.GitVersion == before.Kubernetes {
		t.Fatalf("this hub is of the former release, %s: %v", before.Kubernetes, err)
	}
	requireVersion(t, data, found.GitVersion)
	if diff := cmp.Diff(before.Objects, read(t, hub).restrictedTo(before)); diff != "" {
		t.Errorf("after the upgrade from %s (-before +after):\n%s", before.Kubernetes, diff)
	}
	checkStoredVersions(t, hub)
	checkToken(t, hub)
	checkPolicy(t, hub)
	checkWatches(t, hub)
	checkDecisions(t, hub, before.Slices)
	kit.NoError(t, hub.Stop())
}

// requireRefusal requires that a hub of the former release does not open a folder of this release, and changes nothing in it.
func requireRefusal(t *testing.T, data, release string) {
	t.Helper()
	before := fileSizes(t, filepath.Join(data, "etcd"))
	hub, err := hubtest.Start(t.Context(), hubtest.Options{DataDir: data})
	if err == nil {
		_ = hub.Stop()
		t.Fatalf("a hub of %s opened the data folder of a later release", release)
	}
	for _, part := range []string{
		"has objects of Kubernetes v", "this release runs Kubernetes " + release + ".",
		"restore a backup from before the upgrade",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, want %q in it", err, part)
		}
	}
	if diff := cmp.Diff(before, fileSizes(t, filepath.Join(data, "etcd"))); diff != "" {
		t.Errorf("the refused start changed the files of etcd (-before +after):\n%s", diff)
	}
}

// requireEncrypted requires that no file of etcd has the value of a Secret.
func requireEncrypted(t *testing.T, data string) {
	t.Helper()
	found := 0
	for name := range fileSizes(t, filepath.Join(data, "etcd")) {
		content := kit.Must(os.ReadFile(name)).In(t)
		if bytes.Contains(content, []byte(plaintext)) {
			t.Errorf("%s has the value of a Secret", name)
		}
		found += bytes.Count(content, []byte("k8s:enc:secretbox:"))
	}
	if found == 0 {
		t.Error("etcd has no encrypted object")
	}
}

// fileSizes returns the sizes of the files below a folder.
func fileSizes(t *testing.T, folder string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	kit.NoError(t, filepath.Walk(folder, func(name string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			out[name] = info.Size()
		}
		return err
	}))
	return out
}

// berthHub runs a command of berth-hub that must succeed.
func berthHub(t *testing.T, args ...string) {
	t.Helper()
	program := kit.Must(hubtest.Binary()).In(t)
	if printed, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("berth-hub %v: %v: %s", args, err, printed)
	}
}
