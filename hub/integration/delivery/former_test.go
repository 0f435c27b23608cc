package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery/plan"
)

const (
	oneAtATime = "{type: Progressive, progressive: {maxConcurrency: 1}}"
	// password begins the values of the Secrets, which no log, event or status may have.
	password = "swordfish-"
	// deliveryRole is the role of the manager.
	deliveryRole = "berth-delivery"
)

// secret returns a Secret with a value.
func secret(value string) workv1.ManifestsTemplate {
	return workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"default","name":"web"},"stringData":{"value":"` + password + value + `"}}`,
	)}}}}
}

// newSecretSet stores a set whose template is a Secret, and rolls it out to clusters.
func (f *testFleet) newSecretSet(clusters ...string) *workv1alpha1.ManifestWorkReplicaSet {
	f.t.Helper()
	f.decide("p", clusters)
	set := f.newSetOf(secret("1"), "web", "p")
	f.healthy(f.awaitWorks(set, password+"1", clusters...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	return set
}

// rollOut changes the template of a set to a Secret, which one cluster gets at a time.
func (f *testFleet) rollOut(set *workv1alpha1.ManifestWorkReplicaSet, value string) {
	f.t.Helper()
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.PlacementRefs[0].RolloutStrategy.RolloutStrategy = parseStrategy(f.t, oneAtATime)
		set.Spec.ManifestWorkTemplate.Workload = secret(value)
	})
}

// awaitFormers waits until exactly these templates of a set are kept in FormerTemplates, the oldest first.
func (f *testFleet) awaitFormers(set *workv1alpha1.ManifestWorkReplicaSet, values ...string) {
	f.t.Helper()
	var want []string
	for _, value := range values {
		want = append(want, kit.Must(plan.TemplateHash(&workv1.ManifestWorkSpec{Workload: secret(value)})).In(f.t))
	}
	f.Await("these templates of a set are kept, the oldest first", func(ctx context.Context) error {
		list := &rolloutv1alpha1.FormerTemplateList{}
		if err := f.List(ctx, list, client.InNamespace(f.namespace)); err != nil {
			return err
		}
		slices.SortFunc(list.Items, func(a, b rolloutv1alpha1.FormerTemplate) int { return int(a.Revision - b.Revision) })
		var got []string
		for i := range list.Items {
			got = append(got, plan.RevisionHash(set, &list.Items[i]))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("kept %q, want %q: %w", got, want, errNotYet)
		}
		return nil
	})
}

// unkept returns the condition of a set that a template is not kept; empty without it.
func (f *testFleet) unkept(set *workv1alpha1.ManifestWorkReplicaSet) string {
	f.t.Helper()
	stored := kit.WorkSet(set.Namespace, set.Name)
	f.MustRead(stored)
	if found := meta.FindStatusCondition(stored.Status.Conditions, workv1alpha1.FormerTemplateUnkept); found != nil {
		return found.Reason + ": " + found.Message
	}
	return ""
}

// awaitKept waits until no condition reports that a template is not kept.
func (f *testFleet) awaitKept(set *workv1alpha1.ManifestWorkReplicaSet) {
	f.t.Helper()
	f.Await("the templates of the set are kept", func(context.Context) error {
		if found := f.unkept(set); found != "" { //nolint:contextcheck // it takes the context of the test
			return fmt.Errorf("%s: %w", found, errNotYet)
		}
		return nil
	})
}

// expectNoPassword fails if a value of a Secret is in a log, an event or a status.
func (f *testFleet) expectNoPassword(manager *hubtest.Manager, set *workv1alpha1.ManifestWorkReplicaSet) {
	f.t.Helper()
	stored, found := kit.WorkSet(set.Namespace, set.Name), &eventsv1.EventList{}
	f.MustRead(stored)
	f.MustList(found, client.InNamespace(f.namespace))
	for where, object := range map[string]any{"the log": manager.Log(), "the status": stored.Status, "an event": found.Items} {
		if text := string(kit.Must(json.Marshal(object)).In(f.t)); strings.Contains(text, password) {
			f.t.Errorf("%s has the value of a Secret: %s", where, text)
		}
	}
}

// TestATemplateWithASecretIsKept: a cluster that joins a rollout gets the last finished template with its Secret, and clusters return to
// it. Two templates stay at most. No tenant reads them.
func TestATemplateWithASecretIsKept(t *testing.T) {
	f := newFleet(t, 3)
	manager := startManager(t)
	set := f.newSecretSet(f.clusters[:2]...)
	f.awaitFormers(set, "1")
	f.rollOut(set, "2")
	works := f.awaitWorks(set, password+"2", f.clusters[0])
	f.decide("p", f.clusters)
	f.awaitWorks(set, password+"1", f.clusters[1:]...) // that of the cluster that joined too
	f.awaitFormers(set, "1", "2")
	f.expectNoPermission(set)

	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
	})
	f.awaitReport(&works[0], "Applied Degraded Progressing")
	f.awaitWorks(set, password+"1", f.clusters...)
	f.awaitCondition(set, workv1alpha1.Progressing, "False", "Breached")

	f.rollOut(set, "3")
	f.awaitFormers(set, "1", "3")
	for i := range f.clusters {
		f.healthy(f.awaitWorks(set, password+"3", f.clusters[:i+1]...))
	}
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	f.awaitFormers(set, "3")
	f.awaitTemplates(set)
	if found := f.unkept(set); found != "" {
		t.Error(found)
	}
	f.expectNoPassword(manager, set)
}

// expectNoPermission fails if a user other than an administrator of the hub may read a kept template.
func (f *testFleet) expectNoPermission(set *workv1alpha1.ManifestWorkReplicaSet) {
	f.t.Helper()
	tenant := f.namespace + "-tenant"
	for _, role := range []string{
		"view", "edit", "admin", "system:aggregate-to-view", "system:aggregate-to-edit", "system:aggregate-to-admin",
		"berth:delivery:editor", "berth:delivery:viewer", "berth:rollout:operator",
	} {
		f.MustGet(client.ObjectKey{Name: role}, &rbacv1.ClusterRole{})
		f.MustCreate(kit.RoleBinding(f.namespace, strings.ReplaceAll(role, ":", "-"), kit.ClusterRole(role), kit.User(tenant)))
	}
	for group, resource := range map[string]string{
		"apps": "controllerrevisions", workv1.GroupName: "manifestworkreplicasets", rolloutv1alpha1.GroupName: "rolloutcontrols",
	} {
		list := authorizationv1.ResourceAttributes{Namespace: f.namespace, Verb: "list", Group: group, Resource: resource}
		kit.AwaitAccess(f.t, shared, tenant, nil, list, true)
	}
	as, list := kit.As(f.t, shared, tenant), &rolloutv1alpha1.FormerTemplateList{}
	if err := as.List(f.t.Context(), list, client.InNamespace(f.namespace)); !apierrors.IsForbidden(err) {
		f.t.Errorf("a tenant lists %d kept templates: %v", len(list.Items), err)
	}
	f.MustList(list, client.InNamespace(f.namespace))
	for i := range list.Items {
		err := as.Get(f.t.Context(), client.ObjectKeyFromObject(&list.Items[i]), &rolloutv1alpha1.FormerTemplate{})
		if !apierrors.IsForbidden(err) {
			f.t.Errorf("a tenant reads a kept template of %s: %v", set.Name, err)
		}
	}
	roles := &rbacv1.ClusterRoleList{}
	f.MustList(roles)
	for _, role := range roles.Items {
		administrates := strings.HasPrefix(role.Name, "system:") || role.Name == "cluster-admin"
		manages := role.Name == deliveryRole || role.Name == "berth:namespace-inventory" // both are of the manager
		if !administrates && !manages && slices.ContainsFunc(role.Rules, permitsFormers) {
			f.t.Errorf("the role %s permits FormerTemplates", role.Name)
		}
	}
}

// permitsFormers reports whether a rule permits anything on FormerTemplates.
func permitsFormers(rule rbacv1.PolicyRule) bool {
	has := func(list []string, name string) bool {
		return slices.Contains(list, name) || slices.Contains(list, "*")
	}
	return has(rule.APIGroups, rolloutv1alpha1.GroupName) && has(rule.Resources, "formertemplates")
}

// TestATemplateThatCannotBeKeptHoldsTheNext: without the permission to store it, a template finishes, and the next one does not start, by
// the next manager neither. It starts once the former template was written into the set again and is kept.
func TestATemplateThatCannotBeKeptHoldsTheNext(t *testing.T) {
	f := newFleet(t, 2)
	f.permitStoring(false)
	defer f.permitStoring(true)
	manager := startRefusedManager(t)
	set := f.newSecretSet(f.clusters...)
	f.awaitCondition(set, workv1alpha1.FormerTemplateUnkept, "True", plan.ReasonFormerUnkept)
	if found := f.unkept(set); !strings.Contains(found, "forbidden") || !strings.Contains(found, "config/delivery") {
		t.Error(found)
	}
	f.rollOut(set, "2")
	f.awaitCondition(set, workv1alpha1.Progressing, "False", "Unapproved")
	manager.Kill()
	manager = startRefusedManager(t)
	f.rollOut(set, "3")
	f.awaitCondition(set, workv1alpha1.Progressing, "False", "Unapproved")
	f.awaitWorks(set, password+"1", f.clusters...)
	f.permitStoring(true)
	f.rollOut(set, "1")
	f.awaitKept(set)
	f.awaitFormers(set, "1")
	f.rollOut(set, "2")
	f.awaitWorks(set, password+"2", f.clusters[0])
	f.expectNoPassword(manager, set)
}

// TestAPersonStartsATemplateWithoutAFormerOne: the RolloutControl of the set names the template, which rolls out to its end.
func TestAPersonStartsATemplateWithoutAFormerOne(t *testing.T) {
	f := newFleet(t, 1)
	f.permitStoring(false)
	defer f.permitStoring(true)
	startRefusedManager(t)
	set := f.newSecretSet(f.clusters...)
	f.rollOut(set, "2")
	stored := f.awaitCondition(set, workv1alpha1.FormerTemplateUnkept, "True", plan.ReasonFormerUnkept)
	control := &rolloutv1alpha1.RolloutControl{}
	control.Namespace, control.Name = set.Namespace, set.Name
	control.Spec.WithoutFormer = &rolloutv1alpha1.TemplateDecision{Revision: stored.Status.UpdateRevision, Time: metav1.NowMicro()}
	f.MustCreate(control)
	f.permitStoring(true)
	f.healthy(f.awaitWorks(set, password+"2", f.clusters...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	f.awaitKept(set)
}

// startRefusedManager is startManager for a manager whose log has refusals.
func startRefusedManager(t *testing.T) *hubtest.Manager {
	t.Helper()
	return hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--controllers=replicaset"}, AllowErrors: true})
}

// permitStoring lets the manager create FormerTemplates, or not.
func (f *testFleet) permitStoring(permitted bool) {
	f.t.Helper()
	role := &rbacv1.ClusterRole{}
	role.Name = deliveryRole
	f.AwaitChanged(role, func() {
		for i := range role.Rules {
			rule := &role.Rules[i]
			if !permitsFormers(*rule) {
				continue
			}
			if rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb == "create" }); permitted {
				rule.Verbs = append(rule.Verbs, "create")
			}
		}
	})
	kit.AwaitAccess(f.t, shared, "system:serviceaccount:berth-system:berth", nil, authorizationv1.ResourceAttributes{
		Namespace: f.namespace, Verb: "create", Group: rolloutv1alpha1.GroupName, Resource: "formertemplates",
	}, permitted)
}

// TestAHubWithoutFormerTemplates: without the definition, which the manager reports, sets are delivered, and one with a Secret reports that
// its template is not kept. That ends by itself when the definition comes.
func TestAHubWithoutFormerTemplates(t *testing.T) {
	const name = "formertemplates.rollout.berth-project.io"
	f := newFleet(t, 1)
	create := f.undefine(name, "rollout.berth-project.io_formertemplates.yaml")
	defer create()
	manager := startManager(t)
	set := f.newSecretSet(f.clusters...)
	f.awaitCondition(set, workv1alpha1.FormerTemplateUnkept, "True", plan.ReasonFormerUnkept)
	if found := f.unkept(set); !strings.Contains(found, "lacks the definition of "+name) {
		t.Error(found)
	}
	f.awaitLogged(manager, "the hub lacks the definition of "+name)
	create()
	f.awaitKept(set)
	f.awaitFormers(set, "1")
}

// TestAHubWithoutRolloutControls: sets roll out, and what people decide counts once the hub has the definition.
func TestAHubWithoutRolloutControls(t *testing.T) {
	const name = "rolloutcontrols.rollout.berth-project.io"
	f := newFleet(t, 1)
	f.decide("p", f.clusters)
	create := f.undefine(name, "rollout.berth-project.io_rolloutcontrols.yaml")
	defer create()
	manager := startManager(t)
	set := f.newSet("web", "p")
	f.healthy(f.awaitWorks(set, "1", f.clusters...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	f.awaitLogged(manager, "the definition of "+name)
	create()
	f.awaitLogged(manager, "a missing requirement is met")
	control := &rolloutv1alpha1.RolloutControl{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}}
	control.Spec.Paused = true
	f.AwaitCreated(control)
	f.AwaitObject(set, "the manager has read the control", func() error { // it may read a later change of the set before it
		if set.Status.ControlGeneration != control.Generation {
			return errNotYet
		}
		return nil
	})
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.ManifestWorkTemplate.Workload = manifests("2")
	})
	f.awaitCondition(set, workv1alpha1.Progressing, "False", "Paused")
	f.awaitWorks(set, "1", f.clusters...)
}

// awaitLogged waits until a manager has logged a text.
func (f *testFleet) awaitLogged(manager *hubtest.Manager, text string) {
	f.t.Helper()
	f.Await("the manager reports "+text, func(context.Context) error {
		if !strings.Contains(manager.Log(), text) {
			return fmt.Errorf("%w: %s", errNotYet, manager.Tail())
		}
		return nil
	})
}

// undefine deletes a definition from the hub. It returns a function that creates it again, from a file.
func (f *testFleet) undefine(name, file string) (create func()) {
	f.t.Helper()
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName(name)
	f.MustDeleteDefinition(name)
	f.AwaitGone(definition)
	return func() {
		data := kit.Must(fs.ReadFile(config.CRDs(), file)).In(f.t)
		kit.NoError(f.t, yaml.Unmarshal(data, &definition.Object))
		f.MustCreateMissing(definition)
	}
}
