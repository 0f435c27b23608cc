package admission

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// lacksLabel returns the denial for a missing permission for a label.
func lacksLabel(caller *user, name, doing, key, value string) string {
	const verb = `the verb "create" on "%s" in the API group "cluster.open-cluster-management.io" with the resourceName "%s"`
	var rights []string
	if key == setLabel {
		rights = append(rights, fmt.Sprintf(verb, "managedclustersets/join", value))
	}
	for _, resourceName := range []string{key + ":" + value, key + ":*", "*"} {
		rights = append(rights, fmt.Sprintf(verb, "managedclusters/label", resourceName))
	}
	return denied("managedclusters",
		`managedclusters.cluster.open-cluster-management.io "%s" is forbidden: user "%s" may not %s: this needs %s`,
		name, caller.name, doing, strings.Join(rights, ", or "))
}

func lacksPut(caller *user, name, key, value string) string {
	return lacksLabel(caller, name, "put the label "+key+"="+value+" on", key, value)
}

func lacksTake(caller *user, name, key, value string) string {
	return lacksLabel(caller, name, "take the label "+key+"="+value+" away", key, value)
}

func TestCreateInSet(t *testing.T) {
	requireWebhooks(t)
	for name, tc := range map[string]struct {
		right  []rule
		key    string
		value  string
		refuse bool
	}{
		"without a right":                    {nil, setLabel, "dev", true},
		"with the right to the value":        {[]rule{grantNamed("create", "managedclusters/label", setLabel+":dev")}, setLabel, "dev", false},
		"with the right to the key":          {[]rule{grantNamed("create", "managedclusters/label", setLabel+":*")}, setLabel, "dev", false},
		"with the right to *":                {[]rule{grantNamed("create", "managedclusters/label", "*")}, setLabel, "dev", false},
		"with the right to every label":      {[]rule{grantNamed("create", "managedclusters/label")}, setLabel, "dev", false},
		"with the right to join":             {[]rule{grantNamed("create", "managedclustersets/join", "dev")}, setLabel, "dev", false},
		"with the right to join another set": {[]rule{grantNamed("create", "managedclustersets/join", "prod")}, setLabel, "dev", true},
		"with the right to another value":    {[]rule{grantNamed("create", "managedclusters/label", setLabel+":prod")}, setLabel, "dev", true},
		"with the right to a pattern":        {[]rule{grantNamed("create", "managedclusters/label", setLabel+":d*")}, setLabel, "dev", true},
		"with another verb":                  {[]rule{grantNamed("update", "managedclusters/label", "*")}, setLabel, "dev", true},
		"another prefix, without":            {[]rule{grantNamed("create", "managedclustersets/join")}, infoLabel, "x", true},
		"another prefix, with":               {[]rule{grantNamed("create", "managedclusters/label", infoLabel+":x")}, infoLabel, "x", false},
		"a label that any user may set":      {nil, "env", "dev", false},
	} {
		t.Run(name, func(t *testing.T) {
			jane := newUser(t, "jane", append([]rule{allVerbsOn("managedclusters")}, tc.right...))
			object := cluster("c-"+unique(), labels(tc.key, tc.value))
			err := jane.create(t.Context(), object)
			if !tc.refuse {
				check(t, err, 0, "")
				return
			}
			check(t, err, 403, lacksPut(jane, asObject(object).GetName(), tc.key, tc.value))
		})
	}
}

// writes returns the ways in which a client can change the labels of a cluster.
func writes(u *user) map[string]func(context.Context, *testing.T, map[string]any, map[string]string) error {
	patch := func(kind types.PatchType, write func(map[string]string) string) func(context.Context, *testing.T, map[string]any,
		map[string]string) error {
		return func(ctx context.Context, _ *testing.T, object map[string]any, to map[string]string) error {
			_, err := u.resourceFor(object).Patch(ctx, asObject(object).GetName(), kind, []byte(write(to)), metav1.PatchOptions{})
			return err
		}
	}
	merge := func(to map[string]string) string {
		value := "null"
		if set, is := to[setLabel]; is {
			value = strconv.Quote(set)
		}
		return `{"metadata":{"labels":{"` + setLabel + `":` + value + `}}}`
	}
	return map[string]func(context.Context, *testing.T, map[string]any, map[string]string) error{
		"an update": func(_ context.Context, t *testing.T, object map[string]any, to map[string]string) error {
			//nolint:contextcheck // it takes the context of the test
			return u.update(t, object, "", func(o *unstructured.Unstructured) {
				o.SetLabels(to)
			})
		},
		"a merge patch": patch(types.MergePatchType, merge),
		"a JSON patch": patch(types.JSONPatchType, func(to map[string]string) string {
			at := "/metadata/labels/" + strings.ReplaceAll(setLabel, "/", "~1")
			if set, is := to[setLabel]; is {
				return `[{"op":"replace","path":"` + at + `","value":"` + set + `"}]`
			}
			return `[{"op":"remove","path":"` + at + `"}]`
		}),
		"server-side apply": func(ctx context.Context, _ *testing.T, object map[string]any, to map[string]string) error {
			return u.apply(ctx, with(object, func(o *unstructured.Unstructured) { o.SetLabels(to) }))
		},
	}
}

