package addoninstall

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/addon/plan"
)

// template returns an AddOnTemplate with a ConfigMap whose text has variables.
func (f *fleet) template(version string) *unstructured.Unstructured {
	f.t.Helper()
	return parse(f.t, fmt.Sprintf(`
apiVersion: %s
kind: AddOnTemplate
metadata: {name: %s}
spec:
  addonName: %[2]s
  agentSpec:
    workload:
      manifests:
        - apiVersion: v1
          kind: ConfigMap
          metadata: {namespace: default, name: agent}
          data: {text: "%s on {{CLUSTER_NAME}}, {{VERSION}}"}
`, addOnVersion, f.namespace, version))
}

// storeTemplate stores the template.
func (f *fleet) storeTemplate(version string) {
	f.t.Helper()
	if err := f.Apply(f.t.Context(), client.ApplyConfigurationFromUnstructured(f.template(version)), client.FieldOwner("test"),
		client.ForceOwnership); err != nil {
		f.t.Fatal(err)
	}
}

func anyProgress(map[string]any) bool { return true }

// awaitTexts waits until the works of the add-on have these texts, in the order of the clusters and separated by ";"; "-" is no work.
func (f *fleet) awaitTexts(want string) {
	f.t.Helper()
	f.Await("the works of the add-on have these texts, in the order of the clusters and separated by \";\"", func(ctx context.Context) error {
		var got []string
		for _, cluster := range f.clusters {
			work := &workv1.ManifestWork{}
			err := f.Get(ctx, client.ObjectKey{Namespace: cluster, Name: "addon-" + f.namespace + "-deploy-0"}, work)
			switch {
			case apierrors.IsNotFound(err) || err == nil && !work.DeletionTimestamp.IsZero():
				got = append(got, "-")
			case err != nil:
				return err
			default:
				raw := string(work.Spec.Workload.Manifests[0].Raw)
				_, text, _ := strings.Cut(raw, `"text":"`)
				text, _, _ = strings.Cut(text, `"`)
				got = append(got, strings.ReplaceAll(text, cluster, "it"))
			}
		}
		if text := strings.Join(got, "; "); text != want {
			return fmt.Errorf("the works have %q, want %q: %w", text, want, errNotYet)
		}
		return nil
	})
}

// reportWork lets the agent of a cluster report on its work.
func (f *fleet) reportWork(cluster string, healthy bool) {
	f.t.Helper()
	work := kit.Work(cluster, "addon-"+f.namespace+"-deploy-0")
	f.AwaitStatusChanged(work, func() {
		for kind, status := range map[string]bool{
			workv1.WorkApplied: true, workv1.WorkAvailable: healthy, workv1.WorkDegraded: !healthy,
			workv1.WorkProgressing: false,
		} {
			text := metav1.ConditionFalse
			if status {
				text = metav1.ConditionTrue
			}
			meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
				Type: kind, Status: text, Reason: "Test",
				ObservedGeneration: work.Generation,
			})
		}
	})
}

// setTemplates lets the add-on support templates with one as the default, or not.
func (f *fleet) setTemplates(addOn *unstructured.Unstructured, supported bool) {
	f.t.Helper()
	f.Await("the supported configurations are stored", func(ctx context.Context) error {
		if err := f.Get(ctx, client.ObjectKeyFromObject(addOn), addOn); err != nil {
			return err
		}
		kinds, _, _ := unstructured.NestedSlice(addOn.Object, "spec", "supportedConfigs")
		if kinds = kinds[:1]; supported {
			kinds = append(kinds, map[string]any{
				"group": "addon.open-cluster-management.io", "resource": "addontemplates", "defaultConfig": map[string]any{"name": f.namespace},
			})
		}
		if err := unstructured.SetNestedSlice(addOn.Object, kinds, "spec", "supportedConfigs"); err != nil {
			return err
		}
		return f.Update(ctx, addOn)
	})
}

// awaitWithoutTemplate waits until the add-on on a cluster reports that it has a work and no template, or no longer reports it.
func (f *fleet) awaitWithoutTemplate(cluster string, want bool) {
	f.t.Helper()
	addOn := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: f.namespace}}
	f.AwaitObject(addOn, "the add-on on a cluster reports that it has a work and no template, or no longer reports it", func() error {
		if got := meta.IsStatusConditionFalse(addOn.Status.Conditions, "TemplateDelivered"); got != want {
			return fmt.Errorf("the add-on on %s has the conditions %+v: %w", cluster, addOn.Status.Conditions, errNotYet)
		}
		return nil
	})
}

