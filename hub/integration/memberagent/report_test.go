package memberagent

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// residentLimitKiB is the bound of the agent's resident memory at rest.
	residentLimitKiB = 30 << 10
	// quietPeriod is how long no write may come.
	quietPeriod = 15 * time.Second
)

// node returns a node of a member.
func node(name, region string) *corev1.Node {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2030m"), corev1.ResourceMemory: resource.MustParse("1000Mi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelTopologyRegion: region,
			corev1.LabelTopologyZone:   region + "-1",
		}},
		Spec:   corev1.NodeSpec{ProviderID: "gce://project/" + name},
		Status: corev1.NodeStatus{Capacity: resources, Allocatable: resources},
	}
}

// createOn creates objects on a member until the end of the test.
func createOn(t *testing.T, of *hubtest.Hub, objects ...client.Object) {
	t.Helper()
	to := kit.New(t, of)
	for _, object := range objects {
		to.MustCreate(object)
		t.Cleanup(func() { _ = client.IgnoreNotFound(to.Delete(context.WithoutCancel(t.Context()), object)) })
	}
}

func TestAnAgentReportsItsMemberAndIsQuietThen(t *testing.T) {
	createOn(t, member,
		node("n1", "north"),
		&clusterv1alpha1.ClusterClaim{ObjectMeta: metav1.ObjectMeta{Name: "tier"}, Spec: clusterv1alpha1.ClusterClaimSpec{Value: "gold"}},
		&clusterv1alpha1.ClusterClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "private", Labels: map[string]string{clusterv1.SpokeOnlyLabelKey: ""}},
			Spec:       clusterv1alpha1.ClusterClaimSpec{Value: "x"},
		},
	)
	c := newCluster(t, hub, "report")
	c.MustCreate(kit.Cluster(c.name))
	c.giveCertificate("a1")
	c.accept()
	c.startAgent(member)

	c.awaitCondition(clusterv1.ManagedClusterConditionJoined, metav1.ConditionTrue)
	c.awaitCondition(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionTrue)
	c.awaitRenewal()
	namespace := &corev1.Namespace{}
	kit.New(t, member).MustGet(client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
	version := kit.Must(member.Client(t).Discovery().ServerVersion()).In(t)
	want := map[string]string{
		clusterv1.ClaimID: string(namespace.UID), clusterv1.ClaimKubeVersion: version.GitVersion, clusterv1.ClaimPlatform: "GCP",
		clusterv1.ClaimProduct: "Other", clusterv1.ClaimRegion: "north", clusterv1.ClaimZone: "north-1", "tier": "gold",
	}
	c.Await("the hub has the claims and the capacity of the member", func(ctx context.Context) error {
		found, err := c.stored(ctx)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, claims(found)); diff != "" {
			return fmt.Errorf("claims (-want +got):\n%s", diff)
		}
		cpu, memory := found.Status.Allocatable["cpu"], found.Status.Capacity["memory"]
		if cpu.String() != "2" || memory.String() != "960Mi" || found.Status.Version.Kubernetes != version.GitVersion {
			return fmt.Errorf("the hub has cpu %s, memory %s, version %q", cpu.String(), memory.String(), found.Status.Version.Kubernetes)
		}
		hash, err := registration.CABundleHash(hubtest.CABundle(t, hub.Config()))
		if err != nil {
			return err
		}
		if got := found.Annotations[registration.CAHashAnnotationKey]; got != hash {
			return fmt.Errorf("the hash of the CA bundle is %q, want %q", got, hash)
		}
		if code, text, err := c.ready(ctx); err != nil || code != 200 {
			return fmt.Errorf("the agent is not ready: %d %s %w", code, text, err)
		}
		return nil
	})

	c.requireQuiet()
	c.awaitRenewal()
	if resident := c.residentKiB(); resident > residentLimitKiB {
		t.Errorf("the agent has %d KiB resident, want at most %d", resident, residentLimitKiB)
	} else {
		t.Logf("the agent has %d KiB resident", resident)
	}

	t.Run("a node and a claim that come later are reported within a minute", func(t *testing.T) {
		createOn(t, member, node("n2", "south"),
			&clusterv1alpha1.ClusterClaim{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Spec: clusterv1alpha1.ClusterClaimSpec{Value: "yes"}})
		kit.Await(t, "the hub has the changed claims and capacity", func(ctx context.Context) error {
			found, err := c.stored(ctx)
			if err != nil {
				return err
			}
			pods, region := found.Status.Capacity["pods"], claims(found)[clusterv1.ClaimRegion]
			if claims(found)["later"] != "yes" || pods.Value() != 220 || region != "" {
				return fmt.Errorf("the hub has %s pods, region %q, claims %v", pods.String(), region, claims(found))
			}
			return nil
		})
	})
}

// requireQuiet fails when the ManagedCluster is written within the quiet period.
func (c *cluster) requireQuiet() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), quietPeriod)
	defer cancel()
	found, err := c.stored(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	events, err := c.Watch(ctx, &clusterv1.ManagedClusterList{},
		&client.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", c.name)})
	if err != nil {
		c.t.Fatal(err)
	}
	defer events.Stop()
	for {
		select {
		case event := <-events.ResultChan():
			now, ok := event.Object.(*clusterv1.ManagedCluster)
			if ok && now.ResourceVersion != found.ResourceVersion {
				c.t.Errorf("the cluster was written, though nothing changed (-before +after):\n%s", cmp.Diff(found, now))
				return
			}
			if !ok && ctx.Err() == nil {
				c.t.Fatalf("the watch ended: %v", event.Object)
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func TestAnAgentStopsItsLeaseWhileItsClusterIsDenied(t *testing.T) {
	c := newCluster(t, hub, "denied")
	c.MustCreate(kit.Cluster(c.name))
	c.giveCertificate("a1")
	c.accept()
	c.startAgent(member)
	c.awaitFirstReport()
	c.awaitRenewal()

	c.setAccepted(false)
	c.Await("the agent is not ready", func(ctx context.Context) error { // the agent reads the denial
		if code, text, err := c.ready(ctx); err != nil || code == 200 {
			return fmt.Errorf("the agent is ready: %d %s %w", code, text, err)
		}
		return nil
	})
	stopped := time.Now() // a renewal that began before may still arrive
	c.requireQuiet()      // several periods of the lease
	if now, err := c.renewTime(t.Context()); err != nil || now.Sub(stopped) > leaseSeconds*time.Second {
		t.Errorf("the lease was renewed at %s, after the agent had stopped at %s: %v", now, stopped, err)
	}

	c.setAccepted(true)
	c.awaitRenewal()
}
