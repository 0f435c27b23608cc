package workadmission

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	tableFile = "testdata/writes.txt"
	// ownerLabel names the set of a work.
	ownerLabel = "work.open-cluster-management.io/manifestworkreplicaset"
)

// action is one request, as a dry run.
type action struct {
	name string
	send func(t *testing.T, who *user) error
}

func actions() []action {
	list := func(of string) func(*testing.T, *user) error {
		return func(t *testing.T, who *user) error {
			t.Helper()
			return second(who.client.Resource(works).Namespace(of).List(t.Context(), metav1.ListOptions{Limit: 1}))
		}
	}
	listSets := func(of string) func(*testing.T, *user) error {
		return func(t *testing.T, who *user) error {
			t.Helper()
			return second(who.client.Resource(sets).Namespace(of).List(t.Context(), metav1.ListOptions{Limit: 1}))
		}
	}
	patchWork := func(namespace, patch string, subresources ...string) func(*testing.T, *user) error {
		return func(t *testing.T, who *user) error {
			t.Helper()
			return who.patch(t, works, namespace, "table", patch, subresources...)
		}
	}
	patchSet := func(patch string, subresources ...string) func(*testing.T, *user) error {
		return func(t *testing.T, who *user) error {
			t.Helper()
			return who.patch(t, sets, team, "table", patch, subresources...)
		}
	}
	const orphan = "{spec: {deleteOption: {propagationPolicy: Orphan}}}"
	return []action{
		{"list works of its cluster", list(own)},
		{"list works of another cluster", list(other)},
		{"list works of the hub", list("")},
		{"read a work", func(t *testing.T, who *user) error {
			t.Helper()
			return second(who.client.Resource(works).Namespace(own).Get(t.Context(), "table", metav1.GetOptions{}))
		}},
		{"list sets of the team", listSets(team)},
		{"list sets of the hub", listSets("")},
		{"create a work with an executor", func(t *testing.T, who *user) error {
			t.Helper()
			return who.dryRun(t, works, work(t, own, "new", executor))
		}},
		{"create a work without an executor", func(t *testing.T, who *user) error {
			t.Helper()
			return who.dryRun(t, works, work(t, own, "new", ""))
		}},
		{"create a work in another cluster", func(t *testing.T, who *user) error {
			t.Helper()
			return who.dryRun(t, works, work(t, other, "new", executor))
		}},
		{"create a work of a set", func(t *testing.T, who *user) error {
			t.Helper()
			owned := work(t, own, "new", executor)
			owned.SetLabels(map[string]string{ownerLabel: team + ".table"})
			return who.dryRun(t, works, owned)
		}},
		{"change the spec of a work", patchWork(own, orphan)},
		{"change the spec of a work of another cluster", patchWork(other, orphan)},
		{"label a work", patchWork(own, "{metadata: {labels: {a: b}}}")},
		{"set the owner label of a work", patchWork(own, "{metadata: {labels: {"+ownerLabel+": "+team+".table}}}")},
		{"set the owner of a work", patchWork(own, "{metadata: {annotations: {berth-project.io/owner-uid: u}}}")},
		{"set the agent's finalizer of a work", patchWork(own, "{metadata: {finalizers: "+
			"[cluster.open-cluster-management.io/manifest-work-cleanup]}}")},
		{"set another finalizer of a work", patchWork(own, "{metadata: {finalizers: [example.com/keep]}}")},
		{"report the status of a work", patchWork(own, "{status: {conditions: []}}", "status")},
		{"report the status of a work of another cluster", patchWork(other, "{status: {conditions: []}}", "status")},
		{"delete a work", func(t *testing.T, who *user) error { t.Helper(); return who.remove(t, works, own, "table") }},
		{"delete a work of another cluster", func(t *testing.T, who *user) error { t.Helper(); return who.remove(t, works, other, "table") }},
		{"create a set with an executor", func(t *testing.T, who *user) error {
			t.Helper()
			return who.dryRun(t, sets, set(t, "new", executor))
		}},
		{"create a set without an executor", func(t *testing.T, who *user) error { t.Helper(); return who.dryRun(t, sets, set(t, "new", "")) }},
		{"change the spec of a set", patchSet("{spec: {placementRefs: [{name: everywhere}]}}")},
		{"label a set", patchSet("{metadata: {labels: {a: b}}}")},
		{"set the manager's finalizer of a set", patchSet("{metadata: {finalizers: [work.open-cluster-management.io/manifest-work-cleanup]}}")},
		{"report the status of a set", patchSet("{status: {currentRevision: r}}", "status")},
		{"delete a set", func(t *testing.T, who *user) error { t.Helper(); return who.remove(t, sets, team, "table") }},
	}
}

