//go:build slow

package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/console"
)

// hidden replaces what exists and is not visible to the tenant by what does not exist, in requests.
func hidden() *strings.Replacer {
	return strings.NewReplacer("unseen", "absent", "lent-1", "none-1")
}

// leakValues are the values of each parameter of the console. The first goes with the values of the others.
func leakValues() map[string][]string {
	const placement = `apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: more, namespace: team}\nspec: {clusterSets: [%s]}\n`
	const cluster = `apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: %s, labels: {region: north, cluster.open-cluster-management.io/clusterset: open}}\nspec: {hubAcceptsClient: true}\n`
	const typed = `"apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata:\n  name: p\nspec:\n  clusterSets:\n  - \n"`
	return map[string][]string{
		"cluster": {"unseen-cluster-1", "lent-1", "open-1"}, "namespace": {"team", "unseen-namespace"},
		"placement": {"all", "web", "unseen-placement", "unseen-short"},
		"set":       {"tools", "unseen-tools", "team/tools", "unseen-namespace/unseen-tools"},
		"view":      {"table", "grid"}, "page": {"1", "2", "unseen"}, "stage": {"sets", "predicates", "taints", "unseen"},
		"q": {
			"e", "unseen", "lent-1", "region=unseen-region", "unseen-label=unseen-value", "unseen-claim=unseen-value", "set=unseen-set", "set=lent",
			"tainted", "healthy", "north",
		},
		"action": {"approve", "deny", "accept", "pause", "resume", "unseen"}, "group": {"1", "unseen-group"},
		"step": {"0", "1", "1000000", "unseen"}, "at": {"2026-01-31T10:00:00Z", "2100-01-31T10:00:00Z", "unseen"},
		"name": {"main.js", "unseen.js"}, "since": {"1", "unseen"},
		"key": {
			"set", "label:region", "label:unseen-label", "claim:unseen-claim", "claim:platform", "placement:team/all", "placement:team/web",
			"placement:unseen-namespace/unseen-placement", "unseen",
		},
		"yaml": {
			`""`, `"` + fmt.Sprintf(placement, "open") + `"`, `"` + fmt.Sprintf(placement, "unseen-set") + `"`,
			`"` + fmt.Sprintf(cluster, "unseen-cluster-1") + `"`, `"unseen"`,
		},
		"cordon": {`[]`, `["unseen-cluster-1"]`, `["lent-1"]`, `["open-1"]`},
		"remove": {`[]`, `["unseen-cluster-1"]`, `["lent-1"]`, `["open-1"]`},
		"drain":  {`[]`, `["region=unseen-region"]`, `["unseen-label"]`, `["region=north"]`, `["region in (unseen-region)"]`},
		"text":   {typed, `"unseen: "`}, "row": {"6", "0", "99"}, "column": {"4", "99"},
	}
}

