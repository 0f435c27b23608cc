package agent

import (
	"net/http"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

const ofOwn = `the agent of the cluster "own" `

// TestFieldsOfALeaseThatAnAgentMayChange updates the lease that the hub created.
func TestFieldsOfALeaseThatAnAgentMayChange(t *testing.T) {
	acceptedCluster(t, "own")
	path := leases("own") + "/managed-cluster-lease"
	who := newAgent(t, "own")
	const refused = ofOwn + "may change only the holder and the times of a lease"
	for sentence, test := range map[string]struct{ patch, want string }{
		"its time":      {`{"spec":{"renewTime":"2026-01-01T00:00:00.000000Z"}}`, ""},
		"its holder":    {`{"spec":{"holderIdentity":"agent","acquireTime":"2026-01-01T00:00:00.000000Z","leaseTransitions":1}}`, ""},
		"its period":    {`{"spec":{"leaseDurationSeconds":3600}}`, refused},
		"its label":     {`{"metadata":{"labels":{"open-cluster-management.io/cluster-name":null}}}`, refused},
		"an annotation": {`{"metadata":{"annotations":{"a":"b"}}}`, refused},
		"a finalizer":   {`{"metadata":{"finalizers":["example.com/mine"]}}`, refused},
	} {
		t.Run(sentence, func(t *testing.T) {
			who.do(t, http.MethodPut, path+"?dryRun=All", jsonBody, merged(t, mustGet(t, path), test.patch)).expect(t, test.want)
		})
	}
	other := withEveryRole(t, newRequester(t, who.Name()+"-2", who.Groups()...))
	other.merge(t, path, `{"metadata":{"ownerReferences":[`+unknownOwner+`]}}`).expectRefusal(t, refused)
	other.remove(t, path).expectRefusal(t, ofOwn+`may not DELETE leases.coordination.k8s.io "managed-cluster-lease" in the namespace "own"`)
}

// TestLeasesOfAddOnsThatAnAgentMayRenew are those that a role names, where no role has all leases.
func TestLeasesOfAddOnsThatAnAgentMayRenew(t *testing.T) {
	acceptedCluster(t, "own")
	renew := func(who requester, name string) response {
		path := leases("own") + "/" + name
		return who.put(t, path, `{"spec":{"renewTime":"2026-01-01T00:00:00.000000Z"}}`)
	}
	for _, name := range []string{"search", "other"} {
		mustCreate(t, leases("own"), object{"metadata": object{"name": name}, "spec": object{}})
	}
	const refused = ofOwn +
		`may not renew the lease "search": it may renew "managed-cluster-lease", and those of its add-ons where the role names`
	renew(newAgent(t, "own"), "search").expectRefusal(t, refused)

	ensureNamespace(t, "addons")
	mustCreate(t, leases("addons"), object{"metadata": object{"name": "search"}, "spec": object{}})
	who := newAgent(t, "addons") // its cluster was not accepted, so that it has no role but this
	withRole(t, who, "lease-of-search", named(rule("coordination.k8s.io", "leases", "update"), "search"))
	who.awaitAllowed(t, authorizationv1.ResourceAttributes{
		Verb: "update", Group: "coordination.k8s.io", Resource: "leases",
		Namespace: "addons", Name: "search",
	})
	who.put(t, leases("addons")+"/search", `{"spec":{"renewTime":"2026-01-01T00:00:00.000000Z"}}`).expect(t, "")
}

// TestEventsThatAnAgentMayReport are about objects of its cluster.
func TestEventsThatAnAgentMayReport(t *testing.T) {
	acceptedCluster(t, "own")
	who := newAgent(t, "own")
	for sentence, test := range map[string]struct{ kind, name, want string }{
		"its cluster":     {"ManagedCluster", "own", ""},
		"a work":          {"ManifestWork", "any", ""},
		"an add-on":       {"ManagedClusterAddOn", "any", ""},
		"a lease":         {"Lease", "managed-cluster-lease", ""},
		"another cluster": {"ManagedCluster", "other", `ManagedCluster "other"`},
		"a set":           {"ManagedClusterSet", "team", `ManagedClusterSet "team"`},
		"a placement":     {"Placement", "web", `Placement "web"`},
		"a Secret":        {"Secret", "key", `Secret "key"`},
	} {
		want := ""
		if test.want != "" {
			want = ofOwn + "may not report an event about " + test.want + ": only about its own cluster"
		}
		subject := object{"kind": test.kind, "name": test.name, "namespace": "own"}
		t.Run(sentence, func(t *testing.T) {
			who.create(t, "/api/v1/namespaces/own/events?dryRun=All", object{
				"metadata": object{"name": "e"}, "involvedObject": subject, "reason": "Test", "type": "Normal",
			}).expect(t, want)
			who.create(t, "/apis/events.k8s.io/v1/namespaces/own/events?dryRun=All", object{
				"metadata": object{"name": "e"}, "regarding": subject, "reason": "Test", "action": "Test", "type": "Normal",
				"eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "example.com/agent", "reportingInstance": "agent",
			}).expect(t, want)
		})
	}
}

// TestFieldsOfAddOnsAndWorksThatAnAgentMayChange sends what the definitions permit, so that the policy alone refuses.
func TestFieldsOfAddOnsAndWorksThatAnAgentMayChange(t *testing.T) {
	acceptedCluster(t, "own")
	addons := inNamespace("/apis/addon.open-cluster-management.io/v1alpha1", "own", "managedclusteraddons")
	works := inNamespace("/apis/work.open-cluster-management.io/v1", "own", "manifestworks")
	addon := mustCreate(t, addons, object{
		"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
		"metadata": object{"name": "a"}, "spec": object{},
	})
	work := mustCreate(t, works, object{
		"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": object{"name": "w"},
		"spec": object{"workload": object{}},
	})
	who := newAgent(t, "own")
	const (
		noStatus = ofOwn + "may report only conditions, healthCheck, namespace and registrations of an add-on"
		noWork   = ofOwn + "may change only the finalizer cluster.open-cluster-management.io/manifest-work-cleanup of a ManifestWork"
	)
	for sentence, test := range map[string]struct{ path, patch, want string }{
		"conditions of an add-on": {addon + "/status", `{"status":{"conditions":[` + condition("Available", "True") + `]}}`, ""},
		"registrations of an add-on": {
			addon + "/status",
			`{"status":{"namespace":"n","registrations":[{"signerName":"example.com/s"}],"healthCheck":{"mode":"Lease"}}}`, "",
		},
		"related objects of an add-on": {
			addon + "/status", `{"status":{"relatedObjects":[{"group":"g","resource":"r","name":"n"}]}}`,
			noStatus,
		},
		"the configuration of an add-on": {
			addon + "/status", `{"status":{"configReferences":[{"group":"g","resource":"r","name":"n"}]}}`,
			noStatus,
		},
		"the status of a work": {work + "/status", `{"status":{"conditions":[` + condition("Applied", "True") + `]}}`, ""},
		"the finalizer of agents on a work": {
			work, `{"metadata":{"finalizers":["cluster.open-cluster-management.io/manifest-work-cleanup"]}}`,
			"",
		},
		"another finalizer on a work": {work, `{"metadata":{"finalizers":["example.com/mine"]}}`, noWork},
		"the manifests of a work": {
			work,
			`{"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}}}`, noWork,
		},
		"a label of a work": {work, `{"metadata":{"labels":{"a":"b"}}}`, noWork},
	} {
		t.Run(sentence, func(t *testing.T) {
			who.do(t, http.MethodPatch, test.path+"?dryRun=All", mergePatch, merged(t, object{}, test.patch)).expect(t, test.want)
		})
	}
	other := withEveryRole(t, newRequester(t, who.Name()+"-2", who.Groups()...))
	other.merge(t, work, `{"metadata":{"ownerReferences":[`+unknownOwner+`]}}`).expectRefusal(t, noWork)
	other.remove(t, work).expectRefusal(t, ofOwn+`may not DELETE manifestworks.work.open-cluster-management.io "w" in the namespace "own"`)
}
