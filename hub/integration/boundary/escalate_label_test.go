package boundary

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// labelPath is the place of the clusterset label in a JSON patch.
const labelPath = "/metadata/labels/cluster.open-cluster-management.io~1clusterset"

// mover is the admin of a set, with a role on top that lets them write every cluster of the hub: the most that anybody
// has whom a set is to hold.
func mover(t *testing.T, set string) person {
	t.Helper()
	out := someone(t, "mover")
	bind(t, out.subject(), roleOf("admin", set))
	bind(t, out.subject(), role(t, to("create,get,update,patch", "managedclusters,managedclusters/status,managedclusters/scale")))
	out.may(t, "create", sets+"/"+set+"/join")
	out.may(t, "patch", clusters)
	return out
}

// move is an attempt to move a cluster.
type move struct {
	cluster string
	try     func(cluster string) answer
	// refusal is about the cluster and a set.
	refusal func(cluster, set string) string
	set     string
}

// refused makes attempts, each of which leaves the cluster in the set that it was in.
func refused(t *testing.T, who person, moves map[string]move) {
	t.Helper()
	for sentence, move := range moves {
		t.Run(sentence, func(t *testing.T) {
			before := membership(t, move.cluster)
			move.try(move.cluster).is(t, http.StatusForbidden, by(who, move.refusal(move.cluster, move.set)))
			if after := membership(t, move.cluster); after != before {
				t.Errorf("%s, but now %s", before, after)
			}
		})
	}
}

