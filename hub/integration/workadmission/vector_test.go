package workadmission

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// noExecuteAs is a part of the refusal of a user without the permission for the executor.
const noExecuteAs = `cannot manipulate the Manifestwork with executor shop/deployer in namespace `

// TestVector9MisspeltStrategies: a strategy that the schema would drop is refused with the right spelling.
func TestVector9MisspeltStrategies(t *testing.T) {
	createNamespace(t, team)
	admin := administrator(t)
	for name, tc := range map[string]struct{ strategy, want string }{
		"rolloutType": {"{rolloutType: Progressive}", "write type: Progressive"},
		"timeout":     {"{timeout: 50min}", "write progressDeadline"},
		"a flat list": {"{mandatoryDecisionGroups: [canary]}", "under progressive or progressivePerGroup"},
		"no type":     {"{progressive: {maxConcurrency: 1}}", "changes every cluster at once"},
		"type All":    {"{type: All, progressivePerGroup: {}}", "changes every cluster at once"},
	} {
		t.Run(name, func(t *testing.T) {
			misspelt := set(t, "misspelt", executor)
			spec := misspelt.Object["spec"].(map[string]any)
			spec["placementRefs"] = []any{map[string]any{"name": "p", "rolloutStrategy": kit.Parse(t, tc.strategy).Object}}
			wantRefused(t, admin.dryRun(t, sets, misspelt), 422, tc.want)
		})
	}
}

// TestVector36AgentsKeepToStatusAndFinalizer: an agent changes nothing of a work but its finalizer and its status, and nothing of
// another cluster.
func TestVector36AgentsKeepToStatusAndFinalizer(t *testing.T) {
	acceptCluster(t, own)
	acceptCluster(t, other)
	mustCreate(t, works, work(t, own, "w", executor))
	mustCreate(t, works, work(t, other, "w", executor))
	agent := newAgent(t, own)

	const finalizer = "{metadata: {finalizers: [cluster.open-cluster-management.io/manifest-work-cleanup]}}"
	for name, err := range map[string]error{
		"reads its works":     second(agent.client.Resource(works).Namespace(own).List(t.Context(), metav1.ListOptions{})),
		"sets its finalizer":  agent.patch(t, works, own, "w", finalizer),
		"reports its status":  agent.patch(t, works, own, "w", "{status: {conditions: []}}", "status"),
		"both in its own way": agent.patch(t, works, own, "w", "{metadata: {finalizers: null}}"),
	} {
		if err != nil {
			t.Errorf("the agent %s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"reads works of another cluster":   second(agent.client.Resource(works).Namespace(other).Get(t.Context(), "w", metav1.GetOptions{})),
		"lists works of the hub":           second(agent.client.Resource(works).List(t.Context(), metav1.ListOptions{})),
		"patches works of another cluster": agent.patch(t, works, other, "w", finalizer),
		"reports on another cluster":       agent.patch(t, works, other, "w", "{status: {conditions: []}}", "status"),
		"deletes works of another cluster": agent.remove(t, works, other, "w"),
		"deletes its own work":             agent.remove(t, works, own, "w"),
		"creates a work":                   agent.dryRun(t, works, work(t, own, "new", executor)),
		"rewrites a spec":                  agent.patch(t, works, own, "w", "{spec: {deleteOption: {propagationPolicy: Orphan}}}"),
		"labels a work":                    agent.patch(t, works, own, "w", "{metadata: {labels: {a: b}}}"),
		"annotates a work":                 agent.patch(t, works, own, "w", "{metadata: {annotations: {a: b}}}"),
		"owns a work": agent.patch(t, works, own, "w",
			"{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a, uid: u}]}}"),
		"adds another finalizer": agent.patch(t, works, own, "w", "{metadata: {finalizers: [example.com/hold]}}"),
		"creates a set":          agent.dryRun(t, sets, set(t, "s", executor)),
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, err, 403, "") })
	}
}

// TestVector37AuthorOfASetNeedsExecuteAs: the author of a set needs the permission for the executor in the namespace of the set, for
// each change of the spec, and without an executor that for the agent's account.
func TestVector37AuthorOfASetNeedsExecuteAs(t *testing.T) {
	createNamespace(t, team)
	author, deploying := newUser(t, "author"), newUser(t, "deploying")
	bind(t, author, team, "berth:delivery:editor")
	bind(t, deploying, team, "berth:delivery:editor")
	bind(t, deploying, team, "as-deployer", executeAs(deployer))
	awaitAllowed(t, author, nil, authorizationv1.ResourceAttributes{
		Verb: "create", Group: sets.Group, Resource: sets.Resource,
		Namespace: team,
	})
	awaitAllowed(t, deploying, nil, authorizationv1.ResourceAttributes{
		Verb: "execute-as", Group: works.Group, Resource: works.Resource,
		Namespace: team, Name: deployer,
	})
	awaitAllowed(t, deploying, nil, authorizationv1.ResourceAttributes{
		Verb: "create", Group: sets.Group, Resource: sets.Resource,
		Namespace: team,
	})

	wantRefused(t, author.dryRun(t, sets, set(t, "s", executor)), 403, noExecuteAs+team)
	wantRefused(t, author.dryRun(t, sets, set(t, "s", "")), 403, "executor /klusterlet-work-sa in namespace "+team)
	wantRefused(t, deploying.dryRun(t, sets, set(t, "s", "")), 403, "executor /klusterlet-work-sa in namespace "+team)
	if err := deploying.dryRun(t, sets, set(t, "s", executor)); err != nil {
		t.Errorf("an author with the permission: %v", err)
	}

	mustCreate(t, sets, set(t, "stored", executor))
	const placements = "{spec: {placementRefs: [{name: everywhere}]}}"
	wantRefused(t, author.patch(t, sets, team, "stored", placements), 403, noExecuteAs+team)
	if err := deploying.patch(t, sets, team, "stored", placements); err != nil {
		t.Errorf("a change of the placements with the permission: %v", err)
	}
	if err := author.patch(t, sets, team, "stored", "{metadata: {labels: {a: b}}}"); err != nil {
		t.Errorf("a label without the permission: %v", err)
	}
}

