package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

// bootstrapRules is the role of OCM's bootstrap users, which may join any set.
func bootstrapRules() []object {
	return []object{
		rule("certificates.k8s.io", "certificatesigningrequests", "create", "get", "list", "watch"),
		rule(clusterGroup, "managedclusters", "create", "get", "list", "watch"),
		rule("", "configmaps", "get"),
		rule(clusterGroup, "managedclustersets/join", "create"),
	}
}

// bootstrapUsers returns the identities that OCM's agents begin with.
func bootstrapUsers(t *testing.T) map[string]requester {
	t.Helper()
	return map[string]requester{
		"account": newBootstrapUser(t),
		"token":   newRequester(t, "system:bootstrap:ocmhub", "system:bootstrappers", "system:bootstrappers:managedcluster"),
	}
}

// TestClustersThatABootstrapUserMayCreate varies one field of a new cluster.
func TestClustersThatABootstrapUserMayCreate(t *testing.T) {
	const (
		who   = "a bootstrap user "
		label = who + "may not change labels, which decide the sets and placements of a cluster: only " +
			"cluster.open-cluster-management.io/clusterset=default"
		taint   = who + "may not change spec.taints"
		mark    = who + "may not change annotations but those that begin with"
		lease   = who + "may not change spec.leaseDurationSeconds to more than 600"
		stamped = `{"key":"` + unreachableKey + `","effect":"NoSelect","timeAdded":"2026-01-01T00:00:00Z"}`
	)
	for identity, user := range bootstrapUsers(t) {
		withRole(t, user, "bootstrap-"+identity, bootstrapRules()...)
		user.awaitAllowed(t, authorizationv1.ResourceAttributes{Verb: "create", Group: clusterGroup, Resource: "managedclusters"})
		for sentence, test := range map[string]struct{ patch, want string }{
			"as agents send it": {
				`{"metadata":{"annotations":{"agent.open-cluster-management.io/a":"b"}},"spec":{"managedClusterClientConfigs":[{"url":"https://x"}],"hubAcceptsClient":false,"leaseDurationSeconds":60}}`, "",
			},
			"with nothing":                    {`{}`, ""},
			"in the default set":              {`{"metadata":{"labels":{"` + setLabel + `":"default"}}}`, ""},
			"in no set":                       {`{"metadata":{"labels":{"` + setLabel + `":""}}}`, ""},
			"with the taint of the hub":       {`{"spec":{"taints":[` + stamped + `]}}`, ""},
			"with that taint twice":           {`{"spec":{"taints":[` + stamped + `,` + stamped + `]}}`, taint},
			"with that taint and a value":     {`{"spec":{"taints":[{"key":"` + unreachableKey + `","value":"x","effect":"NoSelect"}]}}`, taint},
			"with that taint, another effect": {`{"spec":{"taints":[{"key":"` + unreachableKey + `","effect":"PreferNoSelect"}]}}`, taint},
			"with a taint":                    {`{"spec":{"taints":[{"key":"mine","effect":"NoSelect"}]}}`, taint},
			"accepted":                        {`{"spec":{"hubAcceptsClient":true}}`, who + "may not change spec.hubAcceptsClient"},
			"in another set":                  {`{"metadata":{"labels":{"` + setLabel + `":"team"}}}`, label},
			"in a set by a label":             {`{"metadata":{"labels":{"env":"prod"}}}`, label},
			"with a label of the cluster": {
				`{"metadata":{"labels":{"` + infoPrefix + `a":"b"}}}`,
				who + "may not change the label " + infoPrefix + "a",
			},
			"simulated":           {`{"metadata":{"annotations":{"berth-project.io/simulated":"true"}}}`, mark},
			"with a recorded UID": {`{"metadata":{"annotations":{"berth-project.io/cluster-uid":"u"}}}`, mark},
			"with a requester":    {`{"metadata":{"annotations":{"berth-project.io/join-requester":"me"}}}`, mark},
			"with a finalizer":    {`{"metadata":{"finalizers":["example.com/mine"]}}`, who + "may not change metadata.finalizers"},
			"with an owner": {
				`{"metadata":{"ownerReferences":[` + unknownOwner + `]}}`,
				who + "may not change metadata.finalizers",
			},
			"with a period of a day": {`{"spec":{"leaseDurationSeconds":86400}}`, lease},
		} {
			t.Run(identity+"/"+sentence, func(t *testing.T) {
				user.create(t, clusters+"?dryRun=All", cluster(t, "new-cluster", test.patch)).expect(t, test.want)
			})
		}
	}
}

// TestABootstrapUserChangesNoCluster has every role.
func TestABootstrapUserChangesNoCluster(t *testing.T) {
	path := mustCreate(t, clusters, cluster(t, "existing", `{}`))
	for _, user := range bootstrapUsers(t) {
		who := withEveryRole(t, user)
		const refused = "a bootstrap user may not "
		who.merge(t, path, `{"spec":{"hubAcceptsClient":true}}`).expectRefusal(t,
			refused+`UPDATE managedclusters.cluster.open-cluster-management.io "existing"`)
		who.merge(t, path+"/status", `{"status":{"version":{"kubernetes":"v0"}}}`).expectRefusal(t, refused+"UPDATE managedclusters/status")
		who.remove(t, path).expectRefusal(t, refused+"DELETE managedclusters")
	}
}

