package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// stopTimeout is how long an orderly stop of a hub may take.
const stopTimeout = 10 * time.Second

// refused starts a hub that must not start. It checks the reason, and that there is no stack trace.
func refused(t *testing.T, opts hubtest.Options, wants ...string) {
	t.Helper()
	hub, err := hubtest.Start(t.Context(), opts)
	if err == nil {
		t.Errorf("hub started; output: %s", hub.Output())
		_ = hub.Stop()
		return
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Start = %v, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "goroutine ") {
		t.Errorf("Start = %v, want no stack trace", err)
	}
}

func create(t *testing.T, hub *hubtest.Hub, name string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	kit.Must(hub.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{})).In(t)
}

func exists(t *testing.T, hub *hubtest.Hub, name string) {
	t.Helper()
	if _, err := hub.Client(t).CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

// TestDataSurvivesRestarts uses one data folder for an orderly stop, a crash, and
// damaged files.
func TestDataSurvivesRestarts(t *testing.T) {
	opts := hubtest.Options{DataDir: filepath.Join(t.TempDir(), "data")}
	first := hubtest.New(t, opts)
	create(t, first, "written-before-stop")
	refused(t, opts, fmt.Sprintf("data folder %s is in use by a hub in process %d", opts.DataDir, first.PID()), "choose another folder")
	terminate(t, first)

	second := hubtest.New(t, opts)
	exists(t, second, "written-before-stop")
	if diff := cmp.Diff(first.Config().Host, second.Config().Host); diff != "" {
		t.Errorf("address changed over a restart (-want +got):\n%s", diff)
	}
	if _, err := second.Client(t).Discovery().ServerVersion(); err != nil {
		t.Errorf("a request with the CA of the first kubeconfig: %v", err)
	}
	create(t, second, "written-before-crash")
	second.Kill()

	third := hubtest.New(t, opts)
	exists(t, third, "written-before-crash")
	terminate(t, third)

	database := filepath.Join(opts.DataDir, "etcd", "member", "snap", "db")
	refuseLaterVersion(t, opts, database)
	damaged := kit.Must(os.OpenFile(database, os.O_RDWR, 0)).In(t)
	kit.Must(damaged.WriteAt(make([]byte, 16<<10), 0)).In(t)
	kit.NoError(t, damaged.Close())
	refused(t, opts, "etcd's data in "+filepath.Join(opts.DataDir, "etcd")+" cannot be read", "the database "+database+" is damaged",
		"restore a backup with `berth-hub restore`")
}

// refuseLaterVersion requires that the data folder of a later release of Kubernetes is refused before etcd opens it.
func refuseLaterVersion(t *testing.T, opts hubtest.Options, database string) {
	t.Helper()
	file := filepath.Join(opts.DataDir, "kubernetes-version")
	own, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(own), "v1.") {
		t.Fatalf("the version of the data folder is %q, %v", own, err)
	}
	before := kit.Must(os.Stat(database)).In(t)
	kit.NoError(t, os.WriteFile(file, []byte("v1.99.1\n"), 0o600))
	refused(t, opts, "data folder "+opts.DataDir+" has objects of Kubernetes v1.99.1",
		"this release runs Kubernetes "+strings.TrimSpace(string(own)), "restore a backup from before the upgrade")
	after, err := os.Stat(database)
	if err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the refused start changed the database: %v", err)
	}
	kit.NoError(t, os.WriteFile(file, own, 0o600))
}

// terminate stops a hub by signal while a client watches, as a user would.
func terminate(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	watch := kit.Must(hub.Client(t).CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})).In(t)
	defer watch.Stop()
	begin := time.Now()
	kit.NoError(t, syscall.Kill(hub.PID(), syscall.SIGTERM))
	<-hub.Done()
	took := time.Since(begin)
	t.Logf("stopped in %s", took.Round(time.Millisecond))
	if took > stopTimeout {
		t.Errorf("stopping took %s, want at most %s", took, stopTimeout)
	}
	if err := hub.Stop(); err != nil {
		t.Error(err)
	}
}

func TestTakenPortIsRefused(t *testing.T) {
	listener := kit.Must(net.Listen("tcp4", "127.0.0.1:0")).In(t)
	defer listener.Close()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	for _, flag := range []string{"--port", "--etcd-port"} {
		refused(t, hubtest.Options{Args: []string{flag, port}}, "port "+port+" on 127.0.0.1 is taken", "choose another port")
	}
}

func TestUnfitFolderIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	kit.NoError(t, os.WriteFile(file, nil, 0o600))
	refused(t, hubtest.Options{DataDir: file}, "data folder "+file+" is not a folder", "choose another path")
}

func TestDamagedLogIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	wal := filepath.Join(dir, "etcd", "member", "wal")
	kit.NoError(t, os.MkdirAll(wal, 0o700))
	kit.NoError(t, os.WriteFile(filepath.Join(wal, "0000000000000000-0000000000000000.wal"), []byte(strings.Repeat("garbage ", 1000)), 0o600))
	refused(t, hubtest.Options{DataDir: dir}, "etcd's data in "+filepath.Join(dir, "etcd")+" cannot be read")
}
