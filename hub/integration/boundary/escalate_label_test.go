package boundary

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// labelPath is the path of the clusterset label in a JSON patch.
const labelPath = "/metadata/labels/cluster.open-cluster-management.io~1clusterset"

// newClusterEditor returns the admin of a set with an additional role to write every cluster of the hub. It has the most
// permissions of any user that the set label must limit.
func newClusterEditor(t *testing.T, set string) user {
	t.Helper()
	out := newUser(t, "mover")
	bindRole(t, out.subject(), roleOf("admin", set))
	bindRole(t, out.subject(), role(t, ruleFor("create,get,update,patch", "managedclusters,managedclusters/status,managedclusters/scale")))
	out.awaitAllowed(t, "create", sets+"/"+set+"/join")
	out.awaitAllowed(t, "patch", clusters)
	return out
}

// setMove is an attempt to move a cluster.
type setMove struct {
	cluster string
	try     func(cluster string) apiResponse
	// refusal is about the cluster and a set.
	refusal func(cluster, set string) string
	set     string
}

// expectRefused makes attempts to move clusters. Each must leave its cluster in its set.
func expectRefused(t *testing.T, caller user, moves map[string]setMove) {
	t.Helper()
	for sentence, move := range moves {
		t.Run(sentence, func(t *testing.T) {
			before := membershipText(t, move.cluster)
			move.try(move.cluster).expect(t, http.StatusForbidden, forUser(caller, move.refusal(move.cluster, move.set)))
			if after := membershipText(t, move.cluster); after != before {
				t.Errorf("%s, but now %s", before, after)
			}
		})
	}
}

func TestLeavingASetByTakingItsLabelOff(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	caller := newClusterEditor(t, mine)
	own, foreign := newCluster(t, mine), newCluster(t, theirs)
	off := `{"metadata":{"labels":{"` + setLabel + `":null}}}`
	update := func(cluster string) apiResponse { return caller.rewrite(t, clusters+"/"+cluster, off) }
	patch := func(cluster string) apiResponse { return caller.merge(t, clusters+"/"+cluster, off) }
	empty := func(cluster string) apiResponse {
		return caller.merge(t, clusters+"/"+cluster, `{"metadata":{"labels":{"`+setLabel+`":""}}}`)
	}
	// A cluster that leaves its set joins the default set, which needs permission for the default set.
	expectRefused(t, caller, map[string]setMove{
		"one's own cluster, by update":         {own, update, mayNotPut, "default"},
		"one's own cluster, by patch":          {own, patch, mayNotPut, "default"},
		"one's own cluster, by an empty label": {own, empty, mayNotPut, "default"},
		"another's cluster, by update":         {foreign, update, mayNotTake, theirs},
		"another's cluster, by patch":          {foreign, patch, mayNotTake, theirs},
		"another's cluster, by an empty label": {foreign, empty, mayNotTake, theirs},
	})
}

func TestRelabellingByServerSideApply(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	caller := newClusterEditor(t, mine)
	own, foreign := newCluster(t, mine), newCluster(t, theirs)
	// A field manager removes its label by omitting it. Any client may choose any name of a field manager.
	applied := unique("cluster")
	adminUser(t).apply(t, clusters+"/"+applied, cluster(applied, mine)).expectSuccess(t)
	removeAfterTest(t, clusters+"/"+applied)
	into := func(set string) func(string) apiResponse {
		return func(name string) apiResponse { return caller.apply(t, clusters+"/"+name, cluster(name, set)) }
	}
	expectRefused(t, caller, map[string]setMove{
		"one's own cluster, into another's set": {own, into(theirs), mayNotPut, theirs},
		"another's cluster, into one's own set": {foreign, into(mine), mayNotTake, theirs},
		"a label that is left out":              {applied, into(""), mayNotPut, "default"},
	})
}

func TestRelabellingByJSONPatch(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	caller := newClusterEditor(t, mine)
	own, foreign := newCluster(t, mine), newCluster(t, theirs)
	with := func(patch string) func(string) apiResponse {
		return func(name string) apiResponse { return caller.patch(t, clusters+"/"+name, patch) }
	}
	into := func(set string) func(string) apiResponse {
		return with(`[{"op":"replace","path":"` + labelPath + `","value":"` + set + `"}]`)
	}
	expectRefused(t, caller, map[string]setMove{
		"one's own cluster, into another's set": {own, into(theirs), mayNotPut, theirs},
		"another's cluster, into one's own set": {foreign, into(mine), mayNotTake, theirs},
		"the label removed":                     {own, with(`[{"op":"remove","path":"` + labelPath + `"}]`), mayNotPut, "default"},
		"the label moved to another key": {
			own, with(`[{"op":"move","from":"` + labelPath + `","path":"/metadata/labels/was"}]`),
			mayNotPut, "default",
		},
		"all labels replaced": {foreign, with(`[{"op":"replace","path":"/metadata/labels","value":{}}]`), mayNotTake, theirs},
		"all labels removed":  {foreign, with(`[{"op":"remove","path":"/metadata/labels"}]`), mayNotTake, theirs},
	})
}

