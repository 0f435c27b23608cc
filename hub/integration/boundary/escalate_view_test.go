package boundary

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// secret is what a test is to keep: a set and a cluster in it, both with a label that nobody else has.
type secret struct {
	set, cluster, label string
}

func newSecret(t *testing.T) secret {
	t.Helper()
	out := secret{set: newSet(t), label: unique("secret")}
	out.cluster = newCluster(t, out.set)
	for _, path := range []string{sets + "/" + out.set, clusters + "/" + out.cluster} {
		root(t).merge(t, path, `{"metadata":{"labels":{"secret":"`+out.label+`"}}}`).ok(t)
	}
	becomes(t, setViews+"/"+out.set, "metadata.labels.secret", out.label)
	becomes(t, clusterViews+"/"+out.cluster, "metadata.labels.secret", out.label)
	return out
}

// TestGuessingNames compares what is hidden with what is not there, by everything that takes a name.
func TestGuessingNames(t *testing.T) {
	kept, mine, namespace := newSecret(t), newSet(t), shared.Namespace(t)
	for _, who := range []person{someone(t, "stranger"), member(t, namespace, "admin", mine)} {
		t.Run(who.name, func(t *testing.T) {
			for _, pair := range [][2]string{
				{setViews + "/" + kept.set, setViews + "/absent"},
				{clusterViews + "/" + kept.cluster, clusterViews + "/absent"},
				{sets + "/" + kept.set, sets + "/absent"},
				{clusters + "/" + kept.cluster, clusters + "/absent"},
			} {
				same(t, pair, kept, who.read(t, pair[0]), who.read(t, pair[1]))
				same(t, pair, kept, who.remove(t, pair[0]), who.remove(t, pair[1]))
			}
			who.read(t, setViews+"/"+kept.set).is(t, http.StatusNotFound, inView(titled("managedclustersets", kept.set)+" not found"))
			who.read(t, clusterViews+"/"+kept.cluster).is(t, http.StatusNotFound, inView(titled("managedclusters", kept.cluster)+" not found"))
			same(t, [2]string{"binding", "absent"}, kept,
				who.create(t, bindings(namespace), binding(kept.set)), who.create(t, bindings(namespace), binding("absent")))
		})
	}
}

// TestRegisteringANameThatIsTaken tells that it is, which Kubernetes tells everybody who may create.
func TestRegisteringANameThatIsTaken(t *testing.T) {
	kept, mine := newSecret(t), newSet(t)
	who := member(t, shared.Namespace(t), "admin", mine)
	bind(t, who.subject(), "berth:managedcluster:creator")
	who.may(t, "create", clusters)
	who.create(t, clusters, cluster(kept.cluster, mine)).is(t, http.StatusConflict, titled("managedclusters", kept.cluster)+" already exists")
}

// same holds that an answer about what is hidden is word for word that about what is not there.
func same(t *testing.T, what [2]string, kept secret, hidden, absent answer) {
	t.Helper()
	write := func(a answer) string {
		if metadata, is := a.body["metadata"].(map[string]any); is {
			delete(metadata, "resourceVersion") // it is a time
		}
		rows, _ := a.body["rows"].([]any)
		for _, row := range rows { // of a table; the last cell is an age
			cells := row.(map[string]any)["cells"].([]any)
			cells[len(cells)-1] = nil
		}
		text, err := json.Marshal(a.body)
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer(kept.set, "absent", kept.cluster, "absent", kept.label, "absent").Replace(fmt.Sprint(a.Code, a.Warnings, string(text)))
	}
	if diff := cmp.Diff(write(absent), write(hidden)); diff != "" {
		t.Errorf("%s tells that it is there (-absent +hidden):\n%s", what[0], diff)
	}
}

