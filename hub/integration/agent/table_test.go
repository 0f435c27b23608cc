package agent

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

const allowedFile = "testdata/allowed.txt"

// place is where an object is: in the namespace of a cluster, or it is the cluster.
type place struct {
	label, cluster string
}

// places returns the places of a resource: those of the own cluster and of another cluster, or one where the hub has only one.
func (r resource) places(own, other string) []place {
	name, _ := r.parent()
	if r.namespaced || name == "managedclusters" && r.Group == clusterGroup || name == "namespaces" {
		return []place{{" of its cluster", own}, {" of another cluster", other}}
	}
	return []place{{"", own}}
}

// table sends every write on every resource of the hub.
type table struct {
	resources  []resource
	samples    map[string]map[schema.GroupKind]sample
	own, other string
}

func newTable(t *testing.T, resources []resource, own, other string) table {
	t.Helper()
	acceptedCluster(t, own)
	acceptedCluster(t, other)
	return table{resources, storeSamples(t, resources, own, other), own, other}
}

// allowed returns the writes that are not refused to a requester. Nothing is stored.
func (tab table) allowed(t *testing.T, who requester) []string {
	t.Helper()
	out := []string{}
	for _, r := range tab.resources {
		for _, p := range r.places(tab.own, tab.other) {
			for _, verb := range r.verbs {
				got := tab.send(t, who, r, p, verb)
				cell := fmt.Sprintf("%s %s%s", verb, r, p.label)
				switch {
				case got.code == http.StatusForbidden:
				case got.code < http.StatusBadRequest, verb == "create" && got.code == http.StatusConflict:
					out = append(out, cell)
				default:
					t.Errorf("%s: %d: %s; want a success or a refusal", cell, got.code, got.message)
				}
			}
		}
	}
	return out
}

// send sends one write, as a dry run.
func (tab table) send(t *testing.T, who requester, r resource, p place, verb string) response {
	t.Helper()
	dryRun := "?dryRun=All"
	if connects(r.name) {
		dryRun = "?"
	}
	parent, sub := r.parent()
	collection, name := r.collection(p.cluster), tab.name(t, r, p)
	path := strings.TrimSuffix(collection+"/"+name+"/"+sub, "/")
	body, isTransient := transient(r.name, p.cluster)
	switch verb {
	case "create":
		switch {
		case sub != "":
			return who.create(t, path+dryRun, body)
		case isTransient:
			return who.create(t, collection+dryRun, body)
		case parent == "managedclusters":
			return who.create(t, collection+dryRun, cluster(t, name, `{}`))
		case parent == "namespaces":
			return who.create(t, collection+dryRun, object{"metadata": object{"name": name}})
		}
		body = tab.sample(t, r, p).body
		return who.create(t, collection+dryRun, withVersion(body, r))
	case "update":
		if !isTransient {
			stored := path
			if r.writeOnly {
				stored = collection + "/" + name
			}
			body = merged(t, mustGet(t, stored), change(r))
		}
		return who.do(t, http.MethodPut, path+dryRun, jsonBody, body)
	case "patch":
		return who.merge(t, path+dryRun, change(r))
	case "delete":
		return who.remove(t, path+dryRun)
	case "deletecollection":
		return who.remove(t, collection+dryRun+"&fieldSelector=metadata.name="+name)
	default:
		t.Fatalf("the verb %s of %s is unknown", verb, r)
		return response{}
	}
}

// withVersion returns a body for another version of its kind.
func withVersion(body object, r resource) object {
	out := maps.Clone(body)
	out["apiVersion"] = r.GroupVersion.String()
	return out
}

func (tab table) sample(t *testing.T, r resource, p place) sample {
	t.Helper()
	name, _ := r.parent()
	for _, known := range tab.resources {
		if known.GroupVersion == r.GroupVersion && known.name == name {
			if s, found := tab.samples[p.cluster][schema.GroupKind{Group: r.Group, Kind: known.kind}]; found {
				return s
			}
		}
	}
	t.Fatalf("testdata/objects.yaml has no object of %s", r)
	return sample{}
}

func (tab table) name(t *testing.T, r resource, p place) string {
	t.Helper()
	if _, isTransient := transient(r.name, ""); isTransient {
		if r.name == "serviceaccounts/token" {
			return registration.AgentAccount
		}
		return "stored"
	}
	if !r.namespaced && p.label != "" {
		return p.cluster
	}
	return tab.sample(t, r, p).name()
}

// change returns a merge patch for a resource: what an agent writes, else a label.
func change(r resource) string {
	switch r.name {
	case "managedclusters":
		return `{"metadata":{"annotations":{"agent.open-cluster-management.io/tried":"yes"}}}`
	case "managedclusters/status":
		return `{"status":{"version":{"kubernetes":"v1.0.0"}}}`
	case "addonplacementscores/status":
		return `{"status":{"scores":[{"name":"tried","value":1}]}}`
	case "leases":
		return `{"spec":{"renewTime":"2026-01-01T00:00:00.000000Z"}}`
	case "manifestworks":
		return `{"metadata":{"finalizers":["cluster.open-cluster-management.io/manifest-work-cleanup"]}}`
	default:
		return `{"metadata":{"labels":{"tried":"yes"}}}`
	}
}

func checkAllowed(t *testing.T, got string) {
	t.Helper()
	if *update {
		kit.NoError(t, os.WriteFile(allowedFile, []byte(got), 0o600))
	}
	want := kit.Must(os.ReadFile(allowedFile)).In(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", allowedFile, diff)
	}
}

// newBootstrapUser returns the shared account of OCM's bootstrap.
func newBootstrapUser(t *testing.T) requester {
	t.Helper()
	return newRequester(t, "system:serviceaccount:open-cluster-management:agent-registration-bootstrap",
		"system:serviceaccounts", "system:serviceaccounts:open-cluster-management")
}