// TestATemplateIsDeliveredByWorks follows an AddOnTemplate: it is rendered for each cluster, paced, stopped by a canary, and removed.
func TestATemplateIsDeliveredByWorks(t *testing.T) {
	f := newFleet(t, 2)
	f.configure("v1")
	f.storeTemplate("one")
	startManager(t)
	addOn := f.install(f.namespace)
	f.setTemplates(addOn, true)
	for i, want := range []string{"one on it, v1; -", "one on it, v1; one on it, v1"} {
		f.awaitTexts(want)
		f.reportWork(f.clusters[i], true)
	}
	f.awaitReason(f.namespace, "Completed", anyProgress)

	t.Log("a template that degrades stops at the canary")
	f.storeTemplate("two")
	f.awaitTexts("two on it, v1; one on it, v1")
	f.reportWork(f.clusters[0], false)
	f.awaitReason(f.namespace, "Failed", anyProgress)
	f.awaitTexts("two on it, v1; one on it, v1")
	f.storeTemplate("one")
	f.awaitTexts("one on it, v1; one on it, v1")
	f.reportWork(f.clusters[0], true)
	f.awaitReason(f.namespace, "Completed", anyProgress)

	t.Log("without a template, the works stay and the add-ons report it")
	f.setTemplates(addOn, false)
	f.awaitWithoutTemplate(f.clusters[0], true)
	f.awaitTexts("one on it, v1; one on it, v1")
	f.setTemplates(addOn, true)
	f.awaitWithoutTemplate(f.clusters[0], false)

	t.Log("a work goes with its add-on")
	f.label(f.clusters[1], "use", "no")
	f.awaitTexts("one on it, v1; -")
}

// TestTheWorkOfAnotherClientStays has a work of another client with the name of an add-on's, and then a work of another manager of add-ons.
func TestTheWorkOfAnotherClientStays(t *testing.T) {
	f := newFleet(t, 1)
	f.configure("v1")
	f.storeTemplate("one")
	foreign := f.work("foreign")
	f.MustCreate(foreign)
	startManager(t)
	f.setTemplates(f.install(f.namespace), true)
	f.awaitReason(f.namespace, "Failed", anyProgress)
	f.awaitTexts("foreign")
	f.MustDelete(foreign)
	f.awaitTexts("one on it, v1")
	f.reportWork(f.clusters[0], true)
	f.awaitReason(f.namespace, "Completed", anyProgress)

	t.Log("what another manager wrote stays until the next rollout")
	kit.Await(t, "the work is changed", func(ctx context.Context) error {
		work := f.work("other")
		if err := f.Get(ctx, client.ObjectKeyFromObject(work), work); err != nil {
			return err
		}
		work.Annotations, work.Spec = nil, f.work("other").Spec
		return f.Update(ctx, work)
	})
	f.reportWork(f.clusters[0], true)
	f.settle()
	f.awaitTexts("other")
	f.storeTemplate("two")
	f.awaitTexts("two on it, v1")
}

