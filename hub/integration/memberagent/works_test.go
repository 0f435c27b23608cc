package memberagent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

// allowWorks lets the agent keep the works of its cluster.
func (c *cluster) allowWorks() {
	c.t.Helper()
	named := metav1.ObjectMeta{Namespace: c.name, Name: "works"}
	c.MustCreate(
		&rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{workv1.GroupName}, Resources: []string{"manifestworks"},
				Verbs: []string{"get", "list", "watch", "update", "patch"},
			},
			{APIGroups: []string{workv1.GroupName}, Resources: []string{"manifestworks/status"}, Verbs: []string{"patch"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: named, Subjects: []rbacv1.Subject{kit.Group(registration.AgentGroup(c.name))},
			RoleRef: kit.Role(named.Name),
		},
	)
}

// TestLostWorksAreReportedOnTheCluster loses the only work of a cluster, as a hub does that was restored from an old backup, and brings it
// back. The policy for agents lets the condition and the event through.
func TestLostWorksAreReportedOnTheCluster(t *testing.T) {
	c := newCluster(t, hub, "lost")
	c.MustCreate(kit.Cluster(c.name))
	c.giveCertificate("a1")
	c.accept()
	c.allowWorks()
	grace := "--appliedmanifestwork-eviction-grace-period=1s"
	c.startAgent(member, grace)
	deliver := func() *workv1.ManifestWork {
		t.Helper()
		w := kit.Work(c.name, "w")
		w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
			Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"of-a-lost-work"}}`),
		}}}
		c.MustCreate(w)
		c.Await("the work is applied", func(ctx context.Context) error {
			err := c.Get(ctx, client.ObjectKeyFromObject(w), w)
			if err == nil && !meta.IsStatusConditionTrue(w.Status.Conditions, workv1.WorkApplied) {
				err = fmt.Errorf("the work is not applied: %+v", w.Status.Conditions)
			}
			return err
		})
		return w
	}
	w := deliver()
	c.agent.Kill()
	c.MustMerge(w, `{"metadata":{"finalizers":null}}`)
	c.MustDelete(w)
	c.startAgent(member, grace)
	found := c.awaitCondition(clusterv1.ManagedClusterConditionWorkEvictionHeld, metav1.ConditionTrue)
	held := meta.FindStatusCondition(found.Status.Conditions, clusterv1.ManagedClusterConditionWorkEvictionHeld)
	if !strings.HasPrefix(held.Message, "The hub has lost 1 of the 1 works that the member has on record. The objects of w stay.") {
		t.Errorf("the message is %q", held.Message)
	}
	c.Await("the event and the agent's page report the lost works", func(ctx context.Context) error {
		var events corev1.EventList
		if err := c.List(ctx, &events, client.InNamespace(c.name)); err != nil || len(events.Items) != 1 ||
			events.Items[0].Message != held.Message {
			return fmt.Errorf("the events are %+v: %w", events.Items, err)
		}
		if code, text, err := c.ready(ctx); err != nil || code != 200 || !strings.Contains(text, "works: \"The hub has lost 1 of the 1 works") {
			return fmt.Errorf("the page is %d %q: %w", code, text, err)
		}
		return nil
	})
	if err := kit.New(t, member).Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "of-a-lost-work"}, &corev1.ConfigMap{}); err !=
		nil {
		t.Error(err)
	}
	deliver()
	c.awaitCondition(clusterv1.ManagedClusterConditionWorkEvictionHeld, metav1.ConditionFalse)
}
