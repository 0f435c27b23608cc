package boundary

import (
	"net/http"
	"strings"
	"testing"
)

// newAgent returns the user of the agent in a cluster. An agent may update the object of its cluster, and its status.
func newAgent(t *testing.T, cluster string) user {
	t.Helper()
	out := newNamedUser(t, "system:open-cluster-management:"+cluster+":agent", "system:open-cluster-management:"+cluster)
	bindRole(t, out.subject(), role(t, ruleFor("get,list,watch,update", "managedclusters", cluster),
		ruleFor("update,patch", "managedclusters/status", cluster)))
	out.awaitAllowed(t, "update", clusters+"/"+cluster)
	return out
}

func TestAnAgentWritingAnotherCluster(t *testing.T) {
	set := newSet(t)
	own, other := newCluster(t, set), newCluster(t, set)
	caller := newAgent(t, own)
	path := clusters + "/" + other
	before := getObject(t, path)
	for _, try := range []struct {
		got            apiResponse
		verb, resource string
	}{
		{caller.read(t, path), "get", "managedclusters"},
		{caller.rewrite(t, path, `{"metadata":{"labels":{"colour":"red"}}}`), "update", "managedclusters"},
		{caller.merge(t, path+"/status", `{"status":{"version":{"kubernetes":"v0"}}}`), "patch", "managedclusters/status"},
		{caller.remove(t, path), "delete", "managedclusters"},
	} {
		try.got.expect(t, http.StatusForbidden, forUser(caller, noRole(try.verb, try.resource, other)))
	}
	// It cannot replace its own object with the object of another cluster either.
	caller.update(t, clusters+"/"+own, before).expect(t, http.StatusBadRequest,
		"the name of the object ("+other+") does not match the name on the URL ("+own+")")
	if after := getObject(t, path); after.at("metadata.resourceVersion") != before.at("metadata.resourceVersion") {
		t.Errorf("the other cluster is now %v", after)
	}
}

const unavailable = "cluster.open-cluster-management.io/unavailable"

// TestAnAgentChangingItsHealthTaint: such a change could make a failing cluster selectable again, or keep it selected for longer.
func TestAnAgentChangingItsHealthTaint(t *testing.T) {
	own := newCluster(t, newSet(t))
	caller := newAgent(t, own)
	path := clusters + "/" + own
	down := `{"spec":{"taints":[{"key":"` + unreachable + `","effect":"NoSelect","timeAdded":"2020-01-01T00:00:00Z"}]}}`
	adminUser(t).merge(t, path, down).expectSuccess(t)
	for sentence, try := range map[string]struct{ taint, refusal string }{
		"off":                    {``, limitedAgent(own, noTaintOfAgent)},
		"its effect":             {`{"key":"` + unreachable + `","effect":"PreferNoSelect"}`, limitedAgent(own, noTaintOfAgent)},
		"its value":              {`{"key":"` + unreachable + `","effect":"NoSelect","value":"x"}`, limitedAgent(own, noTaintOfAgent)},
		"the other health taint": {`{"key":"` + unavailable + `","effect":"NoSelect"}`, limitedAgent(own, noTaintOfAgent)},
		"since another time":     {`{"key":"` + unreachable + `","effect":"NoSelect","timeAdded":"2030-01-01T00:00:00Z"}`, mayNotSetTime(own)},
	} {
		t.Run(sentence, func(t *testing.T) {
			caller.rewrite(t, path, `{"spec":{"taints":[`+try.taint+`]}}`).expect(t, http.StatusForbidden, forUser(caller, try.refusal))
		})
	}
	got := object(getObject(t, path).at("spec.taints").([]any)[0].(map[string]any))
	if got["key"] != unreachable || got["effect"] != "NoSelect" || got["timeAdded"] != "2020-01-01T00:00:00Z" {
		t.Errorf("the taint is now %v", got)
	}
}

// mayNotSetTime is the refusal of the webhook that sets the times of taints.
func mayNotSetTime(cluster string) string {
	refusal := noRight("managedclusters", cluster, "set spec.taints[0].timeAdded, of the taint "+unreachable+" with effect NoSelect",
		right("update", "managedclusters/taint", group, cluster))
	return strings.Replace(refusal, `webhook "`, `webhook "default.`, 1)
}
