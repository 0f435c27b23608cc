//go:build slow

package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery/report"
)

const (
	viewPath   = "/apis/view.cluster.open-cluster-management.io/v1"
	policyPath = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/team/"
	setPath    = "/apis/work.open-cluster-management.io/v1alpha1/namespaces/team/manifestworkreplicasets"
)

// tenantViews is what the API server and the views return to the tenant.
type tenantViews struct {
	fleet clusterv1.ManagedClusterList
	sets  clusterv1beta2.ManagedClusterSetList
	// placements and workSets are named NAMESPACE/NAME.
	placements, workSets []string
	// selected has the number of placements that selected each cluster.
	selected map[string]int
	// explained has the explanation of each placement, delivered the delivery of each set of works.
	explained map[string]explain.Explanation
	delivered map[string]report.Report
}

func (v *tenantViews) clusters() []string {
	var out []string
	for i := range v.fleet.Items {
		out = append(out, v.fleet.Items[i].Name)
	}
	slices.Sort(out)
	return out
}

// withLabel counts the clusters that have each label.
func (v *tenantViews) withLabel() map[string]int {
	out := map[string]int{}
	for i := range v.fleet.Items {
		for key := range v.fleet.Items[i].Labels {
			out[key]++
		}
	}
	return out
}

// awaitViews reads the views of the tenant, once they have what it may see.
func awaitViews(t *testing.T, config *rest.Config) *tenantViews {
	t.Helper()
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var out *tenantViews
	kit.Await(t, "the views have the open clusters", func(ctx context.Context) error {
		out, err = readViews(func(path string, into any) error {
			data, err := typed.Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Raw()
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return json.Unmarshal(data, into)
		})
		if err == nil && !slices.Equal(out.clusters(), openClusters()) {
			err = fmt.Errorf("the tenant sees %v in its views, want %v", out.clusters(), openClusters())
		}
		return err
	})
	return out
}

func readViews(get func(path string, into any) error) (*tenantViews, error) {
	out := &tenantViews{selected: map[string]int{}, explained: map[string]explain.Explanation{}, delivered: map[string]report.Report{}}
	var placements clusterv1beta1.PlacementList
	var decisions clusterv1beta1.PlacementDecisionList
	var workSets workv1alpha1.ManifestWorkReplicaSetList
	for path, into := range map[string]any{
		viewPath + "/managedclusters": &out.fleet, viewPath + "/managedclustersets": &out.sets,
		policyPath + "placements": &placements, policyPath + "placementdecisions": &decisions, setPath: &workSets,
	} {
		if err := get(path, into); err != nil {
			return nil, err
		}
	}
	for i := range decisions.Items {
		for _, each := range decisions.Items[i].Status.Decisions {
			out.selected[each.ClusterName]++
		}
	}
	for i := range placements.Items {
		key := "team/" + placements.Items[i].Name
		out.placements = append(out.placements, key)
		var found explain.Explanation
		if err := get(viewPath+"/namespaces/team/placements/"+placements.Items[i].Name+"/explanation", &found); err != nil {
			return nil, err
		}
		out.explained[key] = found
	}
	for i := range workSets.Items {
		key := "team/" + workSets.Items[i].Name
		out.workSets = append(out.workSets, key)
		var found report.Report
		if err := get(viewPath+"/namespaces/team/manifestworkreplicasets/"+workSets.Items[i].Name+"/delivery", &found); err != nil {
			return nil, err
		}
		out.delivered[key] = found
	}
	return out, nil
}

// pageReader reads numbers from the pages of a site.
type pageReader struct {
	t *testing.T
	s *site
}

func (r pageReader) get(path string) string {
	r.t.Helper()
	got := r.s.send(r.t, http.MethodGet, path, "")
	if got.code != http.StatusOK {
		r.t.Fatalf("%s: %s, want 200", path, got)
	}
	return got.body
}

// number checks a number of a page: that which a pattern finds. Where the pattern finds nothing, it is 0.
func (r pageReader) number(path, pattern string, want int) {
	r.t.Helper()
	got, body := 0, r.get(path)
	if found := regexp.MustCompile(pattern).FindStringSubmatch(body); found != nil {
		got, _ = strconv.Atoi(found[1])
	}
	if got != want {
		r.t.Errorf("%s: %s is %d, want %d as in the views:\n%s", path, pattern, got, want, body)
	}
}