func TestRelabellingByMergePatch(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	caller := newClusterEditor(t, mine)
	own, foreign := newCluster(t, mine), newCluster(t, theirs)
	with := func(patch string) func(string) apiResponse {
		return func(name string) apiResponse { return caller.merge(t, clusters+"/"+name, patch) }
	}
	into := func(set string) func(string) apiResponse {
		return with(`{"metadata":{"labels":{"` + setLabel + `":"` + set + `"}}}`)
	}
	expectRefused(t, caller, map[string]setMove{
		"one's own cluster, into another's set": {own, into(theirs), mayNotPut, theirs},
		"another's cluster, into one's own set": {foreign, into(mine), mayNotTake, theirs},
		"all labels removed":                    {foreign, with(`{"metadata":{"labels":null}}`), mayNotTake, theirs},
	})
	// Custom resources do not support strategic merge patches.
	caller.send(t.Context(), t, http.MethodPatch, clusters+"/"+own, string(types.StrategicMergePatchType), object{}).expect(t,
		http.StatusUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+
			"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
}

// TestRelabellingThroughTheStatus succeeds, and the API server drops every change outside the status.
func TestRelabellingThroughTheStatus(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	caller, name := newClusterEditor(t, mine), newCluster(t, theirs)
	path := clusters + "/" + name
	change := func(version string) string {
		return `{"metadata":{"labels":{"` + setLabel + `":"` + mine + `"}},"spec":{"hubAcceptsClient":true,` +
			`"taints":[{"key":"a","effect":"NoSelect"}]},"status":{"version":{"kubernetes":"` + version + `"}}}`
	}
	for version, try := range map[string]func() apiResponse{
		"v1.1.0": func() apiResponse { return caller.rewrite(t, path+"/status", change("v1.1.0")) },
		"v1.2.0": func() apiResponse { return caller.merge(t, path+"/status", change("v1.2.0")) },
		"v1.3.0": func() apiResponse {
			return caller.apply(t, path+"/status", cluster(name, mine).with(t, change("v1.3.0")))
		},
		"v1.4.0": func() apiResponse {
			return caller.patch(t, path+"/status", `[{"op":"replace","path":"`+labelPath+`","value":"`+mine+`"},
				{"op":"add","path":"/spec","value":{"hubAcceptsClient":true,"taints":[{"key":"a","effect":"NoSelect"}]}},
				{"op":"add","path":"/status","value":{"version":{"kubernetes":"v1.4.0"}}}]`)
		},
	} {
		try().expectSuccess(t)
		got := getObject(t, path)
		if got.at("status.version.kubernetes") != version {
			t.Errorf("the status is %v, want the version %s written", got["status"], version)
		}
		if got.label(setLabel) != theirs || got.at("spec.hubAcceptsClient") == true || got.at("spec.taints") != nil {
			t.Errorf("after the write to the status, the cluster is %v", got)
		}
	}
}

func TestRelabellingThroughTheScale(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	caller, name := newClusterEditor(t, mine), newCluster(t, theirs)
	path := clusters + "/" + name + "/scale"
	moved := getObject(t, clusters+"/"+name).with(t, `{"metadata":{"labels":{"`+setLabel+`":"`+mine+`"}}}`)
	for how, got := range map[string]apiResponse{
		"read":   caller.read(t, path),
		"update": caller.update(t, path, moved),
		"patch":  caller.merge(t, path, `{"metadata":{"labels":{"`+setLabel+`":"`+mine+`"}}}`),
		"apply":  caller.apply(t, path, cluster(name, mine)),
	} {
		t.Run(how, func(t *testing.T) {
			got.expect(t, http.StatusNotFound, resourceTitle("managedclusters", name)+" not found")
		})
	}
	if got := membershipText(t, name); got != name+" is in "+theirs {
		t.Error(got)
	}
}

// TestRegisteringUnderAGeneratedName lets the hub generate the name. The name is still missing when the labels are defaulted.
func TestRegisteringUnderAGeneratedName(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	caller := newClusterEditor(t, mine)
	content := object{
		"apiVersion": group + "/v1", "kind": "ManagedCluster",
		"metadata": object{"generateName": "generated-", "labels": object{setLabel: theirs}},
	}
	got := caller.create(t, clusters, content)
	_, after, _ := strings.Cut(got.Message, `managedclusters.`+group+` "`)
	name, _, _ := strings.Cut(after, `"`)
	got.expect(t, http.StatusForbidden, forUser(caller, mayNotPut(name, theirs)))
	for _, found := range getObject(t, clusters+"?labelSelector="+setLabel+"="+theirs).names() {
		removeAfterTest(t, clusters+"/"+found)
		t.Errorf("%s is in the set", found)
	}
}
