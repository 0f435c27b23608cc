package attack

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// sentinel shows which writes the manager has processed. It has a placement for each resource that the manager watches. The placement
// selects a cluster or no cluster, depending on an object of that resource. Once the decision follows a change of the object, the
// manager has processed all earlier writes to the resource, and the watcher has received all earlier decisions.
type sentinel struct{ on map[string]bool }

const (
	sentinelNamespace = "sentinel"
	sentinelCluster   = "sentinel-c"
	// otherSentinel is the only member of the sentinel's set while that does not select sentinelCluster: the manager does not follow an
	// edit that leaves a set no member.
	otherSentinel = "sentinel-d"
)

func (t *testHub) newSentinel() {
	t.t.Helper()
	t.sentinel.on = map[string]bool{}
	t.createIfMissing(namespaces, object{"metadata": object{"name": sentinelNamespace}})
	for _, set := range []string{sentinelNamespace, "sentinel-binding"} {
		t.createIfMissing(sets, newObject("ManagedClusterSet", "v1beta2", set).with("spec", object{"clusterSelector": object{
			"selectorType": "LabelSelector", "labelSelector": object{"matchLabels": object{"sentinel": "yes"}},
		}}))
	}
	t.createIfMissing(sets, newObject("ManagedClusterSet", "v1beta2", "sentinel-set").with("spec", object{"clusterSelector": object{
		"selectorType": "LabelSelector", "labelSelector": object{"matchLabels": object{"sentinel": "other"}},
	}}))
	t.createIfMissing(bindings(sentinelNamespace), newBinding(sentinelNamespace))
	t.createIfMissing(bindings(sentinelNamespace), newBinding("sentinel-set"))
	t.join(sentinelCluster, "default")
	t.join(otherSentinel, "default")
	t.must(http.MethodPatch, clusters+"/"+sentinelCluster, `{"metadata":{"labels":{"sentinel":"yes","flip":"false"}}}`)
	t.must(http.MethodPatch, clusters+"/"+otherSentinel, `{"metadata":{"labels":{"sentinel":"other"}}}`)
	only := func(set string) object { return object{"clusterSets": []string{set}} }
	for name, spec := range map[string]object{
		"placements": only(sentinelNamespace).with("numberOfClusters", 0),
		"clusters": only(sentinelNamespace).with("predicates", []object{{"requiredClusterSelector": object{
			"labelSelector": object{"matchLabels": object{"flip": "true"}},
		}}}),
		"sets":      only("sentinel-set"),
		"bindings":  only("sentinel-binding"),
		"decisions": only(sentinelNamespace),
	} {
		t.createIfMissing(placements(sentinelNamespace), newPlacement(name, spec))
	}
}

// must sends a request of the administrator until it succeeds.
func (t *testHub) must(method, path, body string) {
	t.t.Helper()
	kind := plainJSON
	if method == http.MethodPatch {
		kind = mergePatch
	}
	kit.Await(t.t, "the request of the administrator succeeds", func(ctx context.Context) error {
		got, err := t.admin.send(ctx, method, path, kind, body)
		if err == nil && got.code >= http.StatusInternalServerError {
			err = fmt.Errorf("%s %s: %d %s", method, path, got.code, got.message)
		}
		return err
	})
}

// flip changes the object of each resource, and waits for the decision.
func (s *sentinel) flip(w *testHub, resources []string) {
	w.t.Helper()
	slices.Sort(resources)
	for _, resource := range slices.Compact(resources) {
		now := !s.on[resource]
		s.on[resource] = now
		switch resource {
		case "placements":
			number := 0
			if now {
				number = 1
			}
			w.must(http.MethodPatch, placements(sentinelNamespace)+"/placements", fmt.Sprintf(`{"spec":{"numberOfClusters":%d}}`, number))
		case "clusters":
			w.must(http.MethodPatch, clusters+"/"+sentinelCluster, fmt.Sprintf(`{"metadata":{"labels":{"flip":"%t"}}}`, now))
		case "sets":
			value := map[bool]string{true: "yes", false: "other"}[now]
			w.must(http.MethodPatch, sets+"/sentinel-set", fmt.Sprintf(
				`{"spec":{"clusterSelector":{"labelSelector":{"matchLabels":{"sentinel":%q}}}}}`, value))
		case "bindings":
			if now {
				w.createIfMissing(bindings(sentinelNamespace), newBinding("sentinel-binding"))
			} else {
				w.must(http.MethodDelete, bindings(sentinelNamespace)+"/sentinel-binding", "")
			}
		case "decisions":
			w.must(http.MethodDelete, decisions(sentinelNamespace)+"/decisions-decision-1", "")
			now = true // the manager restores it
		}
		want := map[bool]string{true: sentinelCluster}[now]
		if resource == "sets" && !now {
			want = otherSentinel
		}
		kit.Await(w.t, "the decision", func(context.Context) error {
			if got := w.follower.Clusters(sentinelNamespace, resource); got != want {
				return fmt.Errorf("the manager has not seen a change of %s: the sentinel has [%s], want [%s]", resource, got, want)
			}
			return nil
		})
	}
}