// work returns a work with the name of that of the add-on, on the first cluster.
func (f *fleet) work(text string) *workv1.ManifestWork {
	out := kit.Work(f.clusters[0], "addon-"+f.namespace+"-deploy-0")
	manifest := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"agent"},"data":{"text":%q}}`,
		text)
	out.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}
	return out
}

// settle waits until the manager has handled what happened before: a change of another add-on, which it handles later, is done.
func (f *fleet) settle() {
	f.t.Helper()
	f.settled++
	name := fmt.Sprintf("%s-settled-%d", f.namespace, f.settled)
	of := &addonv1alpha1.ClusterManagementAddOn{ObjectMeta: metav1.ObjectMeta{Name: name}}
	addOn := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: f.clusters[0], Name: name}}
	work := &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.clusters[0], Name: "addon-" + name + "-deploy-0"},
		Spec:       f.work("x").Spec,
	}
	f.MustCreate(of, addOn)
	work.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(addOn, addonv1alpha1.GroupVersion.WithKind("ManagedClusterAddOn"))}
	work.Annotations = map[string]string{workv1.TemplateHashAnnotation: "x"}
	f.MustCreate(work)
	f.AwaitObject(addOn, "the manager has handled what happened before: a change of another add-on, which it handles later, is done",
		func() error {
			if meta.FindStatusCondition(addOn.Status.Conditions, "TemplateDelivered") == nil {
				return errNotYet
			}
			return nil
		})
	f.MustDelete(addOn, of)
}

// TestAStatusDeliversNothing plants a configuration in the status of an add-on, as a program with permissions on the status could.
func TestAStatusDeliversNothing(t *testing.T) {
	f := newFleet(t, 1)
	f.configure("v1")
	f.storeTemplate("one")
	startManager(t)
	f.setTemplates(f.install(f.namespace), true)
	f.awaitTexts("one on it, v1")
	planted := &addonv1alpha1.AddOnDeploymentConfig{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "planted"}}
	planted.Spec.CustomizedVariables = []addonv1alpha1.CustomizedVariable{{Name: "VERSION", Value: "evil"}}
	f.MustCreate(planted)
	content := kit.Must(runtime.DefaultUnstructuredConverter.ToUnstructured(planted)).In(t)
	hash := kit.Must(plan.SpecHash(content)).In(t)
	works := kit.Must(f.Watch(t.Context(), &workv1.ManifestWorkList{}, client.InNamespace(f.clusters[0]))).In(t)
	defer works.Stop()
	for range 5 {
		addOn := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: f.clusters[0], Name: f.namespace}}
		f.AwaitStatusChanged(addOn, func() {
			for i := range addOn.Status.ConfigReferences {
				if reference := &addOn.Status.ConfigReferences[i]; reference.Resource == "addondeploymentconfigs" {
					reference.Name, reference.DesiredConfig.Name, reference.DesiredConfig.SpecHash = "planted", "planted", hash
				}
			}
		})
		f.settle()
	}
	f.storeTemplate("two") // the last change of the work
	for {
		select {
		case event, more := <-works.ResultChan():
			if !more {
				t.Fatal("the watch ended before the last change")
			}
			work, ok := event.Object.(*workv1.ManifestWork)
			if !ok || len(work.Spec.Workload.Manifests) == 0 {
				continue
			}
			text := string(work.Spec.Workload.Manifests[0].Raw)
			if strings.Contains(text, "evil") {
				t.Fatalf("the planted configuration was delivered: %s", text)
			}
			if strings.Contains(text, "two on") {
				return
			}
		case <-time.After(kit.Timeout):
			t.Fatal("the last change of the template did not reach the work")
		}
	}
}

// TestTheAuthorOfATemplateMayExecute holds that a user who writes templates needs the permission for the account that they run as: the
// agent's own, or the account in the template.
func TestTheAuthorOfATemplateMayExecute(t *testing.T) {
	f := newFleet(t, 1)
	templates := rbacv1.PolicyRule{
		APIGroups: []string{"addon.open-cluster-management.io"}, Resources: []string{"addontemplates"},
		Verbs: []string{"create", "get", "update"},
	}
	executes := rbacv1.PolicyRule{
		APIGroups: []string{"work.open-cluster-management.io"}, Resources: []string{"manifestworks"},
		Verbs: []string{"execute-as"},
	}
	asTools := *executes.DeepCopy()
	asTools.ResourceNames = []string{"system:serviceaccount:tools:runner"}
	author, editor, runner := f.account("author", templates, executes), f.account("editor", templates), f.account("runner", templates, asTools)
	named := f.template("one")
	account := map[string]any{"namespace": "tools", "name": "runner"}
	if err := unstructured.SetNestedField(named.Object, map[string]any{"type": "ServiceAccount", "serviceAccount": account}, "spec",
		"agentSpec", "executor", "subject"); err != nil {
		t.Fatal(err)
	}
	allowed := func(user *kit.Client, template *unstructured.Unstructured) {
		t.Helper()
		kit.Await(t, "the user may store the template", func(ctx context.Context) error {
			return user.Create(ctx, template.DeepCopy(), client.DryRunAll)
		})
	}
	refused := func(err error) error {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "execute-as") {
			return fmt.Errorf("%w: %w", errNotYet, err)
		}
		return nil
	}
	allowed(author, f.template("one"))
	allowed(author, named)
	allowed(runner, named)
	for _, user := range []*kit.Client{editor, runner} {
		kit.Await(t, "the user may not store the template", func(ctx context.Context) error {
			return refused(user.Create(ctx, f.template("one"), client.DryRunAll))
		})
	}
	kit.Await(t, "the editor may not name the account", func(ctx context.Context) error {
		return refused(editor.Create(ctx, named.DeepCopy(), client.DryRunAll))
	})
	f.storeTemplate("one")
	kit.Await(t, "the editor may not change the template", func(ctx context.Context) error {
		stored := f.template("two")
		if err := f.Get(ctx, client.ObjectKeyFromObject(stored), stored); err != nil {
			return err
		}
		stored.Object["spec"] = f.template("two").Object["spec"]
		return refused(editor.Update(ctx, stored, client.DryRunAll))
	})
}