// TestVector38EditorOfManifestsNeedsExecuteAs: the permission for the executor is needed to change the manifests, not only to change
// the executor.
func TestVector38EditorOfManifestsNeedsExecuteAs(t *testing.T) {
	acceptCluster(t, own)
	mustCreate(t, works, work(t, own, "edited", executor))
	editor, deploying := newUser(t, "editor"), newUser(t, "deploying-editor")
	for _, who := range []*user{editor, deploying} {
		bind(t, who, own, "work-editor", allVerbsOn("manifestworks"))
		awaitAllowed(t, who, nil, authorizationv1.ResourceAttributes{
			Verb: "create", Group: works.Group, Resource: works.Resource,
			Namespace: own,
		})
	}
	bind(t, deploying, own, "as-deployer", executeAs(deployer))
	awaitAllowed(t, deploying, nil, authorizationv1.ResourceAttributes{
		Verb: "execute-as", Group: works.Group, Resource: works.Resource,
		Namespace: own, Name: deployer,
	})

	const manifests = "{spec: {workload: {manifests: [" + configMap +
		", {apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: b}}]}}}"
	wantRefused(t, editor.patch(t, works, own, "edited", manifests), 403, noExecuteAs+own)
	wantRefused(t, editor.patch(t, works, own, "edited", "{spec: {executor: null}}"), 403, "executor /klusterlet-work-sa in namespace "+own)
	wantRefused(t, deploying.patch(t, works, own, "edited", "{spec: {executor: null}}"), 403, "executor /klusterlet-work-sa in namespace "+own)
	if err := deploying.patch(t, works, own, "edited", manifests); err != nil {
		t.Errorf("a change of the manifests with the permission: %v", err)
	}
	if err := editor.patch(t, works, own, "edited", "{metadata: {labels: {a: b}}}"); err != nil {
		t.Errorf("a label without the permission: %v", err)
	}
	invalid := work(t, own, "invalid", executor)
	invalid.Object["spec"].(map[string]any)["workload"] = map[string]any{}
	wantRefused(t, deploying.dryRun(t, works, invalid), 400, "manifests should not be empty")
}

// TestVector39OwnerIsForTheManager: no editor of works makes a work belong to a set, or takes one from it.
func TestVector39OwnerIsForTheManager(t *testing.T) {
	acceptCluster(t, own)
	editor := newUser(t, "owner-editor")
	bind(t, editor, own, "work-editor", allVerbsOn("manifestworks"))
	bind(t, editor, own, "as-deployer", executeAs(deployer))
	awaitAllowed(t, editor, nil, authorizationv1.ResourceAttributes{
		Verb: "create", Group: works.Group, Resource: works.Resource,
		Namespace: own,
	})
	awaitAllowed(t, editor, nil, authorizationv1.ResourceAttributes{
		Verb: "execute-as", Group: works.Group, Resource: works.Resource,
		Namespace: own, Name: deployer,
	})
	owned := work(t, own, "owned", executor)
	owned.SetLabels(map[string]string{"work.open-cluster-management.io/manifestworkreplicaset": "team.s"})
	owned.SetAnnotations(map[string]string{"berth-project.io/owner-uid": "u"})
	mustCreate(t, works, owned)
	mustCreate(t, works, work(t, own, "free", executor))

	const refusal = "are for the manager"
	created := owned.DeepCopy()
	created.SetName("created")
	wantRefused(t, editor.dryRun(t, works, created), 403, refusal)
	wantRefused(t, editor.patch(t, works, own, "owned", "{metadata: {labels: null}}"), 403, refusal)
	wantRefused(t, editor.patch(t, works, own, "owned", "{metadata: {annotations: {berth-project.io/owner-uid: v}}}"), 403, refusal)
	wantRefused(t, editor.patch(t, works, own, "free", "{metadata: {labels: "+
		"{work.open-cluster-management.io/manifestworkreplicaset: team.s}}}"), 403, refusal)
	for _, key := range []string{
		"owner-uid", "template-hash", "template-generation", "revision", "started-at", "placements",
		"propagated-labels",
	} {
		wantRefused(t, editor.patch(t, works, own, "free", "{metadata: {annotations: {berth-project.io/"+key+": x}}}"), 403, refusal)
	}
	if err := editor.patch(t, works, own, "owned", "{metadata: {labels: {a: b}, annotations: {a: b}}}"); err != nil {
		t.Errorf("other labels and annotations: %v", err)
	}
	manager := newUser(t, "system:serviceaccount:berth-system:berth", "system:masters")
	if err := manager.patch(t, works, own, "free", "{metadata: {annotations: {berth-project.io/owner-uid: x}}}"); err != nil {
		t.Errorf("the manager: %v", err)
	}
}
