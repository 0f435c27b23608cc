package agent

import (
	"fmt"
	"net/http"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

const (
	ofFields = `the agent of the cluster "fields" `
	noLabel  = ofFields +
		`may not change labels, which decide the sets and placements of a cluster: only those that begin with "info.open-cluster-management.io/"`
	noTaint        = ofFields + "may not change spec.taints"
	noAnnotation   = ofFields + `may not change annotations but those that begin with "agent.open-cluster-management.io/"`
	noMetadata     = ofFields + "may not change metadata.finalizers and metadata.ownerReferences of a cluster"
	noLease        = ofFields + "may not change spec.leaseDurationSeconds: it decides when a silent cluster is unreachable"
	noAcceptance   = ofFields + "may not change spec.hubAcceptsClient: an administrator accepts and denies clusters"
	infoPrefix     = "info.open-cluster-management.io/"
	unknownOwner   = `{"apiVersion":"v1","kind":"Namespace","name":"fields","uid":"u"}`
	unreachableKey = clusterGroup + "/unreachable"
)

// TestFieldsOfItsClusterThatAnAgentMayChange updates one field at a time.
func TestFieldsOfItsClusterThatAnAgentMayChange(t *testing.T) {
	acceptedCluster(t, "fields")
	path := clusters + "/fields"
	administrator(t).merge(t, path, `{
		"metadata":{"labels":{"env":"test","`+setLabel+
		`":"default"},"annotations":{"berth-project.io/cluster-uid":"u","agent.open-cluster-management.io/a":"b"}},
		"spec":{"taints":[{"key":"maintenance","effect":"NoSelect"}]}}`).mustSucceed(t)
	before := mustGet(t, path)
	who := newAgent(t, "fields")
	for sentence, test := range map[string]struct{ patch, want string }{
		"nothing": {`{}`, ""},
		"its addresses": {
			`{"spec":{"managedClusterClientConfigs":[{"url":"https://fields.example.com","caBundle":"Yg=="}]}}`, "",
		},
		"an annotation of agents":           {`{"metadata":{"annotations":{"agent.open-cluster-management.io/c":"d"}}}`, ""},
		"an annotation of agents, away":     {`{"metadata":{"annotations":{"agent.open-cluster-management.io/a":null}}}`, ""},
		"a label":                           {`{"metadata":{"labels":{"tier":"gold"}}}`, noLabel},
		"another value of a label":          {`{"metadata":{"labels":{"env":"prod"}}}`, noLabel},
		"a label, away":                     {`{"metadata":{"labels":{"env":null}}}`, noLabel},
		"all labels, away":                  {`{"metadata":{"labels":null}}`, noLabel},
		"the set":                           {`{"metadata":{"labels":{"` + setLabel + `":"other"}}}`, noLabel},
		"the set, away":                     {`{"metadata":{"labels":{"` + setLabel + `":null}}}`, noLabel},
		"a label that only looks permitted": {`{"metadata":{"labels":{"info.open-cluster-management.io.example.com/a":"b"}}}`, noLabel},
		"a label of the cluster without a role": {
			`{"metadata":{"labels":{"` + infoPrefix + `a":"b"}}}`,
			ofFields + "may not change the label " + infoPrefix + `a: this needs the verb "create" on`,
		},
		"a taint": {
			`{"spec":{"taints":[{"key":"maintenance","effect":"NoSelect"},{"key":"mine","effect":"NoSelect"}]}}`, noTaint,
		},
		"a taint, away":                    {`{"spec":{"taints":null}}`, noTaint},
		"the effect of a taint":            {`{"spec":{"taints":[{"key":"maintenance","effect":"PreferNoSelect"}]}}`, noTaint},
		"the taint that it is unreachable": {`{"spec":{"taints":[{"key":"` + unreachableKey + `","effect":"NoSelect"}]}}`, noTaint},
		"the period of its lease":          {`{"spec":{"leaseDurationSeconds":100000}}`, noLease},
		"a shorter period of its lease":    {`{"spec":{"leaseDurationSeconds":1}}`, noLease},
		"that it is not accepted":          {`{"spec":{"hubAcceptsClient":false}}`, noAcceptance},
		"that it is simulated":             {`{"metadata":{"annotations":{"berth-project.io/simulated":"true"}}}`, noAnnotation},
		"its recorded UID":                 {`{"metadata":{"annotations":{"berth-project.io/cluster-uid":"other"}}}`, noAnnotation},
		"its recorded UID, away":           {`{"metadata":{"annotations":{"berth-project.io/cluster-uid":null}}}`, noAnnotation},
		"the requester of its join":        {`{"metadata":{"annotations":{"berth-project.io/join-requester":"any"}}}`, noAnnotation},
		"an annotation that only looks permitted": {
			`{"metadata":{"annotations":{"agent.open-cluster-management.io.example.com/a":"b"}}}`,
			noAnnotation,
		},
		"a finalizer": {`{"metadata":{"finalizers":["example.com/mine"]}}`, noMetadata},
	} {
		t.Run(sentence, func(t *testing.T) {
			who.do(t, http.MethodPut, path+"?dryRun=All", jsonBody, merged(t, before, test.patch)).expect(t, test.want)
		})
	}
	who = withEveryRole(t, newRequester(t, who.Name()+"-with-every-role", who.Groups()...))
	who.remove(t, path).expectRefusal(t, ofFields+`may not DELETE managedclusters.cluster.open-cluster-management.io "fields"`)
	who.merge(t, path, `{"metadata":{"labels":{"env":"prod"}}}`).expectRefusal(t, noLabel)
	// Without the permission to delete the cluster the API server itself refuses an owner, with which it would be deleted.
	who.merge(t, path, `{"metadata":{"ownerReferences":[`+unknownOwner+`]}}`).expectRefusal(t, noMetadata)
}

// TestLabelsThatAnAgentMayChangeWithARole needs the permission for the old value and for the new.
func TestLabelsThatAnAgentMayChangeWithARole(t *testing.T) {
	acceptedCluster(t, "labels")
	path := clusters + "/labels"
	administrator(t).merge(t, path, `{"metadata":{"labels":{"`+infoPrefix+`os":"old"}}}`).mustSucceed(t)
	before := mustGet(t, path)
	const who, key = `the agent of the cluster "labels" `, infoPrefix + "os"
	missing := who + "may not change the label " + key + ": this needs"
	oneAtATime := who + "may change one label at a time"
	for i, test := range []struct {
		sentence string
		granted  []string
		patch    string
		want     string
	}{
		{"both values", []string{key + ":old", key + ":new"}, `"new"`, ""},
		{"only the new value", []string{key + ":new"}, `"new"`, missing},
		{"only the old value", []string{key + ":old"}, `"new"`, missing},
		{"the old value, which goes", []string{key + ":old"}, `null`, ""},
		{"another value, and the label goes", []string{key + ":new"}, `null`, missing},
		{"every value of the label", []string{key + ":*"}, `"new"`, ""},
		{"every value of another label", []string{infoPrefix + "arch:*"}, `"new"`, missing},
		{"every label", []string{"*"}, `"new"`, ""},
		{"every label, and two change", []string{"*"}, `"new","` + infoPrefix + `arch":"arm64"`, ""},
		{
			"every value of both labels, and two change",
			[]string{key + ":*", infoPrefix + "arch:*"},
			`"new","` + infoPrefix + `arch":"arm64"`,
			oneAtATime,
		},
	} {
		t.Run(test.sentence, func(t *testing.T) {
			agent := newAgent(t, "labels")
			agent = newRequester(t, fmt.Sprintf("%s-%d", agent.Name(), i), agent.Groups()...)
			agent = withRole(t, agent, fmt.Sprintf("labels-%d", i), named(rule(clusterGroup, "managedclusters/label", "create"), test.granted...))
			agent.awaitAllowed(t, authorizationv1.ResourceAttributes{
				Verb: "create", Group: clusterGroup, Resource: "managedclusters", Subresource: "label", Name: test.granted[len(test.granted)-1],
			})
			changed := merged(t, before, `{"metadata":{"labels":{"`+key+`":`+test.patch+`}}}`)
			agent.do(t, http.MethodPut, path+"?dryRun=All", jsonBody, changed).expect(t, test.want)
		})
	}
}

// TestAnAgentOfAnotherClusterChangesNothing has every role.
func TestAnAgentOfAnotherClusterChangesNothing(t *testing.T) {
	acceptedCluster(t, "prod-2")
	acceptedCluster(t, "prod")
	who := withEveryRole(t, newAgent(t, "prod"))
	const refused = `the agent of the cluster "prod" may not `
	who.merge(t, clusters+"/prod-2", `{"metadata":{"annotations":{"agent.open-cluster-management.io/a":"b"}}}`).
		expectRefusal(t, refused+`UPDATE managedclusters.cluster.open-cluster-management.io "prod-2"`)
	who.merge(t, clusters+"/prod-2/status", `{"status":{"version":{"kubernetes":"v0"}}}`).
		expectRefusal(t, refused+`UPDATE managedclusters/status.cluster.open-cluster-management.io "prod-2"`)
	who.merge(t, leases("prod-2")+"/managed-cluster-lease", `{"spec":{"renewTime":"2030-01-01T00:00:00.000000Z"}}`).
		expectRefusal(t, refused+`UPDATE leases.coordination.k8s.io "managed-cluster-lease" in the namespace "prod-2"`)
	who.create(t, clusters, cluster(t, "prod-3", `{}`)).
		expectRefusal(t, refused+`CREATE managedclusters.cluster.open-cluster-management.io "prod-3"`)
}

// TestOtherUsersAreNotAffected has users whose names and groups resemble those of agents.
func TestOtherUsersAreNotAffected(t *testing.T) {
	path := mustCreate(t, clusters, cluster(t, "ordinary", `{}`))
	for _, who := range []requester{
		newRequester(t, "admin", "system:open-cluster-management"),
		newRequester(t, "every agent", "system:open-cluster-management:managed-clusters"),
		newRequester(t, "system:open-cluster-management:cluster:ordinary:addon:a:agent:x",
			"system:open-cluster-management:cluster:ordinary:addon:a", "system:open-cluster-management:addon:a"),
		newRequester(t, "system:serviceaccount:open-cluster-management-agent:berth-agent", "system:serviceaccounts"),
		newRequester(t, "system:serviceaccount:open-cluster-management:registration-controller", "system:serviceaccounts"),
		newRequester(t, "system:serviceaccount:ordinary:berth-agents", "system:serviceaccounts"),
		newRequester(t, "system:serviceaccount:berth-system:berth", "system:serviceaccounts"),
		newRequester(t, "bootstrapper", "system:bootstrappers", "system:bootstrappers:managedclusters"),
	} {
		withEveryRole(t, who).merge(t, path, `{"metadata":{"labels":{"by":"a-user"}}}`).mustSucceed(t)
	}
}
