package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// errorLine is a line of the log at the level of an error, as klog, zap, gRPC and slog write it.
var errorLine = regexp.MustCompile(`^(E[0-9]{4} |.*\tERROR\t|.*\terror\t|.*\bERROR: |.*\blevel=ERROR\b)`)

// TestAnOrderlyStopLogsNoError stops a hub at rest by a signal while its manager watches a fleet, and a client too.
func TestAnOrderlyStopLogsNoError(t *testing.T) {
	log, printed := stopAtRest(t)
	for line := range strings.Lines(log) {
		if errorLine.MatchString(line) {
			t.Errorf("the log of the stop has an error: %s", line)
		}
	}
	for line := range strings.Lines(printed) {
		if errorLine.MatchString(line) {
			t.Errorf("the hub printed an error: %s", line)
		}
	}
	if t.Failed() {
		t.Logf("the whole log of the stop:\n%s", log)
	}
}

// stopAtRest starts a hub with a fleet, and stops it when its manager writes nothing. It returns the log of the stop, and what the hub
// printed.
func stopAtRest(t *testing.T) (log, printed string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	hub := hubtest.New(t, hubtest.Options{DataDir: dir, Manager: true, Args: []string{
		"--metrics-bind-address=" + hubtest.FreeAddress(t), "--health-probe-bind-address=" + hubtest.FreeAddress(t),
	}})
	admin := kit.New(t, hub)
	admin.MustCreate(
		kit.Set("prod"),
		kit.Binding("default", "prod"),
		&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
			Name: "eu-1", Labels: map[string]string{clusterv1beta2.ClusterSetLabel: "prod"},
			Annotations: map[string]string{clusterv1.SimulatedAnnotationKey: "true"},
		}},
		kit.Placement("default", "web"),
	)
	kit.Await(t, "the placement is decided", func(ctx context.Context) error { return requireDecided(ctx, admin) })
	awaitRest(t, hub)
	path := filepath.Join(dir, "hub.log")
	before := kit.Must(os.Stat(path)).In(t)
	watch := kit.Must(hub.Client(t).CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})).In(t)
	defer watch.Stop()
	kit.NoError(t, syscall.Kill(hub.PID(), syscall.SIGTERM))
	<-hub.Done()
	all := kit.Must(os.ReadFile(path)).In(t)
	return string(all[before.Size():]), hub.Output()
}

// awaitRest waits until the manager has written nothing for a second. It writes roles, further conditions and events beside the decision.
func awaitRest(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	writes := func() map[string]float64 {
		return hubtest.Writes(hub.ReadMetrics(t), func(group, resource string) bool {
			return group == clusterv1.GroupName || group == rbacv1.GroupName || resource == "events"
		})
	}
	kit.Await(t, "the manager writes nothing", func(context.Context) error {
		before := writes()
		time.Sleep(time.Second)
		if after := writes(); !maps.Equal(before, after) {
			return fmt.Errorf("the writes are %v, and were %v", after, before)
		}
		return nil
	})
}

// requireDecided requires that the manager has written all that this fleet needs. The API server logs an error for each write that a stop
// cuts.
func requireDecided(ctx context.Context, admin *kit.Client) error {
	web := &clusterv1beta1.Placement{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web"}, web); err != nil {
		return err
	}
	if web.Status.NumberOfSelectedClusters != 1 {
		return fmt.Errorf("%d clusters are selected, want 1", web.Status.NumberOfSelectedClusters)
	}
	for _, name := range []string{"default", "global", "prod"} {
		set := &clusterv1beta2.ManagedClusterSet{}
		if err := admin.Get(ctx, client.ObjectKey{Name: name}, set); err != nil {
			return err
		}
		if len(set.Status.Conditions) == 0 {
			return fmt.Errorf("the set %s has no condition yet", name)
		}
	}
	return nil
}
