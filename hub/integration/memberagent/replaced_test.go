package memberagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// quiet is how long an agent is watched that must write nothing.
const quiet = 3 * time.Second

// TestAMemberThatWasReplacedDeliversNothing records another member under the name of a running agent. From then on the agent applies
// nothing, deletes nothing, and writes no status and no finalizer of a work. It reports its member. Once the hub records it again, it goes
// on.
func TestAMemberThatWasReplacedDeliversNothing(t *testing.T) {
	c := newCluster(t, hub, "replaced")
	c.MustCreate(kit.Cluster(c.name))
	c.giveCertificate("a1")
	c.accept()
	c.allowWorks()
	c.startAgent(member)
	here := kit.New(t, member)
	changed, deleted := c.deliverConfigMap("changed"), c.deliverConfigMap("deleted")

	record := func(uid string) {
		t.Helper()
		c.MustMerge(kit.Cluster(c.name), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, clusterv1.ClusterUIDAnnotationKey, uid))
	}
	identity := kit.Namespace(metav1.NamespaceSystem)
	here.MustRead(identity)
	record("another-member")
	c.Await("the agent reports its member to the hub", func(ctx context.Context) error {
		list := &certificatesv1.CertificateSigningRequestList{}
		if err := c.List(ctx, list, client.MatchingLabels{clusterv1.ClusterNameLabelKey: c.name}); err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].Annotations[clusterv1.ClusterUIDAnnotationKey] != string(identity.UID) {
			return fmt.Errorf("the requests are %+v, want one with the UID %s", list.Items, identity.UID)
		}
		return nil
	})
	if code, text, err := c.ready(t.Context()); err != nil || code == 200 || !strings.Contains(text, "nothing is delivered or deleted here") {
		t.Errorf("the agent's page is %d %q, %v", code, text, err)
	}
	c.MustMerge(changed, configMapPatch("changed", "2"))
	c.MustDelete(deleted)
	kit.AwaitWithin(t, quiet+time.Minute, "the former agent writes nothing for some seconds", func() func(context.Context) error {
		until := time.Now().Add(quiet)
		return func(ctx context.Context) error {
			if err := errors.Join(wantData(ctx, here, "changed", "1"), wantData(ctx, here, "deleted", "1")); err != nil {
				t.Fatalf("the former agent wrote on its member: %v", err)
			}
			left := &workv1.ManifestWork{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(deleted), left); err != nil || len(left.Finalizers) != 1 {
				t.Fatalf("the former agent released a work: %v, finalizers %v", err, left.Finalizers)
			}
			if time.Now().Before(until) {
				return errors.New("the time is not over")
			}
			return nil
		}
	}())

	record(string(identity.UID))
	c.Await("the recorded agent goes on", func(ctx context.Context) error { return wantData(ctx, here, "changed", "2") })
	c.MustDelete(changed) // the member, which other tests use, has no record of it then
	c.AwaitGone(deleted, changed)
	here.AwaitGone(kit.ConfigMap("default", "deleted"), kit.ConfigMap("default", "changed"))
}

func configMapPatch(name, value string) string {
	return fmt.Sprintf(`{"spec":{"workload":{"manifests":[%s]}}}`, configMapManifest(name, value))
}

func configMapManifest(name, value string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":%q},"data":{"a":%q}}`, name, value)
}

// deliverConfigMap creates a work with a ConfigMap, each of a name, and waits until it is applied.
func (c *cluster) deliverConfigMap(name string) *workv1.ManifestWork {
	c.t.Helper()
	w := kit.Work(c.name, name)
	w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(configMapManifest(name, "1"))}}}
	c.MustCreate(w)
	c.AwaitObject(w, "the work is applied", func() error {
		if !meta.IsStatusConditionTrue(w.Status.Conditions, workv1.WorkApplied) {
			return fmt.Errorf("the work is not applied: %+v", w.Status.Conditions)
		}
		return nil
	})
	return w
}

// wantData returns an error unless a ConfigMap of the member has a value.
func wantData(ctx context.Context, on *kit.Client, name, value string) error {
	found := &corev1.ConfigMap{}
	err := on.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, found)
	if err == nil && found.Data["a"] != value {
		err = fmt.Errorf("the ConfigMap %s has %v, want %s", name, found.Data, value)
	}
	return err
}