func TestMove(t *testing.T) {
	requireWebhooks(t)
	administrator := admin(t)
	rights := map[string]*user{
		"no right": newUser(t, "none", []rule{allVerbsOn("managedclusters")}),
		"the old":  newUser(t, "old", []rule{allVerbsOn("managedclusters"), grantNamed("create", "managedclusters/label", setLabel+":dev")}),
		"the new": newUser(t, "new", []rule{
			allVerbsOn("managedclusters"),
			grantNamed("create", "managedclusters/label", setLabel+":prod"),
		}),
		"both": newUser(t, "both", []rule{
			allVerbsOn("managedclusters"), grantNamed("create", "managedclusters/label", setLabel+":dev"),
			grantNamed("create", "managedclustersets/join", "prod"),
		}),
		"old + default": newUser(t, "leaver", []rule{
			allVerbsOn("managedclusters"),
			grantNamed("create", "managedclusters/label", setLabel+":dev", setLabel+":default"),
		}),
	}
	prod, none, empty := map[string]string{setLabel: "prod"}, map[string]string{}, map[string]string{setLabel: ""}
	for name, tc := range map[string]struct {
		caller  string
		to      map[string]string
		refusal func(caller *user, name string) string
		want    string
	}{
		"to another set, no right": {
			"no right", prod,
			func(caller *user, name string) string { return lacksTake(caller, name, setLabel, "dev") }, "dev",
		},
		"to another set, the right to the old": {
			"the old", prod,
			func(caller *user, name string) string { return lacksPut(caller, name, setLabel, "prod") }, "dev",
		},
		"to another set, the right to the new": {
			"the new", prod,
			func(caller *user, name string) string { return lacksTake(caller, name, setLabel, "dev") }, "dev",
		},
		"to another set, the right to both": {"both", prod, nil, "prod"},
		"out of the set, no right": {
			"no right", none,
			func(caller *user, name string) string { return lacksTake(caller, name, setLabel, "dev") }, "dev",
		},
		"out of the set, the right to it": {
			"the old", none,
			func(caller *user, name string) string { return lacksPut(caller, name, setLabel, "default") }, "dev",
		},
		"out of the set, and the right to the default": {"old + default", none, nil, "default"},
		"an empty label, no right": {
			"no right", empty,
			func(caller *user, name string) string { return lacksTake(caller, name, setLabel, "dev") }, "dev",
		},
		"an empty label, and the right to the default": {"old + default", empty, nil, "default"},
	} {
		for how, write := range writes(rights[tc.caller]) {
			t.Run(name+" by "+how, func(t *testing.T) {
				object := cluster("c-" + unique())
				caller := rights[tc.caller]
				if how == "server-side apply" { // an apply removes a label only if its field manager has applied it before
					kit.NoError(t, administrator.as(t, caller.name, "system:masters").apply(t.Context(), with(object, labels(setLabel, "dev"))))
				} else {
					administrator.mustCreate(t, with(object, labels(setLabel, "dev")))
				}
				err := write(t.Context(), t, object, tc.to)
				if tc.refusal == nil {
					check(t, err, 0, "")
				} else {
					check(t, err, 403, tc.refusal(caller, asObject(object).GetName()))
				}
				if got := administrator.stored(t, object).GetLabels()[setLabel]; got != tc.want {
					t.Errorf("the cluster is in %q, want %q", got, tc.want)
				}
			})
		}
	}
}

