//go:build slow

package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	readinessCheck = "database-accepts-writes"
	// manyObjects times some hundred kilobytes are far more than any quota and disk of the tests.
	manyObjects = 2000
)

// fill stores objects until the hub reports that it is read-only. A full database accepts writes again while a compaction makes it smaller.
// It returns what was acknowledged.
func fill(t *testing.T, hub *hubtest.Hub, prefix string) map[string]string {
	t.Helper()
	out := map[string]string{}
	i := 0
	kit.Await(t, "the store is full", func(ctx context.Context) error {
		for range manyObjects {
			name, value := fmt.Sprintf("%s-%d", prefix, i), strings.Repeat(strconv.Itoa(i%10), 200<<10)
			i++
			if _, err := store(ctx, t, hub, name, value); err != nil {
				if !strings.Contains(err.Error(), "database space exceeded") {
					t.Errorf("the hub refuses a write: %v, want the reason", err)
				}
				return reportsReadOnly(ctx, t, hub)
			}
			out[name] = value
		}
		t.Fatal("the hub refused no write")
		return nil
	})
	return out
}

// reportsReadOnly returns an error unless the readiness of a hub reports that it is read-only.
func reportsReadOnly(ctx context.Context, t *testing.T, hub *hubtest.Hub) error {
	t.Helper()
	body, err := hub.Client(t).Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if err == nil || !strings.Contains(string(body), "[-]"+readinessCheck+" failed") {
		return fmt.Errorf("/readyz = %s: %w", body, errors.Join(err, errNotYet))
	}
	return nil
}

// requireReadOnly requires that a hub is read-only and reports it, and that nothing is lost.
func requireReadOnly(t *testing.T, hub *hubtest.Hub, want map[string]string, reason string) {
	t.Helper()
	kit.Await(t, "the hub reports that it is read-only", func(ctx context.Context) error { return reportsReadOnly(ctx, t, hub) })
	if body, err := hub.Client(t).Discovery().RESTClient().Get().AbsPath("/livez").DoRaw(t.Context()); err != nil {
		t.Errorf("/livez = %s, %v", body, err)
	}
	requireKept(t, hub, want)
	requireLog(t, hub, "The hub is read-only: it serves reads and deletions, and nothing is lost", reason)
}

func requireLog(t *testing.T, hub *hubtest.Hub, wants ...string) {
	t.Helper()
	log := kit.Must(os.ReadFile(filepath.Join(hub.DataDir(), "hub.log"))).In(t)
	for _, want := range wants {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log has no %q", want)
		}
	}
}

