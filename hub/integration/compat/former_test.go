package compat

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
)

const (
	backupFile = "testdata/former.backup.gz"
	stateFile  = "testdata/former.json"
	// plaintext is in a Secret, which is encrypted at rest.
	plaintext = "a-value-that-must-not-lie-on-the-disk"
)

var record = flag.Bool("record", false, "write the backup and the state of the former release into testdata")

// TestAHubOpensTheDataOfTheFormerRelease runs a hub on the programs of the former release of Kubernetes and of its etcd, stores an object of
// each kind, and starts this hub on its data folder. It then starts the former release again, which refuses the folder.
func TestAHubOpensTheDataOfTheFormerRelease(t *testing.T) {
	former := os.Getenv(formerVariable)
	if former == "" {
		t.Skipf("NO DATA OF THE FORMER RELEASE OF KUBERNETES IS WRITTEN: %s names no folder with its programs; run make compat", formerVariable)
	}
	t.Setenv(hubtest.KubernetesVariable, former)
	data := filepath.Join(t.TempDir(), "data")
	hub := hubtest.New(t, hubtest.Options{DataDir: data, Manager: true, Manifests: world(t)})
	requireRelease(t, hub, filepath.Base(former))
	before := store(t, hub)
	if *record {
		writeRecording(t, data, before)
	}
	if err := hub.Stop(); err != nil {
		t.Fatal(err)
	}
	requireEncrypted(t, data)

	t.Setenv(hubtest.KubernetesVariable, "")
	checkUpgraded(t, data, before)

	t.Setenv(hubtest.KubernetesVariable, former)
	requireRefusal(t, data, filepath.Base(former))
}

// TestAHubRestoresABackupOfTheFormerRelease restores a backup that the former release wrote once.
func TestAHubRestoresABackupOfTheFormerRelease(t *testing.T) {
	if os.Getenv(hubtest.KubernetesVariable) != "" {
		t.Skip("an older release does not restore it")
	}
	before := state{}
	text, err := os.ReadFile(stateFile)
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	if err != nil {
		t.Fatal(err)
	}
	before.forgetExpired()
	folder := t.TempDir()
	file := filepath.Join(folder, "former.backup")
	if err := os.WriteFile(file, unzip(t, backupFile), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(folder, "data")
	berthHub(t, "restore", file, "--data-dir="+data)
	requireEncrypted(t, data)
	checkUpgraded(t, data, before)
}

// checkUpgraded starts this hub on a data folder, and compares what it serves with what was stored.
func checkUpgraded(t *testing.T, data string, before state) {
	t.Helper()
	hub := hubtest.New(t, hubtest.Options{DataDir: data, Manager: true})
	if found, err := hub.Client(t).Discovery().ServerVersion(); err != nil || found.GitVersion == before.Kubernetes {
		t.Fatalf("this hub is of the former release, %s: %v", before.Kubernetes, err)
	}
	if diff := cmp.Diff(before.Objects, read(t, hub).restrictedTo(before)); diff != "" {
		t.Errorf("after the upgrade from %s (-before +after):\n%s", before.Kubernetes, diff)
	}
	checkToken(t, hub)
	checkPolicy(t, hub)
	checkWatches(t, hub)
	checkDecisions(t, hub, before.Slices)
	if err := hub.Stop(); err != nil {
		t.Fatal(err)
	}
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
	for _, part := range []string{"has objects of Kubernetes v", "this release runs Kubernetes " + release + ".", "restore a backup from before the upgrade"} {
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
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
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
	err := filepath.Walk(folder, func(name string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			out[name] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// berthHub runs a command of berth-hub that must succeed.
func berthHub(t *testing.T, args ...string) {
	t.Helper()
	program, err := hubtest.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if printed, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("berth-hub %v: %v: %s", args, err, printed)
	}
}

// writeRecording writes a backup of a hub, and what it stores.
func writeRecording(t *testing.T, data string, stored state) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "former.backup")
	berthHub(t, "backup", file, "--data-dir="+data)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	to, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(stored, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{backupFile: zipped.Bytes(), stateFile: append(text, '\n')} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// unzip returns the content of a compressed file.
func unzip(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	from, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
