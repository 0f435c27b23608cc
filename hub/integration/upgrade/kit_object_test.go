package upgrade

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	// recordingPrefix begins the names of recordings; the release follows.
	recordingPrefix = "testdata/recorded-"
	group           = "cluster.open-cluster-management.io"
	workGroup       = "work.open-cluster-management.io"
)

// The resources that are recorded, in the order in which they can be stored again.
var (
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	clusterRoles    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	roleBindings    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	sets            = schema.GroupVersionResource{Group: group, Version: "v1beta2", Resource: "managedclustersets"}
	clusters        = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "managedclusters"}
	leases          = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	scores          = schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "addonplacementscores"}
	bindings        = schema.GroupVersionResource{Group: group, Version: "v1beta2", Resource: "managedclustersetbindings"}
	placements      = schema.GroupVersionResource{Group: group, Version: "v1beta1", Resource: "placements"}
	decisions       = schema.GroupVersionResource{Group: group, Version: "v1beta1", Resource: "placementdecisions"}
	workSets        = schema.GroupVersionResource{Group: workGroup, Version: "v1alpha1", Resource: "manifestworkreplicasets"}
	revisions       = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	works           = schema.GroupVersionResource{Group: workGroup, Version: "v1", Resource: "manifestworks"}

	resources = []schema.GroupVersionResource{
		namespaces, serviceAccounts, sets, clusterRoles, roleBindings, clusters, leases, scores, bindings, placements, decisions, workSets,
		revisions, works,
	}
)

// resourceOf returns the resource of an object.
func resourceOf(t *testing.T, object *unstructured.Unstructured) schema.GroupVersionResource {
	t.Helper()
	plural := strings.ToLower(object.GetKind()) + "s"
	for _, resource := range resources {
		if resource.Resource == plural && resource.GroupVersion().String() == object.GetAPIVersion() {
			return resource
		}
	}
	t.Fatalf("objects of %s %s are not recorded", object.GetAPIVersion(), object.GetKind())
	return schema.GroupVersionResource{}
}

// hasStatus returns whether the objects of a resource have a status of their own.
func hasStatus(resource schema.GroupVersionResource) bool {
	return resource.Group == group || resource.Group == workGroup
}

func newClient(t *testing.T, hub *hubtest.Hub) dynamic.Interface {
	t.Helper()
	out := kit.Must(dynamic.NewForConfig(hub.Config())).In(t)
	return out
}

// header is the first line of a recording.
type header struct {
	// Release is the release or the commit whose manager stored the objects.
	Release string `json:"release"`
	// Recorded is the time of the recording.
	Recorded time.Time `json:"recorded"`
}

// recordings returns the files of the recordings of every release.
func recordings(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob(recordingPrefix + "*.jsonl")
	if err != nil || len(out) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	return out
}

// readRecording returns the recorded objects with all times shifted, as if they were recorded now.
func readRecording(t *testing.T, recording string) (header, []*unstructured.Unstructured) {
	t.Helper()
	data := kit.Must(os.ReadFile(recording)).In(t)
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	var first header
	var out []*unstructured.Unstructured
	for lines.Scan() {
		if first.Release == "" {
			kit.NoError(t, json.Unmarshal(lines.Bytes(), &first))
			continue
		}
		object := &unstructured.Unstructured{}
		kit.NoError(t, object.UnmarshalJSON(lines.Bytes()))
		object.Object = shifted(object.Object, time.Since(first.Recorded)).(map[string]any)
		out = append(out, object)
	}
	return first, out
}

var instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)

// shifted returns a value with every time in it shifted by a duration.
func shifted(value any, by time.Duration) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = shifted(value[key], by)
		}
	case []any:
		for i := range value {
			value[i] = shifted(value[i], by)
		}
	case string:
		if at, err := time.Parse(time.RFC3339, value); err == nil && instant.MatchString(value) {
			format := time.RFC3339
			if strings.Contains(value, ".") {
				format = metav1.RFC3339Micro
			}
			return at.Add(by).UTC().Format(format)
		}
	}
	return value
}
