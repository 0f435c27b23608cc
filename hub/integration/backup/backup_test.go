package backup

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestARestoredHubIsNotBehindItsClients checks that the revisions of a restored hub are later than all that a client of the old hub has
// seen, and that a watch at such a revision ends, so that the client lists again.
func TestARestoredHubIsNotBehindItsClients(t *testing.T) {
	data, path := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "hub.backup")
	hub := hubtest.New(t, hubtest.Options{DataDir: data})
	mustStore(t, hub, "kept", "")
	must(t, "backup", path, "--data-dir", data)
	for i := range 20 {
		mustStore(t, hub, "lost-"+strconv.Itoa(i), "")
	}
	seen := mustStore(t, hub, "last", "").ResourceVersion
	hub.Kill()

	hub = restored(t, path)
	list := kit.Must(hub.Client(t).CoreV1().ConfigMaps(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})).In(t)
	before, errBefore := strconv.ParseUint(seen, 10, 64)
	after, errAfter := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if errBefore != nil || errAfter != nil || after <= before {
		t.Errorf("the restored hub is at revision %s, and a client has seen %s", list.ResourceVersion, seen)
	}
	watch, err := hub.Client(t).CoreV1().ConfigMaps(metav1.NamespaceDefault).Watch(t.Context(), metav1.ListOptions{ResourceVersion: seen})
	if err == nil {
		defer watch.Stop()
		err = apierrors.FromObject((<-watch.ResultChan()).Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from revision %s = %v, want that it has expired", seen, err)
	}
	if diff := cmp.Diff(map[string]string{"kept": ""}, stored(t, hub)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}