// json reads what a module reads.
func (r pageReader) json(path string, into any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.get(path)), into); err != nil {
		r.t.Fatalf("%s: %v", path, err)
	}
}

// checkCounts compares every number that pages show to a tenant with its views.
func checkCounts(t *testing.T, s *site, want *tenantViews) {
	t.Helper()
	r := pageReader{t, s}
	fact := func(name string) string { return "<dt>" + name + "</dt><dd>(\\d+)</dd>" }
	for path, facts := range map[string]map[string]int{
		"/": {"Clusters": len(want.fleet.Items), "Placements": len(want.placements)},
		"/hub": {
			"Clusters": len(want.fleet.Items), "Placements": len(want.placements), "Sets": len(want.sets.Items),
			"Sets of works": len(want.workSets),
		},
	} {
		for name, number := range facts {
			r.number(path, fact(name), number)
		}
		r.number(path, `</span>healthy(?:</a>)?</dt><dd>(?:<a [^>]*>)?(\d+)`, len(want.fleet.Items))
	}
	r.number("/?view=table", `(\d+) in all`, len(want.fleet.Items))
	r.number("/placements", `(\d+) in all`, len(want.placements))
	checkKeys(r, want)
	checkGrid(r, want)
	for key, found := range want.explained {
		r.number("/placements/"+key, `All clusters</span>.*?<span class="left">(\d+)</span>`, len(found.Clusters))
		r.number("/placements/"+key, `and (\d+) that you may not see`, found.Hidden)
		r.number("/placements/"+key, `Selected</span>.*?<span class="left">(\d+)</span>`, len(found.Chosen()))
	}
	for key, found := range want.delivered {
		r.number("/rollouts/"+key, `and (\d+) clusters that you may not see`, found.Hidden)
		r.number("/rollouts/"+key, `of (\d+) done`, found.Summary.DesiredTotal)
		if rows := strings.Count(r.get("/rollouts/"+key), `<tr><th scope="row"><a href="/clusters/`); rows != len(found.Clusters) {
			t.Errorf("/rollouts/%s has %d clusters, want %d as in the views", key, rows, len(found.Clusters))
		}
	}
	if rows := strings.Count(r.get("/rollouts"), `<a href="/rollouts/`); rows != len(want.workSets) {
		t.Errorf("/rollouts has %d sets of works, want %d", rows, len(want.workSets))
	}
}

// checkKeys compares the labels that the fleet can be grouped by, with the number of clusters that have each.
func checkKeys(r pageReader, want *tenantViews) {
	r.t.Helper()
	got := map[string]int{}
	for _, found := range regexp.MustCompile(`<option value="label:([^"]+)">[^<]*\((\d+)\)</option>`).FindAllStringSubmatch(r.get("/"), -1) {
		got[found[1]], _ = strconv.Atoi(found[2])
	}
	if diff := cmp.Diff(want.withLabel(), got); diff != "" {
		r.t.Errorf("labels with their counts (-views +page):\n%s", diff)
	}
}

// checkGrid compares what modules read: the cells, the sets, and what a search finds.
func checkGrid(r pageReader, want *tenantViews) {
	r.t.Helper()
	var grid struct {
		Names    []string
		Selected []int
	}
	r.json("/data/grid", &grid)
	var selected []int
	for _, name := range want.clusters() {
		selected = append(selected, want.selected[name])
	}
	if !slices.Equal(grid.Names, want.clusters()) || !slices.Equal(grid.Selected, selected) {
		r.t.Errorf("the cells are %v with %v placements, want %v with %v", grid.Names, grid.Selected, want.clusters(), selected)
	}
	var column struct {
		Values []string
		Index  []int
	}
	r.json("/data/column?key=set", &column)
	if !slices.Equal(column.Values, []string{want.sets.Items[0].Name}) || len(column.Index) != len(want.fleet.Items) {
		r.t.Errorf("the sets of the cells are %+v, want those of the views", column)
	}
	for _, text := range []string{"e", "a", "-", "n"} {
		var matches []struct{ Kind, Namespace, Name string }
		r.json("/data/search?"+url.Values{"q": {text}}.Encode(), &matches)
		names := append(want.clusters(), want.placements...)
		for i := range want.sets.Items {
			names = append(names, want.sets.Items[i].Name)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, text) })
		if len(matches) != len(names) {
			r.t.Errorf("a search of %q finds %v, want %v", text, matches, names)
		}
	}
}
