package memberwork

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// definition returns a CustomResourceDefinition whose group is the namespace of the test.
const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.NS.example.com"},
	"spec":{"group":"NS.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
	"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

const widget = `{"apiVersion":"NS.example.com/v1","kind":"Widget","metadata":{"namespace":"NS","name":"w"},"spec":{"size":1}}`

// TestVector22ADefinitionAndItsResourceInOneWork checks that no status in between shows an error.
func TestVector22ADefinitionAndItsResourceInOneWork(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", widget, definition)
	seen := f.watchStatus(t, w)
	f.deliver(w)
	for _, status := range seen() {
		if applied := meta.FindStatusCondition(status.Conditions, workv1.WorkApplied); applied != nil && applied.Status != metav1.ConditionTrue {
			t.Errorf("an error was shown: %s", applied.Message)
		}
	}
	f.remove(w)
	found := &unstructured.Unstructured{}
	found.SetAPIVersion("apiextensions.k8s.io/v1")
	found.SetKind("CustomResourceDefinition")
	found.SetName("widgets." + f.cluster + ".example.com")
	if err := f.gone(t.Context(), f.on, found); err != nil {
		t.Error(err)
	}
}

// watchStatus returns a function that returns every status of a work since the call.
func (f *fixture) watchStatus(t *testing.T, of *workv1.ManifestWork) func() []workv1.ManifestWorkStatus {
	t.Helper()
	watching := kit.Must(f.hub.Watch(t.Context(), &workv1.ManifestWorkList{}, client.InNamespace(of.Namespace))).In(t)
	return func() []workv1.ManifestWorkStatus {
		var out []workv1.ManifestWorkStatus
		for {
			select {
			case event := <-watching.ResultChan():
				if found, ok := event.Object.(*workv1.ManifestWork); ok {
					out = append(out, found.Status)
				}
			case <-time.After(time.Second):
				watching.Stop()
				return out
			}
		}
	}
}

// TestVector23AnUnknownKindBesideARemovedManifest checks that the manifest of an unknown kind fails alone.
func TestVector23AnUnknownKindBesideARemovedManifest(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"b"}}`)
	f.deliver(w)
	f.change(w, func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests = []workv1.Manifest{
			f.manifest(configA),
			f.manifest(`{"apiVersion":"nowhere.example.com/v1","kind":"Unknown","metadata":{"namespace":"NS","name":"u"}}`),
		}
	})
	applied := f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionFalse)
	if !strings.Contains(applied.Message, "1 of 2 failed: Unknown "+f.cluster+"/u: "+workv1.PermanentFailurePrefix+
		"the member does not know the kind Unknown") {
		t.Errorf("the message is %q", applied.Message)
	}
	f.on.AwaitGone(f.configMap("b"))
}

// TestVector25ANamespaceThatWasThereStays checks that an adopted object is changed and never deleted.
func TestVector25ANamespaceThatWasThereStays(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NS","labels":{"team":"a"}}}`, configA)
	f.deliver(w)
	namespace := kit.Namespace(f.cluster)
	f.on.MustRead(namespace)
	if namespace.Labels["team"] != "a" || len(namespace.OwnerReferences) > 0 {
		t.Errorf("the adopted namespace has the labels %v and the owners %v", namespace.Labels, namespace.OwnerReferences)
	}
	f.remove(w)
	f.on.MustRead(namespace)
	if namespace.DeletionTimestamp != nil || namespace.Labels[workv1.RecordLabel] != "" {
		t.Errorf("the namespace is deleted at %v, with the labels %v", namespace.DeletionTimestamp, namespace.Labels)
	}
	if err := f.gone(t.Context(), f.on, f.configMap("a")); err != nil {
		t.Error(err)
	}
}

// TestVector26AResourceGoesBeforeItsOperatorAndItsDefinition deletes a work whose resource has a finalizer of its operator.
func TestVector26AResourceGoesBeforeItsOperatorAndItsDefinition(t *testing.T) {
	f := newFixture(t)
	finalized := strings.Replace(widget, `"name":"w"`, `"name":"w","finalizers":["example.com/operator"]`, 1)
	w := f.newWork("w", definition, deployment, finalized)
	f.deliver(w)
	f.hub.MustDelete(w)
	f.awaitMessage(w, workv1.WorkDeleting, "example.com/operator")
	f.on.MustRead(f.deployment())
	found := &unstructured.Unstructured{}
	found.SetAPIVersion(f.cluster + ".example.com/v1")
	found.SetKind("Widget")
	found.SetNamespace(f.cluster)
	found.SetName("w")
	f.on.MustMerge(found, `{"metadata":{"finalizers":null}}`)
	f.hub.AwaitGone(w)
	if err := f.gone(t.Context(), f.on, f.deployment()); err != nil {
		t.Error(err)
	}
}

