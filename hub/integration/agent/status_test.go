package agent

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// condition returns a condition as JSON.
func condition(kind, status string) string {
	return fmt.Sprintf(`{"type":%q,"status":%q,"reason":"Test","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}`, kind, status)
}

// TestConditionsThatAnAgentMayReport sends the merge patches of agents, with the UID and the resource version.
func TestConditionsThatAnAgentMayReport(t *testing.T) {
	acceptedCluster(t, "status")
	path := clusters + "/status/status"
	hub := []string{condition("HubAcceptedManagedCluster", "True"), condition("ManagedClusterConditionClockSynced", "True")}
	report := func(conditions ...string) string {
		return `{"status":{"conditions":[` + strings.Join(conditions, ",") + `]}}`
	}
	administrator(t).merge(t, path, report(hub...)).mustSucceed(t)
	who := newAgent(t, "status")
	const refused = `the agent of the cluster "status" may not change conditions that the hub writes: HubAcceptedManagedCluster, HubDeniedManagedCluster, `
	for sentence, test := range map[string]struct {
		conditions []string
		want       string
	}{
		"joined":                          {append(hub[:2:2], condition("ManagedClusterJoined", "True")), ""},
		"joined, before those of the hub": {[]string{condition("ManagedClusterJoined", "True"), hub[0], hub[1]}, ""},
		"available":                       {append(hub[:2:2], condition("ManagedClusterConditionAvailable", "False")), ""},
		"rotated":                         {append(hub[:2:2], condition("ClusterCertificateRotated", "True")), ""},
		"a condition of its own":          {append(hub[:2:2], condition("ClaimsTruncated", "True")), ""},
		"that evictions are held":         {append(hub[:2:2], condition("WorkEvictionHeld", "True")), ""},
		"that none is held, and accepted": {[]string{
			condition("HubAcceptedManagedCluster", "False"), hub[1],
			condition("WorkEvictionHeld", "False"),
		}, refused},
		"not accepted":               {[]string{condition("HubAcceptedManagedCluster", "False"), hub[1]}, refused},
		"acceptance, away":           {hub[1:], refused},
		"all conditions, away":       {nil, refused},
		"its clock":                  {[]string{hub[0], condition("ManagedClusterConditionClockSynced", "False")}, refused},
		"that it is denied":          {append(hub[:2:2], condition("HubDeniedManagedCluster", "True")), refused},
		"that it is being deleted":   {append(hub[:2:2], condition("Deleting", "True")), refused},
		"that the hub probes it":     {append(hub[:2:2], condition("Probed", "True")), refused},
		"that its name is contested": {append(hub[:2:2], condition("ClusterIdentityConflict", "True")), refused},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := mustGet(t, clusters+"/status")["metadata"].(object)
			patch := merged(t, object{}, report(test.conditions...))
			apply(patch, object{"metadata": object{"uid": before["uid"], "resourceVersion": before["resourceVersion"]}})
			who.do(t, http.MethodPatch, path+"?dryRun=All", mergePatch, patch).expect(t, test.want)
		})
	}
	t.Run("a patch of an older version is a conflict", func(t *testing.T) {
		stale := `{"metadata":{"resourceVersion":"1"},"status":{"version":{"kubernetes":"v1"}}}`
		if got := who.merge(t, path, stale); got.code != http.StatusConflict {
			t.Errorf("%d: %s, want a conflict", got.code, got.message)
		}
	})
}

// TestClaimsThatAnAgentMayReport are bounded in number.
func TestClaimsThatAnAgentMayReport(t *testing.T) {
	acceptedCluster(t, "claims")
	path := clusters + "/claims/status"
	who := newAgent(t, "claims")
	claims := func(count int) object {
		var out []object
		for i := range count {
			out = append(out, object{"name": fmt.Sprintf("claim-%d.example.com", i), "value": "v"})
		}
		return object{"status": object{"clusterClaims": out}}
	}
	const refused = `the agent of the cluster "claims" may not report more than 256 entries in status.clusterClaims`
	send := func(by requester, count int) response {
		return by.do(t, http.MethodPatch, path, mergePatch, claims(count))
	}
	send(who, 256).expect(t, "")
	send(who, 257).expectRefusal(t, refused)
	send(administrator(t), 300).expect(t, "")
	send(who, 299).expect(t, "") // fewer than stored
	send(who, 300).expectRefusal(t, refused)
}
