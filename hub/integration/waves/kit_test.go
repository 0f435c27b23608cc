//go:build slow

package waves

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/agent/agenttest"
	"github.com/berth-project/berth/internal/delivery/plan"
)

const (
	namespace = "default"
	// west and east are the groups of canaries, and the values of the label of their clusters.
	west, east = "prod-canary-west", "prod-canary-east"
	stageLabel = "stage"
	members    = 3
)

var errNotYet = errors.New("not yet")

// fleet is a hub with its clusters.
type fleet struct {
	*kit.Client
	size

	t       *testing.T
	hub     *hubtest.Hub
	members []*kit.Client
}

// newFleet starts a hub and joins the clusters.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{size: sizeOf(), t: t, hub: hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true})}
	config := f.hub.Config()
	config.WarningHandler = rest.NoWarnings{} // a new cluster is tainted until its agent reports it
	f.Client = kit.For(t, config)
	started, err := agenttest.Start(t.Context(), agenttest.Options{
		Hub: f.hub.Config(), Agents: f.simulated, Lease: time.Minute,
		Folder: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(); err != nil {
			t.Error(err)
		}
	})
	for i, stage := range []string{west, east, "prod"} {
		f.join("member-"+strconv.Itoa(i), stage)
	}
	for i, name := range started.Names() {
		stage := "prod"
		switch i / (f.canaries - 1) { // the last of each group is a member
		case 0:
			stage = west
		case 1:
			stage = east
		}
		f.label(name, stage)
	}
	ctx, cancel := context.WithTimeout(t.Context(), f.timeout)
	defer cancel()
	kit.NoError(t, started.AwaitReported(ctx, f))
	return f
}

// join starts a member with an agent.
func (f *fleet) join(name, stage string) {
	f.t.Helper()
	on := hubtest.New(f.t, hubtest.Options{Manifests: config.MemberCRDs()})
	cluster := kit.AcceptedCluster(name, stageLabel, stage)
	f.MustCreate(cluster)
	agent := hubtest.NewAgent(f.t)
	agent.StoreCredential(f.t, f.hub, name, "a")
	agent.Start(f.t, on)
	f.members = append(f.members, kit.New(f.t, on))
	f.eventually(f.t, func(ctx context.Context) error {
		if err := f.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) {
			return fmt.Errorf("%s is not available: %w", name, errNotYet)
		}
		return nil
	})
}

func (f *fleet) label(name, stage string) {
	f.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, stageLabel, stage)
	cluster := kit.Cluster(name)
	f.MustPatch(cluster, client.RawPatch(types.MergePatchType, patch))
}

// create stores an object in YAML.
func (f *fleet) create(object client.Object, text string) {
	f.t.Helper()
	kit.NoError(f.t, yaml.UnmarshalStrict([]byte(text), object))
	f.MustCreate(object)
}

// groups returns the clusters of each decision group, by its index.
func (f *fleet) groups(placement string) [][]string {
	f.t.Helper()
	list := &clusterv1beta1.PlacementDecisionList{}
	f.MustList(list, client.InNamespace(namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: placement})
	var out [][]string
	for i := range list.Items {
		index := kit.Must(strconv.Atoi(list.Items[i].Labels[clusterv1beta1.DecisionGroupIndexLabel])).In(f.t)
		for len(out) <= index {
			out = append(out, nil)
		}
		for _, decision := range list.Items[i].Status.Decisions {
			out[index] = append(out[index], decision.ClusterName)
		}
	}
	return out
}

// delivered is what the hub has on record about the work of one cluster.
type delivered struct{ started, succeeded time.Time }

// awaitRolledOut waits until a set is rolled out, and returns what is on record of each cluster.
func (f *fleet) awaitRolledOut(set *workv1alpha1.ManifestWorkReplicaSet) map[string]delivered {
	f.t.Helper()
	f.eventually(f.t, func(ctx context.Context) error {
		if err := f.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		found := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.PlacementRolledOut)
		if found == nil || found.Status != metav1.ConditionTrue || found.ObservedGeneration != set.Generation {
			return fmt.Errorf("%+v: %w", set.Status, errNotYet)
		}
		return nil
	})
	list := &workv1.ManifestWorkList{}
	f.MustList(list, client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)})
	out := map[string]delivered{}
	for i := range list.Items {
		work := &list.Items[i]
		started, err := time.Parse(time.RFC3339Nano, work.Annotations[workv1.StartedAtAnnotation])
		progressing := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkProgressing)
		if err != nil || progressing == nil || progressing.Status != metav1.ConditionFalse || progressing.ObservedGeneration != work.Generation {
			f.t.Fatalf("work %s/%s is not delivered: %v, %+v", work.Namespace, work.Name, err, work.Status)
		}
		out[work.Namespace] = delivered{started, progressing.LastTransitionTime.Time}
	}
	return out
}

// requireOrder requires that each group began after the last cluster of the group before had succeeded. The times of conditions have no
// fractions of a second.
func requireOrder(t *testing.T, groups [][]string, of map[string]delivered) {
	t.Helper()
	var before time.Time
	for index, clusters := range groups {
		var last time.Time
		for _, cluster := range clusters {
			if of[cluster].started.Before(before) {
				t.Errorf("%s of group %d began at %s, before group %d had succeeded at %s", cluster, index, of[cluster].started, index-1, before)
			}
			last = slices.MaxFunc([]time.Time{last, of[cluster].started, of[cluster].succeeded}, time.Time.Compare)
		}
		before = last
	}
}
