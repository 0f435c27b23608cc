package visibility_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	engine "github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/access"
	"github.com/berth-project/berth/internal/views/visibility"
)

var jane = access.Subject{User: "jane", Groups: []string{"developers", "system:authenticated"}}

// version makes every object differ from earlier objects.
var version int

func objectMeta(name string, labels map[string]string) metav1.ObjectMeta {
	version++
	return metav1.ObjectMeta{Name: name, Labels: labels, UID: types.UID(name), ResourceVersion: fmt.Sprint(version)}
}

func cluster(name, set string) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{ObjectMeta: objectMeta(name, map[string]string{clusterv1beta2.ClusterSetLabel: set})}
}

func set(name string) *clusterv1beta2.ManagedClusterSet {
	return &clusterv1beta2.ManagedClusterSet{ObjectMeta: objectMeta(name, nil)}
}

func labelledSet(name string, labels map[string]string) *clusterv1beta2.ManagedClusterSet {
	out := set(name)
	out.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
		SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
	}
	return out
}

func role(name, verb, resource string, names ...string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: objectMeta(name, nil), Rules: []rbacv1.PolicyRule{{
		Verbs: []string{verb}, APIGroups: []string{clusterv1.GroupName}, Resources: []string{resource}, ResourceNames: names,
	}}}
}

func roleBinding(role, kind, subject string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: objectMeta(role+"-"+subject, nil),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: kind, Name: subject}},
	}
}

// applyEdits returns the snapshot after changes, at a revision.
func applyEdits(w *visibility.Snapshot, revision uint64, changes ...func(*visibility.Edit)) (*visibility.Snapshot, visibility.Delta) {
	e := w.Edit(revision)
	for _, change := range changes {
		change(e)
	}
	return e.Snapshot()
}

// addFleet adds two sets of two clusters each, and a cluster in no set.
func addFleet(e *visibility.Edit) {
	for _, name := range []string{"dev", "prod"} {
		e.SetSet(set(name))
		e.SetCluster(cluster(name+"1", name))
		e.SetCluster(cluster(name+"2", name))
	}
	e.SetCluster(cluster("lone", ""))
}

func grantRole(kind, subject string, role *rbacv1.ClusterRole) func(*visibility.Edit) {
	return func(e *visibility.Edit) {
		e.SetRole(role)
		e.SetBinding(roleBinding(role.Name, kind, subject))
	}
}

func names(s *visibility.View, kind visibility.Kind) []string {
	var out []string
	for entry := range s.Objects(kind) {
		out = append(out, entry.Object.GetName())
	}
	return out
}

