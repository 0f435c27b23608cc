package registration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
)

const (
	unreachable = clusterv1.ManagedClusterTaintUnreachable
	denied      = clusterv1.ManagedClusterTaintDenied
)

// TestNoSliceNamesAClusterThatNeverJoined creates many clusters while a placement selects every cluster. No slice ever names a cluster
// that never joined.
func TestNoSliceNamesAClusterThatNeverJoined(t *testing.T) {
	s := newTestHub(t)
	s.start("--simulate")
	s.awaitUnjoinedCondition("True", "TaintUnjoined")
	s.placement()
	named := s.recordSlices()
	for i := range 40 {
		s.cluster(fmt.Sprintf("pending-%02d", i), func(cluster *clusterv1.ManagedCluster) { cluster.Spec.HubAcceptsClient = i%2 == 0 })
	}
	s.cluster("simulated", simulated) // its decision follows the decisions about the other clusters
	s.AwaitSelected(s.namespace, "all", "simulated")
	if got := named("simulated"); !slices.Equal(got, []string{"simulated"}) {
		t.Errorf("slices have named %v", got)
	}
	if got := taints(s.stored(t.Context(), "pending-00")); !slices.Equal(got, []string{unreachable}) {
		t.Errorf("a cluster that never joined has the taints %v", got)
	}
}

// TestTheFirstStartSelectsNoClusterThatNeverJoined starts the first manager after the placement and the clusters were created.
// The manager distinguishes earlier decisions from its own, and decides once those clusters are tainted.
func TestTheFirstStartSelectsNoClusterThatNeverJoined(t *testing.T) {
	s := newTestHub(t)
	before := s.start("--controllers=*,-health,-placement")
	for i := range 100 {
		s.cluster(fmt.Sprintf("pending-%02d", i))
	}
	s.cluster("real")
	s.report("real")
	s.placement()
	before.Stop()
	named := s.recordSlices()
	s.start()
	s.awaitUnjoinedCondition("True", "TaintUnjoined")
	s.AwaitSelected(s.namespace, "all", "real")
	if got := named("real"); !slices.Equal(got, []string{"real"}) {
		t.Errorf("slices have named %v", got)
	}
}

// TestJoiningDenyingAccepting: a cluster is selected once its agent reports it, and evicted when it is denied. The update that accepts
// it makes it selectable again.
func TestJoiningDenyingAccepting(t *testing.T) {
	s := newTestHub(t)
	s.start()
	s.awaitUnjoinedCondition("True", "TaintUnjoined")
	s.placement()
	s.cluster("one")
	s.report("one")
	s.AwaitSelected(s.namespace, "all", "one")
	s.setAccepted("one", false)
	s.AwaitSelected(s.namespace, "all")
	s.Await("the denied cluster has one taint", func(ctx context.Context) error {
		if got := taints(s.stored(ctx, "one")); !slices.Equal(got, []string{denied}) {
			return fmt.Errorf("a denied cluster has the taints %v", got)
		}
		return nil
	})
	s.setAccepted("one", true)
	if got := taints(s.stored(t.Context(), "one")); len(got) > 0 {
		t.Errorf("the update that accepts the cluster leaves the taints %v", got)
	}
	s.AwaitSelected(s.namespace, "all", "one")
}

// TestAnUpgradeEvictsNothing checks that clusters that were selected before they joined stay selected. The set, the metric and
// the log name them until the flag is given.
func TestAnUpgradeEvictsNothing(t *testing.T) {
	s := newTestHub(t)
	before := s.start("--taint-unjoined=false")
	s.placement()
	s.cluster("inventory")
	s.AwaitSelected(s.namespace, "all", "inventory")
	before.Stop()

	after := s.start()
	message := s.awaitUnjoinedCondition("False", "UnjoinedClustersSelected")
	read, err := after.ReadMetrics(t.Context())
	if err != nil || read.Sum("berth_health_unjoined_selected") != 1 {
		t.Errorf("the metric shows %v, error %v", read.Sum("berth_health_unjoined_selected"), err)
	}
	for what, text := range map[string]string{"message": message, "log": after.Log()} {
		if !strings.Contains(text, "never joined or are denied: inventory.") {
			t.Errorf("the %s names no cluster: %s", what, text)
		}
	}
	s.cluster("second")
	s.AwaitSelected(s.namespace, "all", "inventory", "second")
	after.Stop()

	given := s.start("--taint-unjoined")
	s.awaitUnjoinedCondition("True", "TaintUnjoined")
	s.AwaitSelected(s.namespace, "all")
	given.Stop()

	s.start("--taint-unjoined=false")
	s.awaitUnjoinedCondition("False", "TaintReportedOnly")
	s.AwaitSelected(s.namespace, "all", "inventory", "second")
}

