package boundary

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

const unreachable = "cluster.open-cluster-management.io/unreachable"

// The actions of the table, with the texts of the page.
const (
	createCluster   = "create a cluster in `team`"
	relabelCluster  = "move `edge` to `other`"
	unlabelCluster  = "take the clusterset label off `edge`"
	taintCluster    = "taint `edge`"
	labelCluster    = "label `edge`"
	deleteCluster   = "delete `edge`"
	reportHealth    = "give `edge` the taint that it is unreachable"
	acceptCluster   = "accept `edge`"
	createSet       = "create a set"
	bindSet         = "bind `team` in the namespace"
	viewSet         = "get `team`"
	createPlacement = "create a placement in the namespace"
	listViews       = "list the views"
	deleteSet       = "delete `team`"
)

// action is an attempt to write or read an object.
type action struct {
	// ready prepares the hub, beyond the cluster edge, which is new each time.
	ready func(t *testing.T)
	try   func(t *testing.T, caller user) apiResponse
	// found returns the state after the attempt.
	found func(t *testing.T, got apiResponse) string
	// untouched is the state if the attempt had no effect.
	untouched string
}

// actions use the objects of the table by their names.
var actions = map[string]action{
	createCluster: {
		ready: func(t *testing.T) { adminUser(t).remove(t, clusters+"/fresh") },
		try: func(t *testing.T, caller user) apiResponse {
			return caller.create(t, clusters, cluster("fresh", "team"))
		},
		found:     func(t *testing.T, _ apiResponse) string { return membershipText(t, "fresh") },
		untouched: "fresh is not there",
	},
	relabelCluster: {
		try:       updateEdge(`{"metadata":{"labels":{"` + setLabel + `":"other"}}}`),
		found:     func(t *testing.T, _ apiResponse) string { return membershipText(t, "edge") },
		untouched: "edge is in team",
	},
	unlabelCluster: {
		try:       updateEdge(`{"metadata":{"labels":{"` + setLabel + `":null}}}`),
		found:     func(t *testing.T, _ apiResponse) string { return membershipText(t, "edge") },
		untouched: "edge is in team",
	},
	taintCluster: {
		try:       updateEdge(`{"spec":{"taints":[{"key":"maintenance","effect":"NoSelect"}]}}`),
		found:     taintOfEdge,
		untouched: "edge has no taint",
	},
	labelCluster: {
		try: updateEdge(`{"metadata":{"labels":{"tier":"gold"}}}`),
		found: func(t *testing.T, _ apiResponse) string {
			return "edge is of tier " + getObject(t, clusters+"/edge").label("tier")
		},
		untouched: "edge is of tier ",
	},
	deleteCluster: {
		try:       func(t *testing.T, caller user) apiResponse { return caller.remove(t, clusters+"/edge") },
		found:     func(t *testing.T, _ apiResponse) string { return presenceText(t, clusters+"/edge") },
		untouched: "edge is there",
	},
	reportHealth: {
		try:       updateEdge(`{"spec":{"taints":[{"key":"` + unreachable + `","effect":"NoSelect"}]}}`),
		found:     taintOfEdge,
		untouched: "edge has no taint",
	},
	acceptCluster: {
		try:       updateEdge(`{"spec":{"hubAcceptsClient":true}}`),
		found:     acceptedText,
		untouched: "edge is not accepted",
	},
	createSet: {
		ready:     func(t *testing.T) { adminUser(t).remove(t, sets+"/mine") },
		try:       func(t *testing.T, caller user) apiResponse { return caller.create(t, sets, set("mine")) },
		found:     func(t *testing.T, _ apiResponse) string { return presenceText(t, sets+"/mine") },
		untouched: "mine is gone",
	},
	bindSet: {
		ready: func(t *testing.T) { adminUser(t).remove(t, bindings("shop")+"/team") },
		try: func(t *testing.T, caller user) apiResponse {
			return caller.create(t, bindings("shop"), binding("team"))
		},
		found: func(t *testing.T, _ apiResponse) string {
			list := getObject(t, bindings("shop"))
			return strings.Join(append(list.names(), "is bound to shop"), " ")
		},
		untouched: "is bound to shop",
	},
	viewSet: {
		try: func(t *testing.T, caller user) apiResponse { return caller.read(t, sets+"/team") },
		found: func(_ *testing.T, got apiResponse) string {
			if name, shown := got.body.at("metadata.name").(string); shown {
				return name + " is shown"
			}
			return ""
		},
	},
	createPlacement: {
		ready: func(t *testing.T) {
			adminUser(t).remove(t, placements("shop")+"/web")
			adminUser(t).create(t, bindings("shop"), binding("team"))
		},
		try: func(t *testing.T, caller user) apiResponse {
			return caller.create(t, placements("shop"), placement("web", object{}))
		},
		found:     selectionText,
		untouched: "nothing is placed",
	},
	listViews: {
		ready: func(t *testing.T) {
			adminUser(t).remove(t, clusters+"/edge")
			awaitVisible(t, adminUser(t), clusterViews, "vault") // so that the views do not show the cluster edge of the row before
			adminUser(t).create(t, clusters, cluster("edge", "team")).expectSuccess(t)
			awaitVisible(t, adminUser(t), setViews, "default", "global", "other", "team")
			awaitVisible(t, adminUser(t), clusterViews, "edge", "vault")
		},
		try: func(t *testing.T, caller user) apiResponse {
			out, more := caller.read(t, setViews), caller.read(t, clusterViews)
			if out.Code != more.Code {
				return more
			}
			out.body["clusters"] = more.body.names()
			return out
		},
		found: func(_ *testing.T, got apiResponse) string {
			return fmt.Sprintf("sets %v, clusters %v", got.body.names(), got.body["clusters"])
		},
	},
	deleteSet: {
		try: func(t *testing.T, caller user) apiResponse { return caller.remove(t, sets+"/team") },
		found: func(t *testing.T, got apiResponse) string {
			if got.Code != http.StatusOK {
				return presenceText(t, sets+"/team")
			}
			for _, level := range levels {
				awaitValue(t, clusterRoles+"/"+roleOf(level, "team"), "reason", "NotFound")
			}
			return presenceText(t, sets+"/team") + ", and so are its roles"
		},
		untouched: "team is there",
	},
}