// combinations returns every pair of values of two parameters, with the first values of the others.
func combinations(t *testing.T, names []string) []map[string]string {
	t.Helper()
	values := leakValues()
	first := map[string]string{}
	for _, name := range names {
		if len(values[name]) == 0 {
			t.Fatalf("the parameter %q has no values here: add those that could return what a tenant may not see", name)
		}
		first[name] = values[name][0]
	}
	out := []map[string]string{first}
	for i, a := range names {
		for _, b := range append(names[i+1:len(names):len(names)], a) { // a beside itself is a alone
			for _, x := range values[a] {
				for _, y := range values[b] {
					next := maps.Clone(first)
					next[b], next[a] = y, x
					if !slices.ContainsFunc(out, func(known map[string]string) bool { return maps.Equal(known, next) }) {
						out = append(out, next)
					}
				}
			}
		}
	}
	return out
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// sent is a request of a route.
type sent struct{ method, path, body string }

func (s sent) String() string { return s.method + " " + s.path + " " + s.body }

// absent returns the same request about what does not exist.
func (s sent) absent() sent {
	return sent{s.method, hidden().Replace(s.path), hidden().Replace(s.body)}
}

// requestsOf returns the requests of a route with all its parameters.
func requestsOf(t *testing.T, route console.Route) []sent {
	t.Helper()
	var names []string
	for _, found := range pathParameter.FindAllStringSubmatch(route.Path, -1) {
		names = append(names, found[1])
	}
	var out []sent
	for _, values := range combinations(t, append(names, route.Parameters...)) {
		path := pathParameter.ReplaceAllStringFunc(route.Path, func(part string) string {
			return url.PathEscape(values[strings.Trim(part, "{}")])
		})
		query, fields := url.Values{}, map[string]json.RawMessage{}
		for _, name := range route.Parameters {
			query.Set(name, values[name])
			fields[name] = json.RawMessage(values[name])
		}
		next := sent{method: route.Method, path: path}
		switch {
		case route.Method == http.MethodGet && len(query) > 0:
			next.path += "?" + query.Encode()
		case route.Method == http.MethodPost && strings.HasPrefix(route.Path, "/data/"): // modules send JSON
			body := kit.Must(json.Marshal(fields)).In(t)
			next.body = string(body)
		case route.Method == http.MethodPost:
			next.body = query.Encode()
		}
		out = append(out, next)
	}
	return out
}

// volatile matches what differs between two responses about the same.
var volatile = regexp.MustCompile(`data-version="\d+"|"version":\d+|(?m:^id: \d+$)|<time [^>]*>[^<]*</time>`)

// normalized returns a response without what differs from one moment to the next, and without the words in which two requests differ.
func normalized(text string) string {
	text = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\"`, `"`).Replace(text)
	return hidden().Replace(volatile.ReplaceAllString(text, ""))
}

// checkSight sends a request as a tenant, about what exists and about what does not. The second may have no planted word in its response,
// and the first must be equal to it.
func checkSight(t *testing.T, what string, of sent, send func(sent) string) {
	t.Helper()
	plain := send(of.absent())
	if at := strings.Index(strings.ToLower(plain), "unseen"); at >= 0 {
		t.Errorf("%s %s: the tenant sees …%.200s", what, of.absent(), plain[max(0, at-100):])
		return
	}
	if of == of.absent() {
		return
	}
	if diff := cmp.Diff(strings.Split(normalized(plain), "\n"), strings.Split(normalized(send(of)), "\n")); diff != "" {
		t.Errorf("%s %s: the response differs from that about what does not exist (-absent +unseen):\n%s", what, of, diff)
	}
}

// TestATenantSeesNothingElse sends every request of every route of the console as a tenant, to the command and to the manager, and reads
// every stream. No response may have a planted word, and what the tenant may not see is to it as what does not exist.
func TestATenantSeesNothingElse(t *testing.T) {
	address := hubtest.FreeAddress(t)
	hub := hubtest.New(t, hubtest.Options{Manager: true, Args: []string{"--console-bind-address", address}})
	f := newPlantedFleet(t, hub)
	config := hub.Config()
	config.CertData, config.KeyData, config.CertFile, config.KeyFile, config.BearerToken = nil, nil, "", "", f.tenant
	printed, _ := serve(t, "--kubeconfig", hub.WriteKubeconfig(t, config), "-n", "team")
	sites := []*site{commandSite(t, printed), managerSite(address, f.tenant)}
	want := awaitViews(t, config)
	for _, s := range sites {
		awaitSame(t, s, want)
		t.Run(s.name+" counts", func(t *testing.T) { checkCounts(t, s, want) })
		t.Run(s.name+" requests", func(t *testing.T) {
			for _, route := range console.Routes() {
				checkRoute(t, s, route)
			}
		})
		t.Run(s.name+" streams", func(t *testing.T) {
			for _, route := range console.Routes() {
				if route.Method == http.MethodGet && route.Path != "/events" {
					checkStreams(t, s, route)
				}
			}
		})
		t.Logf("the %s: %d requests of %d routes", s.name, s.requests.Load(), len(console.Routes()))
	}
	checkChanges(t, f, sites, managerSite(address, f.admin))
}

// checkStreams reads the streams of a route with all its parameters: for a browser that has nothing yet, and for a browser with a version.
func checkStreams(t *testing.T, s *site, route console.Route) {
	t.Helper()
	all := requestsOf(t, route)
	for _, each := range all {
		checkSight(t, s.name+": the stream of", each, func(of sent) string { return s.stream(t, of.path, "0") })
	}
	for _, since := range leakValues()["since"] {
		checkSight(t, s.name+": the stream since "+since+" of", all[0],
			func(of sent) string { return s.stream(t, of.path, hidden().Replace(since)) })
	}
}

// checkRoute sends the requests of a route, then a request with each other method, and a request without credentials.
func checkRoute(t *testing.T, s *site, route console.Route) {
	t.Helper()
	if route.Path == "/events" { // a stream does not end: see the streams
		return
	}
	all := requestsOf(t, route)
	for _, each := range all {
		checkSight(t, s.name, each, func(of sent) string { return s.send(t, of.method, of.path, of.body).String() })
	}
	for _, method := range []string{
		http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions,
	} {
		if method != route.Method {
			other := sent{method, all[0].path, all[0].body}
			checkSight(t, s.name, other, func(of sent) string { return s.send(t, of.method, of.path, of.body).String() })
		}
	}
	for _, each := range []sent{all[0], {http.MethodGet, "/events?page=" + url.QueryEscape(all[0].path), ""}} {
		if got := s.anonymous().send(t, each.method, each.path, each.body); got.code != http.StatusUnauthorized ||
			strings.Contains(got.String(), "open-1") {
			t.Errorf("%s %s without credentials: %s, want 401", s.name, each, got)
		}
	}
}

// awaitSame waits until a site shows the clusters, the placements and the sets of works that the tenant sees in its views.
func awaitSame(t *testing.T, s *site, want *tenantViews) {
	t.Helper()
	kit.Await(t, "a site shows the clusters, the placements and the sets of works that the tenant sees in its views",
		func(ctx context.Context) error {
			for path, texts := range map[string][]string{
				"/?view=table": want.clusters(), "/placements": want.placements, "/rollouts": want.workSets,
				"/clusters/open-1": {"known-error"},
			} {
				got, err := s.try(ctx, http.MethodGet, path, "")
				if err != nil {
					return err
				}
				for _, text := range texts {
					if !strings.Contains(got.body, text) {
						return fmt.Errorf("%s: %s lacks %s: %s", s.name, path, text, got)
					}
				}
			}
			return nil
		})
}