// awaitMessage waits until the message of a condition contains a text.
func (f *fixture) awaitMessage(of *workv1.ManifestWork, kind, text string) {
	f.t.Helper()
	f.hub.AwaitObject(of, "the message of a condition contains a text", func() error {
		if found := meta.FindStatusCondition(of.Status.Conditions, kind); found == nil || !strings.Contains(found.Message, text) {
			return fmt.Errorf("%s is %+v, want %q", kind, found, text)
		}
		return nil
	})
}

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"NS","name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},
	"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

func (f *fixture) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: "web"}}
}

// TestVector27ReplicasThatTheWorkDoesNotNameStay scales a Deployment as a HorizontalPodAutoscaler does.
func TestVector27ReplicasThatTheWorkDoesNotNameStay(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", deployment)
	f.deliver(w)
	if progress := f.awaitCondition(w, workv1.WorkProgressing, metav1.ConditionTrue); !strings.Contains(progress.Message,
		"Deployment "+f.cluster+"/web: ") {
		t.Errorf("the progress is %q", progress.Message) // the member has no nodes
	}
	found := f.deployment()
	scale := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`))
	f.on.MustPatch(found, scale)
	f.change(w, func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests = []workv1.Manifest{f.manifest(strings.Replace(deployment, `"image":"i"`, `"image":"j"`, 1))}
	})
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	f.on.MustRead(found)
	if *found.Spec.Replicas != 3 || found.Spec.Template.Spec.Containers[0].Image != "j" {
		t.Errorf("the Deployment has %d replicas of %v", *found.Spec.Replicas, found.Spec.Template.Spec.Containers)
	}
}

// TestVector28TwoWorksWithOneObject checks that equal manifests share, and that the older work keeps the object otherwise.
func TestVector28TwoWorksWithOneObject(t *testing.T) {
	f := newFixture(t)
	first, second := f.newWork("first", configA), f.newWork("second", configA)
	f.deliver(first)
	f.deliver(second)
	other := strings.Replace(configA, `"1"`, `"2"`, 1)
	third := f.newWork("third", other)
	f.create(f.hub, third)
	if applied := f.awaitCondition(third, workv1.WorkApplied, metav1.ConditionFalse); !strings.Contains(applied.Message,
		`owned by work "first"`) {
		t.Errorf("the message is %q", applied.Message)
	}
	f.remove(first)
	a := f.configMap("a")
	f.on.MustRead(a)
	if a.DeletionTimestamp != nil || a.Data["k"] != "1" {
		t.Errorf("the shared object is %+v", a)
	}
	f.remove(second)
	f.awaitCondition(third, workv1.WorkApplied, metav1.ConditionTrue)
	f.on.MustRead(a)
	if a.Data["k"] != "2" {
		t.Errorf("the data is %v", a.Data)
	}
	f.remove(third)
	if err := f.gone(t.Context(), f.on, a); err != nil {
		t.Error(err)
	}
}

// TestVector29AFinishedJobIsNotMadeAgain removes a finished Job as its TTL does.
func TestVector29AFinishedJobIsNotMadeAgain(t *testing.T) {
	f := newFixture(t)
	text := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"NS","name":"once","labels":{"v":"1"}},"spec":{"completions":0,
		"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`
	w := f.newWork("w", text)
	f.deliver(w)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: "once"}}
	kit.Await(f.t, "the record reports the completed Job", func(ctx context.Context) error {
		record, err := f.record(ctx, "w")
		if err == nil && !record.Status.AppliedResources[0].Completed {
			err = fmt.Errorf("the record is %+v", record.Status)
		}
		return err
	})
	kit.NoError(t, f.on.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	f.on.AwaitGone(job)
	f.start()
	f.requests.reset(nil)
	time.Sleep(3 * time.Second)
	if err := f.gone(t.Context(), f.on, job); err != nil {
		t.Error(err)
	}
	f.change(w, func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests = []workv1.Manifest{f.manifest(strings.Replace(text, `"v":"1"`, `"v":"2"`, 1))}
	})
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	if !slices.ContainsFunc(f.requests.list(), func(write string) bool { return strings.HasSuffix(write, "/jobs/once") }) {
		t.Errorf("the Job was not made again for another manifest: %v", f.requests.list())
	}
}

