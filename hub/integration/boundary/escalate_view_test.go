package boundary

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// hiddenObjects are a set and a cluster in it that a user must not see. Both have a label that no other object has.
type hiddenObjects struct {
	set, cluster, labelKey string
}

func newHiddenObjects(t *testing.T) hiddenObjects {
	t.Helper()
	out := hiddenObjects{set: newSet(t), labelKey: unique("secret")}
	out.cluster = newCluster(t, out.set)
	for _, path := range []string{sets + "/" + out.set, clusters + "/" + out.cluster} {
		adminUser(t).merge(t, path, `{"metadata":{"labels":{"secret":"`+out.labelKey+`"}}}`).expectSuccess(t)
	}
	awaitValue(t, setViews+"/"+out.set, "metadata.labels.secret", out.labelKey)
	awaitValue(t, clusterViews+"/"+out.cluster, "metadata.labels.secret", out.labelKey)
	return out
}

// TestGuessingNames compares responses about hidden objects and missing objects, for every request with a name.
func TestGuessingNames(t *testing.T) {
	kept, mine, namespace := newHiddenObjects(t), newSet(t), shared.Namespace(t)
	for _, caller := range []user{newUser(t, "no-role"), newSetMember(t, namespace, "admin", mine)} {
		t.Run(caller.Name(), func(t *testing.T) {
			for _, pair := range [][2]string{
				{setViews + "/" + kept.set, setViews + "/absent"},
				{clusterViews + "/" + kept.cluster, clusterViews + "/absent"},
				{sets + "/" + kept.set, sets + "/absent"},
				{clusters + "/" + kept.cluster, clusters + "/absent"},
			} {
				expectSame(t, pair, kept, caller.read(t, pair[0]), caller.read(t, pair[1]))
				expectSame(t, pair, kept, caller.remove(t, pair[0]), caller.remove(t, pair[1]))
			}
			caller.read(t, setViews+"/"+kept.set).expect(t, http.StatusNotFound, inView(resourceTitle("managedclustersets", kept.set)+" not found"))
			caller.read(t, clusterViews+"/"+kept.cluster).expect(t, http.StatusNotFound,
				inView(resourceTitle("managedclusters", kept.cluster)+" not found"))
			expectSame(t, [2]string{"binding", "absent"}, kept,
				caller.create(t, bindings(namespace), binding(kept.set)), caller.create(t, bindings(namespace), binding("absent")))
		})
	}
}

// TestRegisteringANameThatIsTaken shows that the name is taken. Kubernetes returns that to every user with permission to
// create.
func TestRegisteringANameThatIsTaken(t *testing.T) {
	kept, mine := newHiddenObjects(t), newSet(t)
	caller := newSetMember(t, shared.Namespace(t), "admin", mine)
	bindRole(t, caller.subject(), "berth:managedcluster:creator")
	caller.awaitAllowed(t, "create", clusters)
	caller.create(t, clusters, cluster(kept.cluster, mine)).expect(t, http.StatusConflict,
		resourceTitle("managedclusters", kept.cluster)+" already exists")
}

// expectSame checks that the response about a hidden object equals the response about a missing object.
func expectSame(t *testing.T, what [2]string, kept hiddenObjects, hidden, absent apiResponse) {
	t.Helper()
	write := func(a apiResponse) string {
		if metadata, is := a.body["metadata"].(map[string]any); is {
			delete(metadata, "resourceVersion") // it is a time
		}
		rows, _ := a.body["rows"].([]any)
		for _, row := range rows { // of a table; the last cell is an age
			cells := row.(map[string]any)["cells"].([]any)
			cells[len(cells)-1] = nil
		}
		text := kit.Must(json.Marshal(a.body)).In(t)
		return strings.NewReplacer(kept.set, "absent", kept.cluster, "absent", kept.labelKey,
			"absent").Replace(fmt.Sprint(a.Code, a.Warnings, string(text)))
	}
	if diff := cmp.Diff(write(absent), write(hidden)); diff != "" {
		t.Errorf("%s reveals that the object exists (-absent +hidden):\n%s", what[0], diff)
	}
}

