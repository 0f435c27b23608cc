package boundary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	group = "cluster.open-cluster-management.io"
	// setLabel decides which exclusive set a cluster is in.
	setLabel = "cluster.open-cluster-management.io/clusterset"
)

// The paths of the tested resources.
const (
	clusters            = "/apis/" + group + "/v1/managedclusters"
	sets                = "/apis/" + group + "/v1beta2/managedclustersets"
	clusterViews        = "/apis/view." + group + "/v1/managedclusters"
	setViews            = "/apis/view." + group + "/v1/managedclustersets"
	clusterRoles        = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	clusterRoleBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
)

func bindings(namespace string) string {
	return "/apis/" + group + "/v1beta2/namespaces/" + namespace + "/managedclustersetbindings"
}

func placements(namespace string) string {
	return "/apis/" + group + "/v1beta1/namespaces/" + namespace + "/placements"
}

func decisions(namespace string) string {
	return "/apis/" + group + "/v1beta1/namespaces/" + namespace + "/placementdecisions"
}

func roleBindings(namespace string) string {
	return "/apis/rbac.authorization.k8s.io/v1/namespaces/" + namespace + "/rolebindings"
}

// object is a decoded JSON object.
type object map[string]any

// at returns the value at a path in an object, or nil. Dots divide the keys.
func (o object) at(path string) any {
	var here any = map[string]any(o)
	for key := range strings.SplitSeq(path, ".") {
		in, ok := here.(map[string]any)
		if !ok {
			return nil
		}
		here = in[key]
	}
	return here
}

// label returns a label of an object.
func (o object) label(key string) string {
	labels, _ := o.at("metadata.labels").(map[string]any)
	value, _ := labels[key].(string)
	return value
}

// names returns the names of the items of a list.
func (o object) names() []string {
	out := []string{}
	items, _ := o["items"].([]any)
	for _, item := range items {
		out = append(out, object(item.(map[string]any)).at("metadata.name").(string))
	}
	return out
}

// with returns the object after a JSON merge patch of its maps. null removes a key.
func (o object) with(t *testing.T, patch string) object {
	t.Helper()
	var out, changes map[string]any
	data, err := json.Marshal(o)
	kit.NoError(t, errors.Join(err, json.Unmarshal(data, &out), json.Unmarshal([]byte(patch), &changes)))
	merge(out, changes)
	return out
}

func merge(into, changes map[string]any) {
	for key, value := range changes {
		below, nested := value.(map[string]any)
		old, there := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case nested && there:
			merge(old, below)
		default:
			into[key] = value
		}
	}
}

func newObject(kind, version, name string) object {
	return object{"apiVersion": group + "/" + version, "kind": kind, "metadata": object{"name": name}}
}

// cluster returns a cluster in an exclusive set. With an empty name it has no set.
func cluster(name, set string) object {
	out := newObject("ManagedCluster", "v1", name)
	if set != "" {
		out["metadata"] = object{"name": name, "labels": object{setLabel: set}}
	}
	return out
}

// set returns a set that selects by the clusterset label.
func set(name string) object { return newObject("ManagedClusterSet", "v1beta2", name) }

// everything is a selector of the whole fleet.
const everything = `{"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{}}}}`

func binding(set string) object {
	out := newObject("ManagedClusterSetBinding", "v1beta2", set)
	out["spec"] = object{"clusterSet": set}
	return out
}

func placement(name string, spec object) object {
	out := newObject("Placement", "v1beta1", name)
	out["spec"] = spec
	return out
}

// mustCreate stores an object until the end of the test, and returns its path.
func mustCreate(t *testing.T, collection string, content object) string {
	t.Helper()
	path := collection + "/" + adminUser(t).create(t, collection, content).expectSuccess(t).at("metadata.name").(string)
	removeAfterTest(t, path)
	return path
}

// removeAfterTest deletes the object at a path at the end of the test, if it exists.
func removeAfterTest(t *testing.T, path string) {
	t.Helper()
	administrator, ctx := adminUser(t), context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if answer := administrator.send(ctx, t, http.MethodDelete, path, "", nil); answer.Code != http.StatusOK &&
			answer.Code != http.StatusNotFound {
			t.Errorf("deleting %s: %s", path, answer.Message)
		}
	})
}

// newSet stores a set with a unique name, and returns the name once the set has its roles.
func newSet(t *testing.T) string {
	t.Helper()
	name := unique("set")
	mustCreate(t, sets, set(name))
	awaitRoles(t, name)
	return name
}

// levels are the levels of the roles of a set.
var levels = []string{"admin", "binder", "viewer"}

func awaitRoles(t *testing.T, set string) {
	t.Helper()
	for _, level := range levels {
		awaitValue(t, clusterRoles+"/"+roleOf(level, set), "metadata.name", roleOf(level, set))
	}
}

// roleOf returns the name of the ClusterRole that Berth makes for a set.
func roleOf(level, set string) string { return "berth:managedclusterset:" + level + ":" + set }

// newCluster stores a cluster with a unique name in a set.
func newCluster(t *testing.T, set string) string {
	t.Helper()
	name := unique("cluster")
	mustCreate(t, clusters, cluster(name, set))
	return name
}

// getObject returns the object at a path.
func getObject(t *testing.T, path string) object {
	t.Helper()
	return adminUser(t).read(t, path).expectSuccess(t)
}

// awaitValue waits until an object has a value at a path. Dots divide the keys.
func awaitValue(t *testing.T, path, place string, want any) {
	t.Helper()
	administrator := adminUser(t)
	kit.Await(t, "an object has a value at a path", func(ctx context.Context) error {
		answer, err := administrator.do(ctx, http.MethodGet, path, "", nil)
		if got := answer.body.at(place); err == nil && got != want {
			err = fmt.Errorf("%s of %s is %v, want %v", place, path, got, want)
		}
		return err
	})
}

// selectedClusters returns the names of the clusters that a placement has selected.
func selectedClusters(t *testing.T, namespace, placement string) []string {
	t.Helper()
	return selectedIn(getObject(t, decisions(namespace)+"?labelSelector="+group+"/placement="+placement))
}

// selectedIn returns the names of the clusters in a list of slices.
func selectedIn(list object) []string {
	out := []string{}
	items, _ := list["items"].([]any)
	for _, item := range items {
		entries, _ := object(item.(map[string]any)).at("status.decisions").([]any)
		for _, entry := range entries {
			out = append(out, entry.(map[string]any)["clusterName"].(string))
		}
	}
	slices.Sort(out)
	return out
}