// TestTable compares what each kind of user may do with works and sets with testdata/writes.txt. `go test -update` writes it anew.
func TestTable(t *testing.T) {
	createNamespace(t, team)
	acceptCluster(t, own)
	acceptCluster(t, other)
	mustCreate(t, works, work(t, own, "table", executor))
	mustCreate(t, works, work(t, other, "table", executor))
	mustCreate(t, sets, set(t, "table", executor))
	users := tableUsers(t)
	var out strings.Builder
	out.WriteString("# Who may do what with works and sets: yes, no (no role permits it), or refused (a role permits it, a " +
		"policy or a webhook does not).\n")
	for _, act := range actions() {
		fmt.Fprintf(&out, "\n%s\n", act.name)
		for _, who := range users {
			fmt.Fprintf(&out, "  %-40s %s\n", who.title, outcome(t, act.send(t, who.user)))
		}
	}
	if *update {
		kit.NoError(t, os.WriteFile(tableFile, []byte(out.String()), 0o600))
	}
	want := kit.Must(os.ReadFile(tableFile)).In(t)
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", tableFile, diff)
	}
}

type titled struct {
	title string
	*user
}

// tableUsers returns a user of each kind, with its permissions in force.
func tableUsers(t *testing.T) []titled {
	t.Helper()
	editor, deployingEditor := newUser(t, "t-work-editor"), newUser(t, "t-deploying-work-editor")
	author, deployingAuthor, viewer := newUser(t, "t-author"), newUser(t, "t-deploying-author"), newUser(t, "t-viewer")
	edit := newUser(t, "t-edit")
	for _, who := range []*user{editor, deployingEditor} {
		bind(t, who, own, "work-editor", allVerbsOn("manifestworks"))
	}
	bind(t, deployingEditor, own, "as-deployer", executeAs(deployer))
	for _, who := range []*user{author, deployingAuthor} {
		bind(t, who, team, "berth:delivery:editor")
	}
	bind(t, deployingAuthor, team, "as-deployer", executeAs(deployer))
	bind(t, viewer, team, "berth:delivery:viewer")
	bind(t, edit, team, "edit")
	bind(t, edit, own, "edit")
	for who, attributes := range map[*user]authorizationv1.ResourceAttributes{
		editor:          {Verb: "create", Group: works.Group, Resource: works.Resource, Namespace: own},
		deployingEditor: {Verb: "execute-as", Group: works.Group, Resource: works.Resource, Namespace: own, Name: deployer},
		author:          {Verb: "create", Group: sets.Group, Resource: sets.Resource, Namespace: team},
		deployingAuthor: {Verb: "execute-as", Group: works.Group, Resource: works.Resource, Namespace: team, Name: deployer},
		viewer:          {Verb: "get", Group: sets.Group, Resource: sets.Resource, Namespace: team},
		edit:            {Verb: "create", Resource: "configmaps", Namespace: own},
	} {
		awaitAllowed(t, who, nil, attributes)
	}
	return []titled{
		{"the administrator", administrator(t)},
		{"the manager", connect(t, "manager", shared.ManagerConfig(t))},
		{"the agent of the cluster", newAgent(t, own)},
		{"the agent of another cluster", newAgent(t, other)},
		{"an editor of works", editor},
		{"an editor of works with execute-as", deployingEditor},
		{"an author of sets", author},
		{"an author of sets with execute-as", deployingAuthor},
		{"a viewer of sets", viewer},
		{"the role edit in both namespaces", edit},
		{"a user without a role", newUser(t, "t-none")},
	}
}

// outcome separates a refusal by roles from one by admission.
func outcome(t *testing.T, err error) string {
	t.Helper()
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return "yes"
	case !apierrors.IsForbidden(err) || !errors.As(err, &status):
		t.Errorf("neither a success nor a refusal: %v", err)
		return "error"
	case strings.Contains(status.Status().Message, ` resource "manifestwork`):
		return "no"
	default:
		return "refused"
	}
}