// requireWritable waits until a hub accepts writes and is ready.
func requireWritable(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	tries := 0
	kit.Await(t, "a hub accepts writes and is ready", func(ctx context.Context) error {
		tries++
		if _, err := store(ctx, t, hub, "after-"+strconv.Itoa(tries), ""); err != nil {
			return err
		}
		return hub.Client(t).Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

func TestAFullDatabaseIsReadOnlyUntilObjectsAreDeleted(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	hub := hubtest.New(t, hubtest.Options{DataDir: data, Args: []string{"--database-quota=16Mi"}})
	kept := fill(t, hub, "first")
	requireReadOnly(t, hub, kept, "of the quota of 16.0 MiB")

	hub.Kill()
	if err := startError(t, hubtest.Options{DataDir: data, Args: []string{"--database-quota=16Mi"}}); !strings.Contains(err.Error(),
		"delete objects, or start the hub with a larger --database-quota") {
		t.Errorf("a hub with a full database starts: %v", err)
	}
	hub = hubtest.New(t, hubtest.Options{DataDir: data, Args: []string{"--database-quota=32Mi"}})
	requireKept(t, hub, kept)
	maps.Copy(kept, fill(t, hub, "more"))
	requireReadOnly(t, hub, kept, "of the quota of 32.0 MiB")
	configMaps := hub.Client(t).CoreV1().ConfigMaps(metav1.NamespaceDefault)
	for name := range stored(t, hub) {
		if err := configMaps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatalf("a full database refuses a deletion: %v", err)
		}
	}
	requireWritable(t, hub)
	requireLog(t, hub, "Defragmented the database", "The database accepts writes again")
}

// disk mounts a file system of some size and returns its folder.
func disk(t *testing.T, size string) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("NOT TESTED: a full disk needs the right to mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// take fills a disk except for some bytes, and returns a function that frees it again.
func take(t *testing.T, folder string, except int64) (free func()) {
	t.Helper()
	var found syscall.Statfs_t
	kit.NoError(t, syscall.Statfs(folder, &found))
	path := filepath.Join(folder, "other-data")
	file := kit.Must(os.Create(path)).In(t)
	defer file.Close()
	kit.NoError(t, syscall.Fallocate(int(file.Fd()), 0, 0, int64(found.Bavail)*found.Bsize-except))
	return func() {
		kit.NoError(t, os.Remove(path))
	}
}

func TestAFullDiskMakesTheHubReadOnly(t *testing.T) {
	folder := disk(t, "600m")
	opts := hubtest.Options{DataDir: filepath.Join(folder, "data"), Args: []string{"--min-free-disk=100Mi"}}
	hub := hubtest.New(t, opts)
	mustStore(t, hub, "kept", "")
	free := take(t, folder, 50<<20)
	kit.Await(t, "the hub refuses a write", func(ctx context.Context) error {
		_, err := store(ctx, t, hub, "refused", "")
		if err == nil {
			if err := hub.Client(t).CoreV1().ConfigMaps(metav1.NamespaceDefault).Delete(ctx, "refused", metav1.DeleteOptions{}); err != nil {
				return err
			}
			return errNotYet
		}
		return nil
	})
	requireReadOnly(t, hub, map[string]string{"kept": ""}, "its disk has 50")
	hub.Kill()
	if err := startError(t, opts); !strings.Contains(err.Error(), "free some space") {
		t.Errorf("a hub on a full disk starts: %v", err)
	}
	free()
	hub = hubtest.New(t, opts)
	requireWritable(t, hub)
	free = take(t, folder, 50<<20)
	requireReadOnly(t, hub, stored(t, hub), "its disk has 50")
	free()
	requireWritable(t, hub)
}

// TestADiskThatFillsUpAtOnceLosesNothing takes all space between two checks of the hub, while it writes.
func TestADiskThatFillsUpAtOnceLosesNothing(t *testing.T) {
	folder := disk(t, "600m")
	opts := hubtest.Options{DataDir: filepath.Join(folder, "data"), Args: []string{"--min-free-disk=1Mi"}}
	hub := hubtest.New(t, opts)
	mustStore(t, hub, "kept", "")
	free := take(t, folder, 2<<20)
	want := map[string]string{"kept": ""}
	for i := range manyObjects {
		name, value := "filling-"+strconv.Itoa(i), strings.Repeat("x", 400<<10)
		if _, err := store(t.Context(), t, hub, name, value); err != nil {
			break
		}
		want[name] = value
	}
	if len(want) == manyObjects+1 {
		t.Fatal("the disk did not fill up")
	}
	select {
	case <-hub.Done():
		if !strings.Contains(hub.Output(), "is on a full disk; free some space") {
			t.Errorf("the hub ended without the reason: %s", hub.Output())
		}
	default:
		hub.Kill()
	}
	free()
	hub = hubtest.New(t, opts)
	requireKept(t, hub, want)
}

// TestTheManagerOutlastsAFullDisk lets the manager in a hub lose its lease on a full disk. It decides again once there is space.
func TestTheManagerOutlastsAFullDisk(t *testing.T) {
	folder := disk(t, "600m")
	hub := hubtest.New(t, hubtest.Options{DataDir: filepath.Join(folder, "data"), Manager: true, Args: []string{"--min-free-disk=100Mi"}})
	admin := kit.New(t, hub)
	decide := func(name string) {
		found := &clusterv1beta1.Placement{}
		placement := kit.Placement(metav1.NamespaceDefault, name)
		kit.Await(t, "the manager has decided the placement", func(ctx context.Context) error {
			if err := admin.Create(ctx, placement.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
			if err := admin.Get(ctx, client.ObjectKeyFromObject(placement), found); err != nil {
				return err
			}
			if len(found.Status.Conditions) == 0 {
				return errNotYet
			}
			return nil
		})
	}
	decide("before")
	free := take(t, folder, 50<<20)
	kit.Await(t, "the hub reports that it is read-only", func(ctx context.Context) error { return reportsReadOnly(ctx, t, hub) })
	kit.Await(t, "the manager has ended and starts again", func(context.Context) error {
		log, err := os.ReadFile(filepath.Join(hub.DataDir(), "hub.log"))
		if err != nil || !strings.Contains(string(log), "the manager has ended, and starts again") {
			return errors.Join(err, errNotYet)
		}
		return nil
	})
	free()
	requireWritable(t, hub)
	decide("after")
}