// TestWithoutHealthControllerNothingIsTainted: without the health controller no new cluster is tainted, whatever was stored before.
func TestWithoutHealthControllerNothingIsTainted(t *testing.T) {
	for _, controllers := range []string{"placement", "*,-health"} {
		t.Run(controllers, func(t *testing.T) {
			s := newTestHub(t)
			before := s.start()
			s.awaitUnjoinedCondition("True", "TaintUnjoined")
			before.Stop()
			s.start("--controllers=" + controllers)
			s.cluster("early")
			s.awaitUnjoinedCondition("False", "HealthControllerOff")
			s.cluster("late")
			for _, name := range []string{"early", "late"} {
				if got := taints(s.stored(t.Context(), name)); len(got) > 0 {
					t.Errorf("%s has the taints %v", name, got)
				}
			}
		})
	}
}

// TestASimulatedCluster: a simulated cluster has the conditions that an agent reports, and no lease and no namespace.
func TestASimulatedCluster(t *testing.T) {
	s := newTestHub(t)
	s.start("--simulate")
	s.awaitUnjoinedCondition("True", "TaintUnjoined")
	s.cluster("simulated", simulated)
	s.Await("the simulated cluster is available", func(ctx context.Context) error {
		cluster := s.stored(ctx, "simulated")
		for _, kind := range []string{
			clusterv1.ManagedClusterConditionHubAccepted, clusterv1.ManagedClusterConditionJoined, clusterv1.ManagedClusterConditionAvailable,
		} {
			if !meta.IsStatusConditionTrue(cluster.Status.Conditions, kind) {
				return fmt.Errorf("%s is not True", kind)
			}
		}
		return nil
	})
	cluster := s.stored(t.Context(), "simulated")
	if cluster.Generation != 1 || len(cluster.Spec.Taints) > 0 || cluster.Spec.HubAcceptsClient != true {
		t.Errorf("its spec was written: generation %d, taints %v", cluster.Generation, cluster.Spec.Taints)
	}
	for _, object := range []client.Object{&corev1.Namespace{}, &coordinationv1.Lease{}} {
		key := client.ObjectKey{Name: "simulated"}
		if _, ok := object.(*coordinationv1.Lease); ok {
			key = client.ObjectKey{Namespace: "simulated", Name: clusterv1.ManagedClusterLeaseName}
		}
		if err := s.Get(t.Context(), key, object); !apierrors.IsNotFound(err) {
			t.Errorf("%T: %v, want none", object, err)
		}
	}
	s.cluster("real")
	s.report("real")
	joined := s.stored(t.Context(), "real")
	before := joined.DeepCopy()
	simulated(joined)
	if err := s.Patch(t.Context(), joined, client.MergeFrom(before)); !apierrors.IsInvalid(err) {
		t.Errorf("annotating a cluster that an agent has joined: %v", err)
	}
}

// TestLivenessIgnoresClocks: the agents' clocks are ten minutes behind. Only the cluster whose agent stops is unreachable. Reporting is
// never suspended.
func TestLivenessIgnoresClocks(t *testing.T) {
	s := newTestHub(t)
	s.start("--unreachable-limit=100")
	s.awaitUnjoinedCondition("True", "TaintUnjoined")
	f := hubtest.NewFleet(t, shared, hubtest.FleetOptions{
		Clusters: 6, LeaseSeconds: leaseSeconds,
		ClockSkew: -300 * leaseSeconds * time.Second,
	})
	s.Await("every lease is renewed", func(ctx context.Context) error { // every agent renews the lease that the hub has created
		for number := range 6 {
			if got := taints(s.stored(ctx, f.Name(number))); len(got) > 0 { // a new cluster is tainted until it has joined
				return fmt.Errorf("%s has the taints %v", f.Name(number), got)
			}
			held := &coordinationv1.Lease{}
			if err := s.Get(ctx, client.ObjectKey{Namespace: f.Name(number), Name: clusterv1.ManagedClusterLeaseName}, held); err != nil {
				return err
			}
			if !held.Spec.RenewTime.Time.Before(held.CreationTimestamp.Time) {
				return errors.New("the lease is not renewed")
			}
		}
		return nil
	})
	f.StopAgents(5)
	s.Await("the silent cluster is unreachable", func(ctx context.Context) error {
		if got := taints(s.stored(ctx, f.Name(5))); !slices.Equal(got, []string{unreachable}) {
			return fmt.Errorf("a silent cluster has the taints %v", got)
		}
		return nil
	})
	got := map[string][]string{}
	for number := range 5 {
		cluster := s.stored(t.Context(), f.Name(number))
		if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) || len(cluster.Spec.Taints) > 0 {
			got[cluster.Name] = taints(cluster)
		}
	}
	if diff := cmp.Diff(map[string][]string{}, got); diff != "" {
		t.Errorf("clusters that renew their leases and are not available, with their taints (-want +got):\n%s", diff)
	}
}