// TestGuessingBySelectors lists hidden objects by labels, names, pages and tables, and counts the results.
func TestGuessingBySelectors(t *testing.T) {
	kept, mine := newHiddenObjects(t), newSet(t)
	own := newCluster(t, mine)
	viewer := newUser(t, "viewer")
	bindRole(t, viewer.subject(), roleOf("viewer", mine))
	awaitVisible(t, viewer, setViews, mine)
	awaitVisible(t, viewer, clusterViews, own)
	kit.Await(t, "the view has the last status of the set", func(ctx context.Context) error { // both answers of a pair show the set
		got, err := adminUser(t).do(ctx, http.MethodGet, setViews+"/"+mine, "", nil)
		if text := fmt.Sprint(got.body["status"]); err == nil && !strings.Contains(text, "ClustersSelected") {
			err = fmt.Errorf("%w: %s", errNotYet, text)
		}
		return err
	})
	tables := func(p user) user {
		return p.withHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	}
	for _, caller := range []user{newUser(t, "no-role"), viewer, tables(newUser(t, "no-role")), tables(viewer)} {
		for _, query := range []string{
			"labelSelector=secret=LABEL", "labelSelector=secret", "labelSelector=secret!=LABEL", "labelSelector=!secret",
			"labelSelector=" + setLabel + "=SET", "labelSelector=secret+in+(LABEL,x)",
			"fieldSelector=metadata.name=SET", "fieldSelector=metadata.name=CLUSTER", "fieldSelector=metadata.name!=SET",
			"limit=1", "limit=1&labelSelector=secret=LABEL", "limit=500&resourceVersion=0",
		} {
			for _, view := range []string{setViews, clusterViews} {
				hidden := strings.NewReplacer("LABEL", kept.labelKey, "SET", kept.set, "CLUSTER", kept.cluster).Replace(query)
				absent := strings.NewReplacer("LABEL", "absent", "SET", "absent", "CLUSTER", "absent").Replace(query)
				// only the hidden objects have the label "secret"; no object has the other label
				if query == "labelSelector=secret" {
					absent = "labelSelector=absent"
				}
				got := caller.read(t, view+"?"+hidden)
				expectSame(t, [2]string{view + "?" + hidden, absent}, kept, got, caller.read(t, view+"?"+absent))
				if got.body.at("metadata.continue") != nil && got.body.at("metadata.continue") != "" ||
					got.body.at("metadata.remainingItemCount") != nil {
					t.Errorf("%s of %s reveals that there are more objects: %v", hidden, view, got.body["metadata"])
				}
			}
		}
	}
}

// TestWatchingForHiddenObjects leaves a watch open while hidden objects are created, changed and deleted.
func TestWatchingForHiddenObjects(t *testing.T) {
	for view, collection := range map[string]string{setViews: sets, clusterViews: clusters} {
		t.Run(collection, func(t *testing.T) {
			caller := newUser(t, "watcher")
			newHiddenObjects(t)
			mine := newSet(t)
			seen := map[string]string{setViews: mine, clusterViews: newCluster(t, mine)}[view]
			awaitValue(t, view+"/"+seen, "metadata.name", seen)
			response, err := caller.Open(t.Context(), http.MethodGet, view+"?watch=true", "", nil)
			kit.NoError(t, err)
			defer response.Body.Close()
			kept := newHiddenObjects(t)
			gone := newCluster(t, kept.set)
			adminUser(t).remove(t, clusters+"/"+gone).expectSuccess(t)
			awaitValue(t, clusterViews+"/"+gone, "reason", "NotFound")
			events := json.NewDecoder(response.Body)
			grant := bindRole(t, caller.subject(), roleOf("viewer", mine))
			expectEvent(t, events, "ADDED "+seen)
			adminUser(t).remove(t, grant).expectSuccess(t)
			expectEvent(t, events, "DELETED "+seen)
		})
	}
}

// expectEvent checks the next event of a watch.
func expectEvent(t *testing.T, events *json.Decoder, want string) {
	t.Helper()
	var event struct {
		Type   string `json:"type"`
		Object object `json:"object"`
	}
	kit.NoError(t, events.Decode(&event))
	if got := fmt.Sprint(event.Type, " ", event.Object.at("metadata.name")); got != want {
		t.Errorf("the next event is %s, want %s", got, want)
	}
}

// TestReusingVersionsAndTokens lists from the version that an administrator read, and with continue tokens.
func TestReusingVersionsAndTokens(t *testing.T) {
	newHiddenObjects(t)
	caller := newUser(t, "no-role")
	for _, view := range []string{setViews, clusterViews} {
		version := adminUser(t).read(t, view).expectSuccess(t).at("metadata.resourceVersion").(string)
		for _, query := range []string{"limit=1", "resourceVersion=" + version, "resourceVersionMatch=NotOlderThan&resourceVersion=" + version} {
			got := caller.read(t, view+"?"+query).expectSuccess(t)
			if len(got.names()) > 0 || got.at("metadata.remainingItemCount") != nil ||
				got.at("metadata.continue") != nil && got.at("metadata.continue") != "" {
				t.Errorf("%s?%s: %v", view, query, got)
			}
		}
		for _, query := range []string{
			"continue=" + version, "limit=1&continue=" + version,
			"resourceVersionMatch=Exact&resourceVersion=" + version,
		} {
			caller.read(t, view+"?"+query).expect(t, http.StatusGone, "the resource version is too old, or of another server")
		}
	}
}

// TestWatchingFromOldVersions reads objects again after the permission is revoked.
func TestWatchingFromOldVersions(t *testing.T) {
	kept, caller := newHiddenObjects(t), newUser(t, "leaver")
	grant := bindRole(t, caller.subject(), roleOf("viewer", kept.set))
	awaitVisible(t, caller, setViews, kept.set)
	awaitVisible(t, caller, clusterViews, kept.cluster)
	version := caller.read(t, clusterViews).expectSuccess(t).at("metadata.resourceVersion").(string)
	adminUser(t).remove(t, grant).expectSuccess(t)
	awaitVisible(t, caller, clusterViews)
	caller.read(t, clusterViews+"?resourceVersionMatch=Exact&resourceVersion="+version).expect(t, http.StatusGone,
		"the resource version is too old, or of another server")
	caller.read(t, clusterViews+"/"+kept.cluster).expect(t, http.StatusNotFound,
		inView(resourceTitle("managedclusters", kept.cluster)+" not found"))
}