// TestGuessingBySelectors asks for what is hidden by labels, names, pages and tables, and counts.
func TestGuessingBySelectors(t *testing.T) {
	kept, mine := newSecret(t), newSet(t)
	own := newCluster(t, mine)
	viewer := someone(t, "viewer")
	bind(t, viewer.subject(), roleOf("viewer", mine))
	sees(t, viewer, setViews, mine)
	sees(t, viewer, clusterViews, own)
	tables := func(p person) person {
		return p.claiming("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	}
	for _, who := range []person{someone(t, "stranger"), viewer, tables(someone(t, "stranger")), tables(viewer)} {
		for _, query := range []string{
			"labelSelector=secret=LABEL", "labelSelector=secret", "labelSelector=secret!=LABEL", "labelSelector=!secret",
			"labelSelector=" + setLabel + "=SET", "labelSelector=secret+in+(LABEL,x)",
			"fieldSelector=metadata.name=SET", "fieldSelector=metadata.name=CLUSTER", "fieldSelector=metadata.name!=SET",
			"limit=1", "limit=1&labelSelector=secret=LABEL", "limit=500&resourceVersion=0",
		} {
			for _, view := range []string{setViews, clusterViews} {
				hidden := strings.NewReplacer("LABEL", kept.label, "SET", kept.set, "CLUSTER", kept.cluster).Replace(query)
				absent := strings.NewReplacer("LABEL", "absent", "SET", "absent", "CLUSTER", "absent").Replace(query)
				// "secret" alone is there for the hidden ones only; nobody has the other.
				if query == "labelSelector=secret" {
					absent = "labelSelector=absent"
				}
				got := who.read(t, view+"?"+hidden)
				same(t, [2]string{view + "?" + hidden, absent}, kept, got, who.read(t, view+"?"+absent))
				if got.body.at("metadata.continue") != nil && got.body.at("metadata.continue") != "" || got.body.at("metadata.remainingItemCount") != nil {
					t.Errorf("%s of %s tells that there is more: %v", hidden, view, got.body["metadata"])
				}
			}
		}
	}
}

// TestWatchingForWhatIsHidden leaves a watch open while hidden things are there, come, change and go.
func TestWatchingForWhatIsHidden(t *testing.T) {
	for view, collection := range map[string]string{setViews: sets, clusterViews: clusters} {
		t.Run(collection, func(t *testing.T) {
			who := someone(t, "watcher")
			newSecret(t)
			mine := newSet(t)
			seen := map[string]string{setViews: mine, clusterViews: newCluster(t, mine)}[view]
			becomes(t, view+"/"+seen, "metadata.name", seen)
			response, err := who.open(t.Context(), http.MethodGet, view+"?watch=true", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			kept := newSecret(t)
			gone := newCluster(t, kept.set)
			root(t).remove(t, clusters+"/"+gone).ok(t)
			becomes(t, clusterViews+"/"+gone, "reason", "NotFound")
			events := json.NewDecoder(response.Body)
			grant := bind(t, who.subject(), roleOf("viewer", mine))
			next(t, events, "ADDED "+seen)
			root(t).remove(t, grant).ok(t)
			next(t, events, "DELETED "+seen)
		})
	}
}

// next takes the next event of a watch.
func next(t *testing.T, events *json.Decoder, want string) {
	t.Helper()
	var event struct {
		Type   string `json:"type"`
		Object object `json:"object"`
	}
	if err := events.Decode(&event); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(event.Type, " ", event.Object.at("metadata.name")); got != want {
		t.Errorf("the next event is %s, want nothing told before %s", got, want)
	}
}

// TestBorrowingVersionsAndTokens goes on from where an administrator was.
func TestBorrowingVersionsAndTokens(t *testing.T) {
	newSecret(t)
	newSecret(t)
	who := someone(t, "stranger")
	for _, view := range []string{setViews, clusterViews} {
		page := root(t).read(t, view+"?limit=1").ok(t)
		version, token := page.at("metadata.resourceVersion").(string), page.at("metadata.continue").(string)
		for _, query := range []string{
			"limit=1&continue=" + url.QueryEscape(token), "continue=" + url.QueryEscape(token),
			"resourceVersion=" + version, "resourceVersionMatch=Exact&resourceVersion=" + version,
			"resourceVersionMatch=NotOlderThan&resourceVersion=" + version,
		} {
			got := who.read(t, view+"?"+query).ok(t)
			if len(got.names()) > 0 || got.at("metadata.remainingItemCount") != nil || got.at("metadata.continue") != nil && got.at("metadata.continue") != "" {
				t.Errorf("%s?%s: %v", view, query, got)
			}
		}
	}
}

// TestLookingBack asks for what one has seen, once one may no more.
func TestLookingBack(t *testing.T) {
	kept, who := newSecret(t), someone(t, "leaver")
	grant := bind(t, who.subject(), roleOf("viewer", kept.set))
	sees(t, who, setViews, kept.set)
	sees(t, who, clusterViews, kept.cluster)
	version := who.read(t, clusterViews).ok(t).at("metadata.resourceVersion").(string)
	root(t).remove(t, grant).ok(t)
	sees(t, who, clusterViews)
	who.read(t, clusterViews+"?resourceVersionMatch=Exact&resourceVersion="+version).is(t, http.StatusGone, "the resource version is too old, or of another server")
	who.read(t, clusterViews+"/"+kept.cluster).is(t, http.StatusNotFound, inView(titled("managedclusters", kept.cluster)+" not found"))
}
