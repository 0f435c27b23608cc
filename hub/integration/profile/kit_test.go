package profile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var errNotYet = errors.New("not yet")

// state is a namespace that is bound to a set of its own, and a manager that publishes profiles with the permissions that it has in a
// cluster.
type state struct {
	*kit.Client

	t         *testing.T
	hub       *hubtest.Hub
	namespace string
	manager   *hubtest.Manager
}

func newState(t *testing.T, args ...string) *state {
	t.Helper()
	return newStateOn(t, shared, args...)
}

func newStateOn(t *testing.T, hub *hubtest.Hub, args ...string) *state {
	t.Helper()
	admin := hub.Config()
	admin.QPS = -1 // the consumer reads without a pause
	w := &state{Client: kit.For(t, admin), t: t, hub: hub, namespace: hub.Namespace(t)}
	w.create(kit.Set(w.namespace))
	w.bind(w.namespace)
	w.start(args...)
	return w
}

// start starts a manager.
func (s *state) start(args ...string) {
	s.t.Helper()
	s.manager = hubtest.StartManager(s.t, s.hub, hubtest.ManagerOptions{Args: append([]string{"--controllers=*,profile"}, args...)})
}

// create stores an object that the end of the test removes.
func (s *state) create(object client.Object) {
	s.t.Helper()
	s.MustCreate(object)
	if object.GetNamespace() == "" {
		s.t.Cleanup(func() { s.delete(object) })
	}
}

func (s *state) delete(object client.Object) {
	s.t.Helper()
	if err := client.IgnoreNotFound(s.Delete(context.WithoutCancel(s.t.Context()), object)); err != nil {
		s.t.Error(err)
	}
}

// bind binds the set of the test in a namespace.
func (s *state) bind(namespace string) *clusterv1beta2.ManagedClusterSetBinding {
	s.t.Helper()
	out := kit.Binding(namespace, s.namespace)
	s.create(out)
	return out
}

func (s *state) name(cluster string) string { return s.namespace + "-" + cluster }

// join stores a cluster of the set that is accepted and has reported.
func (s *state) join(short string, labels map[string]string) *clusterv1.ManagedCluster {
	s.t.Helper()
	out := kit.Cluster(s.name(short), clusterv1beta2.ClusterSetLabel, s.namespace)
	maps.Copy(out.Labels, labels)
	out.Spec.HubAcceptsClient = true
	out.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{
		{URL: "https://" + short + ".example.com", CABundle: []byte("ca of " + short)},
	}
	s.create(out)
	s.report(out, func(status *clusterv1.ManagedClusterStatus) {
		status.Version.Kubernetes = "v1.36.3"
		status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "id.k8s.io", Value: short}}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type:   clusterv1.ManagedClusterConditionAvailable,
			Status: metav1.ConditionTrue, Reason: clusterv1.ReasonManagedClusterAvailable,
		})
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: clusterv1.ManagedClusterConditionJoined, Status: metav1.ConditionTrue,
			Reason: clusterv1.ReasonManagedClusterJoined,
		})
	})
	return out
}

// report changes the status of a cluster.
func (s *state) report(cluster *clusterv1.ManagedCluster, change func(*clusterv1.ManagedClusterStatus)) {
	s.t.Helper()
	before := cluster.DeepCopy()
	change(&cluster.Status)
	s.MustPatchStatus(cluster, client.MergeFrom(before))
}

// change changes an object but its status.
func change[T client.Object](w *state, object T, change func(T)) {
	w.t.Helper()
	before, _ := object.DeepCopyObject().(client.Object)
	change(object)
	w.MustPatch(object, client.MergeFrom(before))
}

// profile returns the profile of a cluster in a namespace.
func (s *state) profile(ctx context.Context, namespace, cluster string) (*multiclusterv1alpha1.ClusterProfile, error) {
	out := &multiclusterv1alpha1.ClusterProfile{}
	return out, s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cluster}, out)
}

// awaitProfile waits until the profile of a cluster satisfies a check.
func (s *state) awaitProfile(namespace, cluster string,
	check func(*multiclusterv1alpha1.ClusterProfile) bool,
) *multiclusterv1alpha1.ClusterProfile {
	s.t.Helper()
	var out *multiclusterv1alpha1.ClusterProfile
	s.Await("the profile of a cluster satisfies a check", func(ctx context.Context) error {
		found, err := s.profile(ctx, namespace, cluster)
		if err != nil {
			return err
		}
		if out = found; !check(found) {
			return fmt.Errorf("the profile is %+v: %w", found, errNotYet)
		}
		return nil
	})
	return out
}

// profiles returns the names of the profiles in a namespace, sorted.
func (s *state) profiles(ctx context.Context, namespace string) (string, error) {
	list := &multiclusterv1alpha1.ClusterProfileList{}
	if err := s.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	var out []string
	for i := range list.Items {
		out = append(out, strings.TrimPrefix(list.Items[i].Name, s.namespace+"-"))
	}
	slices.Sort(out)
	return strings.Join(out, " "), nil
}

func (s *state) awaitProfiles(namespace, want string) {
	s.t.Helper()
	s.Await("the namespace has exactly the wanted profiles", func(ctx context.Context) error {
		if got, err := s.profiles(ctx, namespace); err != nil || got != want {
			return fmt.Errorf("namespace %s has the profiles %q, want %q: %w", namespace, got, want, errors.Join(err, errNotYet))
		}
		return nil
	})
}

// writes returns how many writes of profiles and decisions the API server has completed.
func (s *state) writes() float64 {
	s.t.Helper()
	total := 0.0
	for _, count := range hubtest.Writes(s.hub.ReadMetrics(s.t),
		func(group, _ string) bool { return group == multiclusterv1alpha1.GroupName }) {
		total += count
	}
	return total
}

// status returns the status of a condition of a profile.
func status(profile *multiclusterv1alpha1.ClusterProfile, kind string) metav1.ConditionStatus {
	if found := meta.FindStatusCondition(profile.Status.Conditions, kind); found != nil {
		return found.Status
	}
	return ""
}