func TestVisibleObjectsByPermission(t *testing.T) {
	everything := []string{"dev1", "dev2", "lone", "prod1", "prod2"}
	for sentence, test := range map[string]struct {
		changes        []func(*visibility.Edit)
		who            access.Subject
		sets, clusters []string
	}{
		"nothing is visible without a role": {who: jane},
		"permission to get a set, and its clusters": {
			changes: []func(*visibility.Edit){grantRole("User", "jane", role("r", "get", "managedclustersets", "dev"))},
			who:     jane, sets: []string{"dev"}, clusters: []string{"dev1", "dev2"},
		},
		"permission to bind a set, and its clusters": {
			changes: []func(*visibility.Edit){grantRole("User", "jane", role("r", "create", "managedclustersets/bind", "dev"))},
			who:     jane, sets: []string{"dev"}, clusters: []string{"dev1", "dev2"},
		},
		"both permissions": {
			changes: []func(*visibility.Edit){
				grantRole("User", "jane", role("r", "create", "managedclustersets/bind", "dev")),
				grantRole("Group", "developers", role("q", "get", "managedclustersets", "prod")),
			},
			who: jane, sets: []string{"dev", "prod"}, clusters: []string{"dev1", "dev2", "prod1", "prod2"},
		},
		"permission to get every set shows no cluster outside sets": {
			changes: []func(*visibility.Edit){grantRole("Group", "developers", role("r", "get", "managedclustersets"))},
			who:     jane, sets: []string{"dev", "prod"}, clusters: []string{"dev1", "dev2", "prod1", "prod2"},
		},
		"permission to get a cluster shows no set": {
			changes: []func(*visibility.Edit){grantRole("User", "jane", role("r", "get", "managedclusters", "lone", "prod1"))},
			who:     jane, clusters: []string{"lone", "prod1"},
		},
		"every cluster": {
			changes: []func(*visibility.Edit){grantRole("User", "jane", role("r", "get", "managedclusters"))},
			who:     jane, clusters: everything,
		},
		"permission to list shows nothing": {
			changes: []func(*visibility.Edit){grantRole("User", "jane", role("r", "list", "managedclustersets"))}, who: jane,
		},
		"permission to join shows nothing": {
			changes: []func(*visibility.Edit){grantRole("User", "jane", role("r", "create", "managedclustersets/join"))}, who: jane,
		},
		"the permission of another user": {
			changes: []func(*visibility.Edit){grantRole("User", "joe", role("r", "get", "managedclustersets"))}, who: jane,
		},
		"the name of a missing set": {
			changes: []func(*visibility.Edit){grantRole("User", "jane", role("r", "get", "managedclustersets", "test", "dev"))},
			who:     jane, sets: []string{"dev"}, clusters: []string{"dev1", "dev2"},
		},
		"administrators need no role": {
			who:  access.Subject{User: "root", Groups: []string{"system:masters"}},
			sets: []string{"dev", "prod"}, clusters: everything,
		},
		"a set by selector": {
			changes: []func(*visibility.Edit){
				func(e *visibility.Edit) { e.SetSet(labelledSet("all", nil)) },
				grantRole("User", "jane", role("r", "get", "managedclustersets", "all")),
			},
			who: jane, sets: []string{"all"}, clusters: everything,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			state, _ := applyEdits(visibility.Empty(), 1, append([]func(*visibility.Edit){addFleet}, test.changes...)...)
			sees := state.ViewFor(test.who)
			if diff := cmp.Diff(test.sets, names(sees, visibility.Set)); diff != "" {
				t.Errorf("sets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.clusters, names(sees, visibility.Cluster)); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
			for _, name := range everything {
				if _, ok := sees.Object(visibility.Cluster, name); ok != slices.Contains(test.clusters, name) {
					t.Errorf("cluster %s: visible is %t by itself, and differs in the list", name, ok)
				}
			}
		})
	}
}

func TestSnapshotsDoNotChange(t *testing.T) {
	before, _ := applyEdits(visibility.Empty(), 1, addFleet, grantRole("User", "jane", role("r", "get", "managedclustersets", "dev")))
	after, _ := applyEdits(before, 2, func(e *visibility.Edit) {
		e.DeleteCluster("dev1")
		e.DeleteSet("prod")
		e.SetRole(role("r", "get", "managedclustersets", "prod"))
	})
	if diff := cmp.Diff([]string{"dev1", "dev2"}, names(before.ViewFor(jane), visibility.Cluster)); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	if got := names(after.ViewFor(jane), visibility.Cluster); got != nil {
		t.Errorf("after: %v, want nothing", got)
	}
}

func TestEqualObjectsAreNoChange(t *testing.T) {
	dev, one := set("dev"), cluster("dev1", "dev")
	reader, binding := role("r", "get", "managedclusters"), roleBinding("r", "User", "jane")
	all := func(e *visibility.Edit) {
		e.SetSet(dev)
		e.SetCluster(one)
		e.SetRole(reader)
		e.SetBinding(binding)
	}
	state, _ := applyEdits(visibility.Empty(), 1, all)
	if _, delta := applyEdits(state, 2, all); delta.Count != 0 {
		t.Errorf("equal objects cause %d changes", delta.Count)
	}
	if _, delta := applyEdits(state, 2, func(e *visibility.Edit) { e.SetSet(set("dev")) }); delta.AffectsAll || delta.Count != 1 {
		t.Errorf("a set with the same selector: %+v, want a narrow change", delta)
	}
}

// applyChanges applies changes to a set of visible objects, as a watcher does.
func applyChanges(t *testing.T, seen map[string]uint64, changes []visibility.Change) {
	t.Helper()
	for _, change := range changes {
		if change.Before != nil {
			name := change.Before.Object.GetName()
			if seen[name] != change.Before.Revision {
				t.Fatalf("%s was visible at %d, and the change is from %d", name, seen[name], change.Before.Revision)
			}
			delete(seen, name)
		}
		if change.After != nil {
			seen[change.After.Object.GetName()] = change.After.Revision
		}
	}
}

// TestChangesLeadFromOneViewToTheNext goes through random snapshots. The changes must lead to the objects of a new view, and to the
// objects that a check of each object finds visible. It uses the exact delta, and a delta that affects all objects.
func TestChangesLeadFromOneViewToTheNext(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		pick := func(list ...string) string { return list[random.IntN(len(list))] }
		sets, clusters := []string{"a", "b", "c"}, []string{"1", "2", "3", "4", "5"}
		steps := []func(*visibility.Edit){
			func(e *visibility.Edit) { e.SetSet(set(pick(sets...))) },
			func(e *visibility.Edit) {
				e.SetSet(labelledSet(pick(sets...), map[string]string{clusterv1beta2.ClusterSetLabel: pick(sets...)}))
			},
			func(e *visibility.Edit) { e.DeleteSet(pick(sets...)) },
			func(e *visibility.Edit) { e.SetCluster(cluster(pick(clusters...), pick(sets...))) },
			func(e *visibility.Edit) {
				replaced := cluster(pick(clusters...), pick(sets...))
				replaced.UID = types.UID(replaced.ResourceVersion)
				e.SetCluster(replaced)
			},
			func(e *visibility.Edit) { e.DeleteCluster(pick(clusters...)) },
			func(e *visibility.Edit) {
				e.SetRole(role(pick("r", "q"), pick("get", "create"), pick("managedclustersets", "managedclustersets/bind"), pick(sets...)))
			},
			func(e *visibility.Edit) { e.SetRole(role(pick("r", "q"), "get", "managedclusters", pick(clusters...))) },
			func(e *visibility.Edit) { e.DeleteRole(pick("r", "q")) },
			func(e *visibility.Edit) { e.SetBinding(roleBinding(pick("r", "q"), "User", "jane")) },
			func(e *visibility.Edit) { e.DeleteBinding(pick("r", "q") + "-jane") },
		}
		state := visibility.Empty()
		seen := map[visibility.Kind]map[string]uint64{visibility.Set: {}, visibility.Cluster: {}}
		for revision := range uint64(200) {
			next, delta := applyEdits(state, revision+1, steps[random.IntN(len(steps))], steps[random.IntN(len(steps))])
			for kind, known := range seen {
				before, after := state.ViewFor(jane), next.ViewFor(jane)
				narrow := slices.Collect(visibility.Changes(kind, before, after, delta, anyObject))
				if diff := cmp.Diff(slices.Collect(visibility.Changes(kind, before, after, visibility.Delta{AffectsAll: true}, anyObject)),
					narrow); diff != "" {
					t.Fatalf("seed %d, revision %d: changes (-wide +narrow):\n%s", seed, revision, diff)
				}
				applyChanges(t, known, narrow)
				fresh := map[string]uint64{}
				for entry := range after.Objects(kind) {
					fresh[entry.Object.GetName()] = entry.Revision
				}
				if want := visibleNaively(next, kind); !maps.Equal(fresh, want) {
					t.Fatalf("seed %d, revision %d: kind %d: the view has %v, a check of each object %v", seed, revision, kind, fresh, want)
				}
				if !maps.Equal(fresh, known) {
					t.Fatalf("seed %d, revision %d: kind %d: the changes lead to %v, the view has %v", seed, revision, kind, known, fresh)
				}
			}
			state = next
		}
	}
}

// visibleNaively checks for each object whether jane may see it.
func visibleNaively(state *visibility.Snapshot, kind visibility.Kind) map[string]uint64 {
	rights := state.Permissions(jane)
	root := state.ViewFor(access.Subject{Groups: []string{"system:masters"}})
	out := map[string]uint64{}
	for entry := range root.Objects(kind) {
		name := entry.Object.GetName()
		may := kind == visibility.Set && rights.Sets.Has(name) || kind == visibility.Cluster && rights.Clusters.Has(name)
		if member, ok := entry.Object.(*clusterv1.ManagedCluster); ok {
			for of := range root.Objects(visibility.Set) {
				compiled := engine.NewSet(of.Object.(*clusterv1beta2.ManagedClusterSet))
				may = may || rights.Sets.Has(compiled.Name) && compiled.Has(engine.NewCluster(member))
			}
		}
		if may {
			out[name] = entry.Revision
		}
	}
	return out
}

func anyObject(visibility.Object) bool { return true }