// TestAStolenJoinTokenGivesNothingOfAnotherCluster uses the token of cluster a, with every role, on cluster b.
func TestAStolenJoinTokenGivesNothingOfAnotherCluster(t *testing.T) {
	acceptedCluster(t, "stolen-b")
	who := withEveryRole(t, newRequester(t, registration.JoinUser("stolen-a"), "system:serviceaccounts", "system:serviceaccounts:berth-join"))
	const refused = `the join token of the cluster "stolen-a" may not `
	who.create(t, clusters, cluster(t, "stolen-c", `{}`)).expectRefusal(t, refused+"CREATE managedclusters")
	who.merge(t, clusters+"/stolen-b", `{"metadata":{"annotations":{"berth-project.io/join-requester":"`+who.Name()+`"}}}`).expectRefusal(t,
		refused+"UPDATE managedclusters")
	who.merge(t, leases("stolen-b")+"/managed-cluster-lease", `{"spec":{"renewTime":null}}`).expectRefusal(t, refused+"UPDATE leases")
	who.create(t, clusters+"?dryRun=All", cluster(t, "stolen-a", `{}`)).expect(t, "")
	who.create(t, requests+"?dryRun=All", object{"metadata": object{"generateName": "stolen-a-"}, "spec": object{
		"request": certificateRequest(t), "signerName": "kubernetes.io/kube-apiserver-client", "usages": []string{"client auth"},
	}}).expect(t, "")
}

// TestCertificateRequestsCountForTheClusterOfTheirRequester varies the label of a request. Every requester has every role.
func TestCertificateRequestsCountForTheClusterOfTheirRequester(t *testing.T) {
	const refused = "may not create a CertificateSigningRequest with the label open-cluster-management.io/cluster-name="
	agent := `the agent of the cluster "c1" `
	token := `the join token of the cluster "c1" `
	byCertificate, byToken := withEveryRole(t, newAgent(t, "c1")), withEveryRole(t, newRequester(t, "system:serviceaccount:c1:berth-agent"))
	joining, bootstraps := withEveryRole(t, newRequester(t, registration.JoinUser("c1"))), withEveryRole(t, newBootstrapUser(t))
	for _, test := range []struct {
		who         requester
		label, want string
	}{
		{byCertificate, "c1", ""},
		{byCertificate, "c10", agent + refused + "c10"},
		{byCertificate, "", agent + refused},
		{byToken, "c10", agent + refused + "c10"},
		{joining, "c1", ""},
		{joining, "c10", token + refused + "c10"},
		{bootstraps, "c10", ""},
	} {
		for _, metadata := range []object{
			{"generateName": "labelled-", "labels": object{"open-cluster-management.io/cluster-name": test.label, "any": "x"}},
			{"generateName": "labelled-", "labels": object{"any": "x"}},
		} {
			want := ""
			if labels, _ := metadata["labels"].(object); len(labels) > 1 {
				want = test.want
			}
			test.who.create(t, requests+"?dryRun=All", object{"metadata": metadata, "spec": object{
				"request": certificateRequest(t), "signerName": "kubernetes.io/kube-apiserver-client", "usages": []string{"client auth"},
			}}).expect(t, want)
		}
	}
}

var errNotStamped = errors.New("the webhook of the manager does not stamp new clusters")

// TestABootstrapUserCreatesClustersOnAHubWithAManager: the policy sees the taint and the set that the manager's webhook adds.
func TestABootstrapUserCreatesClustersOnAHubWithAManager(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true})
	plain := shared
	shared = hub
	t.Cleanup(func() { shared = plain })
	awaitPolicy(t)
	user := withRole(t, newBootstrapUser(t), "bootstrap", bootstrapRules()...)
	user.awaitAllowed(t, authorizationv1.ResourceAttributes{Verb: "create", Group: clusterGroup, Resource: "managedclusters"})
	admin := administrator(t)
	kit.Await(t, "the manager's webhooks change a new cluster", func(ctx context.Context) error {
		got, err := admin.send(ctx, http.MethodPost, clusters+"?dryRun=All", jsonBody, cluster(t, "edge", `{}`))
		if spec, _ := got.body["spec"].(object); err == nil && (got.code != http.StatusCreated || spec["taints"] == nil) {
			err = fmt.Errorf("%w: %s", errNotStamped, got.message)
		}
		return err
	})
	stored := user.create(t, clusters, cluster(t, "edge", `{}`)).mustSucceed(t)
	labels, taints := stored["metadata"].(object)["labels"].(object), stored["spec"].(object)["taints"].([]any)
	if labels[setLabel] != "default" || len(taints) != 1 || taints[0].(object)["key"] != unreachableKey {
		t.Errorf("stored with labels %v and taints %v, want the default set and the taint %s", labels, taints, unreachableKey)
	}
	user.create(t, clusters, cluster(t, "edge-2", `{"metadata":{"labels":{"`+setLabel+`":"team"}}}`)).
		expectRefusal(t, "a bootstrap user may not change labels")
}