func TestSubresourcesChangeNothing(t *testing.T) {
	requireWebhooks(t)
	administrator := admin(t)
	agent := newUser(t, "agent", []rule{
		allVerbsOn("managedclusters"), allVerbsOn("managedclusters/status"),
		allVerbsOn("managedclusters/scale"),
	})
	object := cluster("c-"+unique(), labels(setLabel, "dev"), taints("gpu:NoSelect"))
	administrator.mustCreate(t, object)
	attack := func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{setLabel: "prod"})
		accepted(o)
		taints()(o)
		_ = unstructured.SetNestedField(o.Object, "v1.36.3", "status", "version", "kubernetes")
	}
	check(t, agent.update(t, object, "status", attack), 0, "")
	bare := cluster(asObject(object).GetName(), attack)
	check(t, agent.apply(t.Context(), bare, "status"), 0, "")
	patch := []byte(`{"metadata":{"labels":{"` + setLabel + `":"prod"}},"spec":{"hubAcceptsClient":true,"taints":null}}`)
	_, err := agent.resourceFor(object).Patch(t.Context(), asObject(object).GetName(), types.MergePatchType, patch, metav1.PatchOptions{},
		"status")
	check(t, err, 0, "")
	stored := administrator.stored(t, object)
	if version, _, _ := unstructured.NestedString(stored.Object, "status", "version", "kubernetes"); version != "v1.36.3" {
		t.Errorf("status.version = %q, want the version that the agent wrote", version)
	}
	on, _, _ := unstructured.NestedBool(stored.Object, "spec", "hubAcceptsClient")
	if stored.GetLabels()[setLabel] != "dev" || on || len(taintTimes(stored)) != 1 {
		t.Errorf("after the write to the status, the cluster is %v", stored.Object)
	}
	_, err = agent.resourceFor(object).Update(t.Context(), stored, metav1.UpdateOptions{}, "scale")
	check(t, err, 404, `managedclusters.cluster.open-cluster-management.io "`+stored.GetName()+`" not found`)
}

func TestDefaultSet(t *testing.T) {
	requireWebhooks(t)
	joins := newUser(t, "joins", []rule{allVerbsOn("managedclusters"), grantNamed("create", "managedclustersets/join", "default")})
	object := cluster("c-" + unique())
	joins.mustCreate(t, object)
	if got := joins.stored(t, object).GetLabels()[setLabel]; got != "default" {
		t.Errorf("a user who may join the default set created a cluster in %q", got)
	}
	outsider := newUser(t, "outsider", []rule{allVerbsOn("managedclusters")})
	loose := cluster("c-" + unique())
	outsider.mustCreate(t, loose)
	if got, is := outsider.stored(t, loose).GetLabels()[setLabel]; is {
		t.Errorf("a user who may not join the default set created a cluster in %q", got)
	}
	if got, want := outsider.takeWarnings(), `the cluster is in no exclusive set, since user "`+outsider.name+
		`" may not put it into "default"`; len(got) != 1 || got[0] != want {
		t.Errorf("warnings = %q, want %q", got, want)
	}
	// A finalizer of a user without any permission for labels does not move the cluster and is not denied.
	check(t, outsider.update(t, loose, "", func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"test.berth.dev/x"}) }), 0, "")
	kit.NoError(t, outsider.resourceFor(loose).Delete(t.Context(), asObject(loose).GetName(), metav1.DeleteOptions{}))
	check(t, outsider.update(t, loose, "", func(o *unstructured.Unstructured) { o.SetFinalizers(nil) }), 0, "")
}

// barred stops accepting a cluster and adds the taint of denied clusters.
func barred(u *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(u.Object, false, "spec", "hubAcceptsClient")
	taints("berth-project.io/denied:NoSelect")(u)
}

// TestPermissionsCheckedForAMove checks that the mutating webhook is called only where a default may be missing: a move to another
// set calls one webhook, not two.
func TestPermissionsCheckedForAMove(t *testing.T) {
	requireWebhooks(t)
	administrator := admin(t)
	object := cluster("c-"+unique(), labels(setLabel, "dev"))
	administrator.mustCreate(t, object)
	for _, step := range []struct {
		name      string
		to        option
		completed float64
	}{
		{"to another set", labels(setLabel, "prod"), 0},
		{"out of its set", labels(setLabel, ""), 1},
		{"with a taint", taints("gpu:NoSelect"), 1},
		{"accepted", accepted, 0},
		{"denied, with its taint", barred, 1},
		{"accepted again", accepted, 1},
	} {
		wasCompleted, wasChecked := webhookRequests(t, "default.managedclusters"), webhookRequests(t, "managedclusters")
		check(t, administrator.update(t, object, "", step.to), 0, "")
		if got := webhookRequests(t, "default.managedclusters") - wasCompleted; got != step.completed {
			t.Errorf("%s: %v requests to complete the cluster, want %v", step.name, got, step.completed)
		}
		if got := webhookRequests(t, "managedclusters") - wasChecked; got != 1 {
			t.Errorf("%s: %v requests to check the cluster, want 1", step.name, got)
		}
	}
}

// webhookRequests returns how many requests the API server has sent to a webhook.
func webhookRequests(t *testing.T, webhook string) float64 {
	t.Helper()
	return shared.ReadMetrics(t).Sum("apiserver_admission_webhook_request_total", `name="`+webhook+`.cluster.open-cluster-management.io"`)
}

// accessReviews returns the number of SubjectAccessReviews so far.
func accessReviews(t *testing.T) float64 {
	t.Helper()
	return shared.ReadMetrics(t).Sum("apiserver_request_total", `resource="subjectaccessreviews"`, `verb="POST"`)
}