func TestLeavingASetByTakingItsLabelOff(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	who := mover(t, mine)
	own, foreign := newCluster(t, mine), newCluster(t, theirs)
	off := `{"metadata":{"labels":{"` + setLabel + `":null}}}`
	update := func(cluster string) answer { return who.rewrite(t, clusters+"/"+cluster, off) }
	patch := func(cluster string) answer { return who.merge(t, clusters+"/"+cluster, off) }
	empty := func(cluster string) answer {
		return who.merge(t, clusters+"/"+cluster, `{"metadata":{"labels":{"`+setLabel+`":""}}}`)
	}
	// Whoever leaves a set moves to the default one, which takes the right to that.
	refused(t, who, map[string]move{
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
	who := mover(t, mine)
	own, foreign := newCluster(t, mine), newCluster(t, theirs)
	// Who applied a label takes it off by leaving it out. The name of the one who applies is anybody's to choose.
	applied := unique("cluster")
	root(t).apply(t, clusters+"/"+applied, cluster(applied, mine)).ok(t)
	removed(t, clusters+"/"+applied)
	into := func(set string) func(string) answer {
		return func(name string) answer { return who.apply(t, clusters+"/"+name, cluster(name, set)) }
	}
	refused(t, who, map[string]move{
		"one's own cluster, into another's set": {own, into(theirs), mayNotPut, theirs},
		"another's cluster, into one's own set": {foreign, into(mine), mayNotTake, theirs},
		"a label that is left out":              {applied, into(""), mayNotPut, "default"},
	})
}

func TestRelabellingByJSONPatch(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	who := mover(t, mine)
	own, foreign := newCluster(t, mine), newCluster(t, theirs)
	with := func(patch string) func(string) answer {
		return func(name string) answer { return who.patch(t, clusters+"/"+name, patch) }
	}
	into := func(set string) func(string) answer {
		return with(`[{"op":"replace","path":"` + labelPath + `","value":"` + set + `"}]`)
	}
	refused(t, who, map[string]move{
		"one's own cluster, into another's set": {own, into(theirs), mayNotPut, theirs},
		"another's cluster, into one's own set": {foreign, into(mine), mayNotTake, theirs},
		"the label removed":                     {own, with(`[{"op":"remove","path":"` + labelPath + `"}]`), mayNotPut, "default"},
		"the label moved to another key":        {own, with(`[{"op":"move","from":"` + labelPath + `","path":"/metadata/labels/was"}]`), mayNotPut, "default"},
		"all labels replaced":                   {foreign, with(`[{"op":"replace","path":"/metadata/labels","value":{}}]`), mayNotTake, theirs},
		"all labels removed":                    {foreign, with(`[{"op":"remove","path":"/metadata/labels"}]`), mayNotTake, theirs},
	})
}

func TestRelabellingByMergePatch(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	who := mover(t, mine)
	own, foreign := newCluster(t, mine), newCluster(t, theirs)
	with := func(patch string) func(string) answer {
		return func(name string) answer { return who.merge(t, clusters+"/"+name, patch) }
	}
	into := func(set string) func(string) answer {
		return with(`{"metadata":{"labels":{"` + setLabel + `":"` + set + `"}}}`)
	}
	refused(t, who, map[string]move{
		"one's own cluster, into another's set": {own, into(theirs), mayNotPut, theirs},
		"another's cluster, into one's own set": {foreign, into(mine), mayNotTake, theirs},
		"all labels removed":                    {foreign, with(`{"metadata":{"labels":null}}`), mayNotTake, theirs},
	})
	// Kubernetes' own kind of patch is none for these objects.
	who.send(t.Context(), t, http.MethodPatch, clusters+"/"+own, string(types.StrategicMergePatchType), object{}).is(t, http.StatusUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+
			"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
}

// TestRelabellingThroughTheStatus is no error: what is not status is dropped.
func TestRelabellingThroughTheStatus(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	who, name := mover(t, mine), newCluster(t, theirs)
	path := clusters + "/" + name
	change := func(version string) string {
		return `{"metadata":{"labels":{"` + setLabel + `":"` + mine + `"}},"spec":{"hubAcceptsClient":true,` +
			`"taints":[{"key":"a","effect":"NoSelect"}]},"status":{"version":{"kubernetes":"` + version + `"}}}`
	}
	for version, try := range map[string]func() answer{
		"v1.1.0": func() answer { return who.rewrite(t, path+"/status", change("v1.1.0")) },
		"v1.2.0": func() answer { return who.merge(t, path+"/status", change("v1.2.0")) },
		"v1.3.0": func() answer { return who.apply(t, path+"/status", cluster(name, mine).with(t, change("v1.3.0"))) },
		"v1.4.0": func() answer {
			return who.patch(t, path+"/status", `[{"op":"replace","path":"`+labelPath+`","value":"`+mine+`"},
				{"op":"add","path":"/spec","value":{"hubAcceptsClient":true,"taints":[{"key":"a","effect":"NoSelect"}]}},
				{"op":"add","path":"/status","value":{"version":{"kubernetes":"v1.4.0"}}}]`)
		},
	} {
		try().ok(t)
		got := stored(t, path)
		if got.at("status.version.kubernetes") != version {
			t.Errorf("the status is %v, want the version %s written", got["status"], version)
		}
		if got.label(setLabel) != theirs || got.at("spec.hubAcceptsClient") == true || got.at("spec.taints") != nil {
			t.Errorf("through the status the cluster became %v", got)
		}
	}
}

func TestRelabellingThroughTheScale(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	who, name := mover(t, mine), newCluster(t, theirs)
	path := clusters + "/" + name + "/scale"
	moved := stored(t, clusters+"/"+name).with(t, `{"metadata":{"labels":{"`+setLabel+`":"`+mine+`"}}}`)
	for how, got := range map[string]answer{
		"read":   who.read(t, path),
		"update": who.update(t, path, moved),
		"patch":  who.merge(t, path, `{"metadata":{"labels":{"`+setLabel+`":"`+mine+`"}}}`),
		"apply":  who.apply(t, path, cluster(name, mine)),
	} {
		t.Run(how, func(t *testing.T) {
			got.is(t, http.StatusNotFound, titled("managedclusters", name)+" not found")
		})
	}
	if got := membership(t, name); got != name+" is in "+theirs {
		t.Error(got)
	}
}

// TestRegisteringUnderAGeneratedName lets the hub choose the name, which is not known yet when the labels are defaulted.
func TestRegisteringUnderAGeneratedName(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	who := mover(t, mine)
	content := object{
		"apiVersion": group + "/v1", "kind": "ManagedCluster",
		"metadata": object{"generateName": "generated-", "labels": object{setLabel: theirs}},
	}
	got := who.create(t, clusters, content)
	_, after, _ := strings.Cut(got.Message, `managedclusters.`+group+` "`)
	name, _, _ := strings.Cut(after, `"`)
	got.is(t, http.StatusForbidden, by(who, mayNotPut(name, theirs)))
	for _, found := range stored(t, clusters+"?labelSelector="+setLabel+"="+theirs).names() {
		removed(t, clusters+"/"+found)
		t.Errorf("%s is in the set", found)
	}
}
