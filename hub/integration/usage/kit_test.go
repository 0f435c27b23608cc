package usage

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/join"
)

const (
	// object is the name of the scores, byCPU the score that placements rank by.
	object, byCPU = "berth-usage", "cpuAvailable"
	// interval is the time between two measurements of the agents.
	interval = "5s"
)

var errNotYet = errors.New("not yet")

// state is two clusters: that of an agent, and another with a fixed score.
type state struct {
	*kit.Client
	t                     *testing.T
	namespace, own, other string
	toMember              *kit.Client
	agent                 *hubtest.Agent
	// kubeconfig is that of the account of the agent on its member.
	kubeconfig string
}

// newState creates both clusters and a placement of one, the one with more free CPU. The agent does not run.
func newState(t *testing.T, score int32) *state {
	t.Helper()
	w := &state{
		Client: kit.New(t, hub), t: t, namespace: hub.Namespace(t),
		toMember: kit.New(t, member), agent: hubtest.NewAgent(t),
	}
	installed := join.Agent{Cluster: "own", Image: "berth-agent", Driver: "csr", Profile: join.ProfileBound, ReportUsage: true}
	kit.NoError(t, installed.Install(t.Context(), member.Config()))
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + join.AgentNamespace}
	w.kubeconfig = member.WriteKubeconfig(t, member.ConfigFor(t, "system:serviceaccount:"+join.AgentNamespace+":berth-agent", groups...))
	w.own, w.other = w.namespace+"-own", w.namespace+"-other"
	w.MustCreate(kit.Set(w.namespace), kit.Binding(w.namespace, w.namespace))
	for _, name := range []string{w.own, w.other} {
		w.MustCreate(kit.AcceptedCluster(name, clusterv1beta2.ClusterSetLabel, w.namespace))
		w.AwaitCondition(kit.Cluster(name), clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionTrue, "")
	}
	fixed := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: w.other, Name: object}}
	fixed.Status.Scores = []clusterv1alpha1.AddOnPlacementScoreItem{{Name: byCPU, Value: score}}
	w.MustCreateWithStatus(fixed)
	w.MustCreate(kit.Placement(w.namespace, "free", kit.ByScore(object, byCPU)))
	w.agent.StoreCredential(t, hub, w.own, "a1")
	return w
}

// startAgent starts the agent with the permissions on its member that an installed one has.
func (s *state) startAgent() {
	s.t.Helper()
	s.agent.Start(s.t, member, "--report-usage", "--usage-interval="+interval, "--member-kubeconfig="+s.kubeconfig)
}

// createOnMember creates an object on the member until the end of the test.
func (s *state) createOnMember(stored client.Object) {
	s.t.Helper()
	s.toMember.MustCreate(stored)
	s.t.Cleanup(func() { s.deleteOnMember(stored) })
}

// deleteOnMember deletes an object on the member at once: no kubelet ends pods there.
func (s *state) deleteOnMember(stored client.Object) {
	s.t.Helper()
	if err := s.toMember.Delete(context.WithoutCancel(s.t.Context()), stored, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) !=
		nil {
		s.t.Error(err)
	}
}

func (s *state) awaitDecision(want string) {
	s.t.Helper()
	s.AwaitSelected(s.namespace, "free", want)
}

// awaitScores waits until the hub has scores of the own cluster, and returns the object.
func (s *state) awaitScores(want map[string]int32) *clusterv1alpha1.AddOnPlacementScore {
	s.t.Helper()
	out := &clusterv1alpha1.AddOnPlacementScore{}
	s.Await("the hub has scores of the own cluster", func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKey{Namespace: s.own, Name: object}, out); err != nil {
			return err
		}
		got := map[string]int32{}
		for _, item := range out.Status.Scores {
			got[item.Name] = item.Value
		}
		for name, value := range want {
			if found, ok := got[name]; !ok || found != value {
				return fmt.Errorf("the scores are %v, want %v: %w", got, want, errNotYet)
			}
		}
		return nil
	})
	return out
}

// node returns a node of 10 cores, 10 GiB and 10 pods that is ready.
func node(name string) *corev1.Node {
	has := corev1.ResourceList{"cpu": resource.MustParse("10"), "memory": resource.MustParse("10Gi"), "pods": resource.MustParse("10")}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			Capacity: has, Allocatable: has, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// pod returns a pod that is bound to a node.
func pod(name, on, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec: corev1.PodSpec{
			NodeName: on, AutomountServiceAccountToken: new(bool),
			Containers: []corev1.Container{{
				Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
			}},
		},
	}
}