// updateEdge changes the cluster edge by an update. Agents have no permission to patch.
func updateEdge(patch string) func(*testing.T, user) apiResponse {
	return func(t *testing.T, caller user) apiResponse {
		return caller.rewrite(t, clusters+"/edge", patch)
	}
}

func membershipText(t *testing.T, name string) string {
	t.Helper()
	got := adminUser(t).read(t, clusters+"/"+name)
	if got.Code == http.StatusNotFound {
		return name + " is not there"
	}
	return name + " is in " + got.expectSuccess(t).label(setLabel)
}

func acceptedText(t *testing.T, _ apiResponse) string {
	t.Helper()
	if getObject(t, clusters+"/edge").at("spec.hubAcceptsClient") == true {
		return "edge is accepted"
	}
	return "edge is not accepted"
}

func presenceText(t *testing.T, path string) string {
	t.Helper()
	name := path[strings.LastIndex(path, "/")+1:]
	if adminUser(t).read(t, path).Code == http.StatusNotFound {
		return name + " is gone"
	}
	return name + " is there"
}

func taintOfEdge(t *testing.T, _ apiResponse) string {
	t.Helper()
	taints, _ := getObject(t, clusters+"/edge").at("spec.taints").([]any)
	if len(taints) == 0 {
		return "edge has no taint"
	}
	taint := object(taints[0].(map[string]any))
	since := "never"
	if taint["timeAdded"] != nil {
		since = "now"
	}
	return fmt.Sprintf("edge has %v:%v since %s", taint["key"], taint["effect"], since)
}

// selectionText returns the decision of the placement web, once there is a decision.
func selectionText(t *testing.T, got apiResponse) string {
	t.Helper()
	if got.Code != http.StatusCreated {
		return strings.Join(append(getObject(t, placements("shop")).names(), "nothing is placed"), " ")
	}
	awaitValue(t, placements("shop")+"/web", "status.numberOfSelectedClusters", float64(1))
	return fmt.Sprint("web selects ", selectedClusters(t, "shop", "web"))
}

// awaitVisible waits until a user sees exactly these objects in a view.
func awaitVisible(t *testing.T, caller user, view string, want ...string) {
	t.Helper()
	kit.Await(t, "a user sees exactly these objects in a view", func(ctx context.Context) error {
		got, err := caller.do(ctx, http.MethodGet, view, "", nil)
		if err == nil && !slices.Equal(got.body.names(), want) {
			err = fmt.Errorf("%s sees %v, want %v", caller.Name(), got.body.names(), want)
		}
		return err
	})
}
