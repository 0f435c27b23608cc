package wire

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/generate"
)

// reading returns a decoder of a watch of clusters that says this.
func reading(text string) *decoder {
	return newDecoder(io.NopCloser(strings.NewReader(text)), clusterv1.SchemeGroupVersion.WithKind("ManagedCluster"), &clusterv1.ManagedCluster{})
}

// written returns an object as an API server writes it, with who wrote it.
func written(t testing.TB, cluster *clusterv1.ManagedCluster) string {
	t.Helper()
	cluster = cluster.DeepCopy()
	cluster.APIVersion, cluster.Kind = clusterv1.SchemeGroupVersion.String(), "ManagedCluster"
	cluster.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "a [\\] \"b\"", FieldsV1: metav1.NewFieldsV1(`{"f:taints":{"k:{\"key\":\"a]\"}":{"f:list":[1,[2]]}}}`)}}
	text, err := json.Marshal(cluster)
	if err == nil {
		var sorted map[string]any // as it writes what a definition describes
		if err = json.Unmarshal(text, &sorted); err == nil {
			text, err = json.Marshal(sorted)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func event(what, object string) string { return `{"type":"` + what + `","object":` + object + "}\n" }

func TestEventsAreReadAsTheyWereWritten(t *testing.T) {
	f := generate.New(generate.Shape{Clusters: 50, Placements: 1, Seed: 3})
	f.Clusters[7].Annotations = map[string]string{"note": strings.Repeat(`"managedFields":[`, room/10), "[": `\`}
	var text strings.Builder
	for _, cluster := range f.Clusters {
		text.WriteString(event("MODIFIED", written(t, cluster)))
	}
	d := reading(text.String())
	for _, want := range f.Clusters {
		what, got, err := d.Decode()
		if err != nil || what != watch.Modified {
			t.Fatalf("%s: got %s and error %v", want.Name, what, err)
		}
		if diff := cmp.Diff(runtime.Object(want), got); diff != "" {
			t.Errorf("%s (-written +read):\n%s", want.Name, diff)
		}
	}
	if _, _, err := d.Decode(); !errors.Is(err, io.EOF) {
		t.Errorf("error %v at the end, want EOF", err)
	}
}

func TestEventsOfAllTypes(t *testing.T) {
	cluster := `{"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{"name":"a"}}`
	for name, tc := range map[string]struct {
		text string
		want watch.EventType
		says string // part of the error; empty: none
	}{
		"added":                {text: event("ADDED", cluster), want: watch.Added},
		"deleted":              {text: event("DELETED", cluster), want: watch.Deleted},
		"a bookmark":           {text: event("BOOKMARK", cluster), want: watch.Bookmark},
		"an error":             {text: event("ERROR", `{"kind":"Status","code":410}`), want: watch.Error},
		"in another order":     {text: `{"object":` + cluster + `, "type":"ADDED"}` + "\n", want: watch.Added},
		"with spaces":          {text: `{ "type": "ADDED", "object": ` + cluster + " }\r\n", want: watch.Added},
		"of an unknown type":   {text: event("MOVED", cluster), says: `type "MOVED"`},
		"another kind":         {text: event("ADDED", strings.ReplaceAll(cluster, "ManagedCluster", "Placement")), says: "not the kind that is watched"},
		"another version":      {text: event("ADDED", strings.ReplaceAll(cluster, "/v1", "/v2")), says: "not the kind that is watched"},
		"no kind":              {text: event("ADDED", `{"metadata":{"name":"a"}}`), says: "not the kind that is watched"},
		"an object cut off":    {text: event("ADDED", cluster[:len(cluster)-3]), says: "decoding a ManagedCluster"},
		"cut off in its lists": {text: event("ADDED", `{"metadata":{"managedFields":[{"a":["`), says: "decoding a ManagedCluster"},
		"an error cut off":     {text: event("ERROR", `{"kind":`), says: "decoding the error of a watch"},
		"no event":             {text: "<html>\n", says: "not a watch event"},
		"cut off":              {text: event("ADDED", cluster)[:40], says: io.ErrUnexpectedEOF.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			what, object, err := reading(tc.text).Decode()
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("error %v, want %q", err, tc.says)
				}
				return
			}
			if err != nil || what != tc.want || object == nil {
				t.Errorf("got %s, %v and error %v, want %s", what, object, err, tc.want)
			}
		})
	}
}

func TestAnEventIsBounded(t *testing.T) {
	if _, _, err := reading(strings.Repeat("a", longest+2*room)).Decode(); !errors.Is(err, errLong) {
		t.Errorf("error %v, want %v", err, errLong)
	}
}

func TestWritersAreCut(t *testing.T) {
	for name, tc := range map[string]struct{ object, want string }{
		"nobody":           {`{"a":1}`, `{"a":1}`},
		"somebody":         {`{"a":1,"managedFields":[{"b":["]\""]}],"c":2}`, `{"a":1,"c":2}`},
		"none":             {`{"managedFields":[],"c":2}`, `{"c":2}`},
		"last":             {`{"a":1,"managedFields":[1]}`, `{"a":1,"managedFields":[1]}`},
		"in a string":      {`{"a":"\"managedFields\":[","c":2}`, `{"a":"\"managedFields\":[","c":2}`},
		"a list that runs": {`{"managedFields":[[1],"c":2}`, `{"managedFields":[[1],"c":2}`},
	} {
		if got := string(withoutWriters([]byte(tc.object))); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// BenchmarkHeartbeat reads what a heartbeat says.
func BenchmarkHeartbeat(b *testing.B) {
	text := event("MODIFIED", written(b, generate.New(generate.Shape{Clusters: 10, Placements: 1, Seed: 3}).Clusters[3]))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := reading(text).Decode(); err != nil {
			b.Fatal(err)
		}
	}
}