// onRecord checks that each object that exists is on the record of a work.
func (f *fixture) onRecord(t *testing.T, work string, objects ...client.Object) {
	t.Helper()
	record, _ := f.record(t.Context(), work)
	for _, object := range objects {
		if f.gone(t.Context(), f.on, object) != nil && !slices.ContainsFunc(record.Status.AppliedResources,
			func(each workv1.AppliedManifestResourceMeta) bool {
				return each.Name == object.GetName() && (each.Resource == "secrets") == (fmt.Sprintf("%T", object) == "*v1.Secret")
			}) {
			t.Errorf("%T %s is on no record: %+v", object, object.GetName(), record.Status)
		}
	}
}

// TestARestartWritesNothing restarts the agent of settled works.
func TestARestartWritesNothing(t *testing.T) {
	f := newFixture(t)
	var all []*workv1.ManifestWork
	for n := range 20 {
		w := f.newWork(fmt.Sprint("w", n), fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"c%d"}}`, n))
		f.create(f.hub, w)
		all = append(all, w)
	}
	for _, w := range all {
		f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	}
	f.stop()
	f.requests.reset(nil)
	f.start()
	fresh := f.newWork("fresh", configA)
	f.deliver(fresh)
	time.Sleep(time.Second)
	for _, write := range f.requests.list() {
		if !strings.Contains(write, "fresh") && !strings.HasSuffix(write, "/selfsubjectreviews") && !strings.HasSuffix(write, "/configmaps/a") &&
			!strings.HasSuffix(write, "/appliedmanifestworks") {
			t.Errorf("a restart wrote %s", write)
		}
	}
}

// TestVector32ARefusedAgentKeepsWhatThereIs takes the permissions of the agent away.
func TestVector32ARefusedAgentKeepsWhatThereIs(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA)
	f.deliver(w)
	f.hub.MustDelete(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: f.cluster, Name: "work"}})
	f.start()
	time.Sleep(2 * time.Second)
	f.on.MustRead(f.configMap("a"))
	if record, err := f.record(t.Context(), "w"); err != nil || record.Status.EvictionStartTime != nil {
		t.Errorf("the record is %+v, %v", record, err)
	}
}

// TestVector31AnotherURLTouchesNothing lets the agent reach the hub by another URL.
func TestVector31AnotherURLTouchesNothing(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA)
	f.deliver(w)
	a := f.configMap("a")
	f.on.MustRead(a)
	f.url = "https://elsewhere.example"
	f.start()
	fresh := f.newWork("fresh", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"b"}}`)
	f.deliver(fresh)
	after := f.configMap("a")
	f.on.MustRead(after)
	if a.ResourceVersion != after.ResourceVersion {
		t.Errorf("the object was written: %v", f.requests.list())
	}
	if _, err := f.record(t.Context(), "fresh"); err != nil {
		t.Error(err)
	}
}

// TestVector33RulesThatCannotBeStored has a feedback name twice and a condition with a blank in its name.
func TestVector33RulesThatCannotBeStored(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA)
	path := workv1.JSONPath{Name: "k", Path: ".metadata.name"}
	w.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: f.cluster, Name: "*"},
		FeedbackRules: []workv1.FeedbackRule{
			{Type: "JSONPaths", JSONPaths: []workv1.JSONPath{path}},
			{Type: "JSONPaths", JSONPaths: []workv1.JSONPath{path}},
		},
		ConditionRules: []workv1.ConditionRule{
			{Condition: "my cond", Type: "CEL", CelExpressions: []string{"true"}},
			{Condition: "Good", Type: "CEL", CelExpressions: []string{"object.metadata.name == 'a'"}},
			{Condition: "Progressing", Type: "CEL", CelExpressions: []string{"object.status.observedGeneration == 1"}},
		},
	}}
	f.deliver(w)
	f.awaitCondition(w, "Good", metav1.ConditionTrue)
	f.awaitCondition(w, workv1.WorkProgressing, metav1.ConditionUnknown)
	manifest := w.Status.ResourceStatus.Manifests[0]
	if values := manifest.StatusFeedbacks.Values; len(values) != 1 || *values[0].Value.String != "a" {
		t.Errorf("the feedback is %+v", values)
	}
	if synced := meta.FindStatusCondition(manifest.Conditions, workv1.ManifestStatusFeedbackSynced); synced == nil ||
		!strings.Contains(synced.Message, "k: an earlier rule has the same name") {
		t.Errorf("the condition is %+v", synced)
	}
}
