package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestDebugContract sends the requests of OCM's clients to its debug server, and compares the responses and refusals.
func TestDebugContract(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 4)
	f.awaitSeen(m)
	f.placement("p", kit.Number(1), within("a", "b"))
	f.awaitExplained("p", f.names(0)...)
	f.taint(1)
	f.awaitExplained("p", f.names(0)...)
	root, anonymous := shared.Config(), rest.AnonymousClientConfig(shared.Config())
	jane := shared.ConfigFor(t, "jane-"+f.namespace)
	body := kit.Must(json.Marshal(f.unsaved("new", kit.Number(2), within("a")))).In(t)
	wrong := kit.Must(json.Marshal(f.unsaved("new", func(spec *clusterv1beta1.PlacementSpec) {
		spec.PrioritizerPolicy.Mode = "Sparkle"
	}))).In(t)
	stored := "/debug/placements/" + f.namespace + "/p"
	for sentence, test := range map[string]struct {
		as           *rest.Config
		method, path string
		body         string
		code         int
		want         string
	}{
		"a stored placement":                 {root, http.MethodGet, stored, "", 200, `"filteredPipelineResults"`},
		"a placement to try":                 {root, http.MethodPost, "/debug/placements/", string(body), 200, `"aggregatedScores"`},
		"a path without a name":              {root, http.MethodGet, "/debug/placements/p", "", 400, "/debug/placements/NAMESPACE/NAME"},
		"a path with another element":        {root, http.MethodGet, stored + "/x", "", 400, "/debug/placements/NAMESPACE/NAME"},
		"a placement to try at a wrong path": {root, http.MethodPost, stored, string(body), 400, "the path to POST placements to"},
		"invalid JSON":                       {root, http.MethodPost, "/debug/placements/", "{", 400, "not a Placement in JSON"},
		"a placement without a name":         {root, http.MethodPost, "/debug/placements/", "{}", 400, "has no metadata.namespace"},
		"a misconfigured placement":          {root, http.MethodPost, "/debug/placements/", string(wrong), 400, "the placement is misconfigured"},
		"a body that is too long": {
			root, http.MethodPost, "/debug/placements/", strings.Repeat(" ", 1<<20+1), 400,
			"longer than 1048576 bytes",
		},
		"an anonymous user":           {anonymous, http.MethodGet, stored, "", 401, "no user"},
		"a user without get":          {jane, http.MethodGet, stored, "", 403, "cannot get resource"},
		"a user without create":       {jane, http.MethodPost, "/debug/placements/", string(body), 403, "cannot create resource"},
		"a missing placement":         {root, http.MethodGet, stored + "q", "", 404, "not found"},
		"another verb":                {root, http.MethodDelete, stored, "", 405, "DELETE"},
		"another verb without a name": {root, http.MethodPut, "/debug/placements/", "", 405, "PUT"},
	} {
		t.Run(sentence, func(t *testing.T) {
			code, header, data := sendToManager(t, m, test.as, test.method, test.path, test.body)
			if code != test.code || !strings.Contains(string(data), test.want) || header.Get("Content-Type") != "application/json" {
				t.Errorf("response %d %s %s", code, header.Get("Content-Type"), data)
			}
			var refusal map[string]any
			if err := json.Unmarshal(data, &refusal); err != nil || code >= 400 && (len(refusal) != 1 || refusal["error"] == nil) {
				t.Errorf("the response differs from the documentation: %s, %v", data, err)
			}
		})
	}
	tried, err := f.Selected(t.Context(), f.namespace, "new")
	if err != nil || len(tried) != 0 {
		t.Errorf("trying stored %v, %v", tried, err)
	}
	want := map[string][]string{
		"Predicate": f.names(0, 1, 3), "Predicate,TaintToleration": f.names(0, 3), "scores": f.names(0, 3),
	}
	kit.Await(t, "the manager serves the stages of the decision", func(context.Context) error { // the taint is decided after a moment
		_, _, data := sendToManager(t, m, root, http.MethodGet, stored, "") //nolint:contextcheck // it has the context of the test
		got, err := debugStages(data)
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			err = fmt.Errorf("%w: stages (-want +got):\n%s", errOther, diff)
		}
		return err
	})
}

var errOther = errors.New("another response")

// debugStages returns the clusters that are left after each filter, and those that have scores.
func debugStages(data []byte) (map[string][]string, error) {
	var report struct {
		Filtered []struct {
			Name     string   `json:"name"`
			Clusters []string `json:"filteredClusters"`
		} `json:"filteredPipelineResults"`
		Aggregated []struct {
			Cluster string `json:"clusterName"`
		} `json:"aggregatedScores"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, err
	}
	got := map[string][]string{}
	for _, stage := range report.Filtered {
		got[stage.Name] = stage.Clusters
	}
	for _, row := range report.Aggregated {
		got["scores"] = append(got["scores"], row.Cluster)
	}
	return got, nil
}
