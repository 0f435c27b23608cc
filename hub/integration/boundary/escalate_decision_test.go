package boundary

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
)

// place stores a placement as somebody, and returns what the API server says once Berth has decided it.
func place(t *testing.T, who person, namespace, name string, spec object) answer {
	t.Helper()
	got := who.create(t, placements(namespace), placement(name, spec))
	got.ok(t)
	path := placements(namespace) + "/" + name
	hubtest.Eventually(t, soon, func(ctx context.Context) error {
		stored, err := who.ask(ctx, http.MethodGet, path, "", nil)
		if conditions, _ := stored.body.at("status.conditions").([]any); err == nil && len(conditions) == 0 {
			err = fmt.Errorf("%s: %w", path, errNotYet)
		}
		return err
	})
	return got
}

// verdict returns what a placement says of itself, without times and its name: all that its owner gets to know.
func verdict(t *testing.T, namespace, name string) string {
	t.Helper()
	status := stored(t, placements(namespace)+"/"+name).at("status").(map[string]any)
	for _, condition := range status["conditions"].([]any) {
		delete(condition.(map[string]any), "lastTransitionTime")
	}
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), name, "NAME")
}

// TestWritingADecisionByHand is tried by those who place, and by an administrator, whose writing is undone.
func TestWritingADecisionByHand(t *testing.T) {
	set, home, away := newSet(t), shared.Namespace(t), shared.Namespace(t)
	cluster, vault := newCluster(t, set), newCluster(t, newSet(t))
	must(t, bindings(home), binding(set))
	must(t, bindings(away), binding(set))
	who := member(t, home, "admin", set)
	for _, namespace := range []string{home, away} {
		place(t, root(t), namespace, "web", object{})
		slice := decisions(namespace) + "/web-decision-1"
		forged := built("PlacementDecision", "v1beta1", "forged").with(t, `{"metadata":{"labels":{"`+group+`/placement":"web"}}}`)
		status := `{"status":{"decisions":[{"clusterName":"` + vault + `","reason":""}]}}`
		for _, try := range []struct {
			got                  answer
			verb, resource, name string
		}{
			{who.create(t, decisions(namespace), forged), "create", "placementdecisions", ""},
			{who.rewrite(t, slice, status), "update", "placementdecisions", "web-decision-1"},
			{who.merge(t, slice+"/status", status), "patch", "placementdecisions/status", "web-decision-1"},
			{who.apply(t, decisions(namespace)+"/forged", forged), "patch", "placementdecisions", "forged"},
			{who.remove(t, slice), "delete", "placementdecisions", "web-decision-1"},
			{who.merge(t, placements(namespace)+"/web/status", `{"status":{"numberOfSelectedClusters":7}}`), "patch", "placements/status", "web"},
		} {
			try.got.is(t, http.StatusForbidden, by(who, noRoleIn(namespace, try.verb, try.resource, try.name)))
		}
		root(t).create(t, decisions(namespace), forged).ok(t)
		root(t).merge(t, decisions(namespace)+"/forged/status", status) // it may be gone already
		root(t).merge(t, slice+"/status", status).ok(t)
		hubtest.Eventually(t, soon, func(ctx context.Context) error {
			list, err := root(t).ask(ctx, http.MethodGet, decisions(namespace), "", nil)
			if got := selectedIn(list.body); err == nil && !slices.Equal(got, []string{cluster}) {
				err = fmt.Errorf("%v are selected", got)
			}
			return err
		})
		if got := stored(t, decisions(namespace)).names(); !slices.Equal(got, []string{"web-decision-1"}) {
			t.Errorf("the namespace has the slices %v", got)
		}
	}
}

func TestPlacingOnASetThatIsNotBound(t *testing.T) {
	mine, theirs, namespace := newSet(t), newSet(t), shared.Namespace(t)
	cluster := newCluster(t, mine)
	newCluster(t, theirs)
	who := member(t, namespace, "binder", mine)
	who.create(t, bindings(namespace), binding(mine)).ok(t)
	unbound := func(i int, set string) string {
		return fmt.Sprintf(`spec.clusterSets[%d]: the cluster set %q is not bound to the namespace %q, so that none of its clusters is selected through it`, i, set, namespace)
	}
	none := func(set string) string {
		return fmt.Sprintf("False NoIntersection: None of ManagedClusterSets [%s] is bound to placement namespace", set)
	}
	for name, try := range map[string]struct {
		sets     []string
		warnings []string
		selected []string
		says     string
	}{
		"theirs": {[]string{theirs}, []string{unbound(0, theirs)}, []string{}, none(theirs)},
		"absent": {[]string{"absent"}, []string{unbound(0, "absent")}, []string{}, none("absent")},
		"both":   {[]string{mine, theirs}, []string{unbound(1, theirs)}, []string{cluster}, "True AllDecisionsScheduled: All cluster decisions scheduled"},
	} {
		t.Run(name, func(t *testing.T) {
			got := place(t, who, namespace, name, object{"clusterSets": try.sets})
			if diff := cmp.Diff(try.warnings, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(try.selected, chosen(t, namespace, name)); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
			condition := object(stored(t, placements(namespace)+"/"+name).at("status.conditions").([]any)[0].(map[string]any))
			if diff := cmp.Diff(try.says, fmt.Sprintf("%v %v: %v", condition["status"], condition["reason"], condition["message"])); diff != "" {
				t.Errorf("%v (-want +got):\n%s", condition["type"], diff)
			}
		})
	}
}

// expression is a placement by a CEL expression.
func expression(text string) object {
	return object{"predicates": []any{object{"requiredClusterSelector": object{"celSelector": object{"celExpressions": []string{text}}}}}}
}

// TestReadingOtherClustersByCEL asks for a secret of a cluster that is not bound. An expression that fails on every cluster
// makes a placement misconfigured, so if others than the candidates were looked at, a right guess would show.
func TestReadingOtherClustersByCEL(t *testing.T) {
	mine, theirs, namespace, elsewhere := newSet(t), newSet(t), shared.Namespace(t), shared.Namespace(t)
	newCluster(t, mine)
	vault := newCluster(t, theirs)
	root(t).merge(t, clusters+"/"+vault, `{"metadata":{"annotations":{"pin":"4711"}}}`).ok(t)
	must(t, bindings(elsewhere), binding(theirs))
	who := member(t, namespace, "binder", mine)
	who.create(t, bindings(namespace), binding(mine)).ok(t)
	for guess, pair := range map[string][2]string{
		"an annotation": {`managedCluster.metadata.annotations["pin"] == "4711"`, `managedCluster.metadata.annotations["pin"] == "0000"`},
		"a name":        {`managedCluster.metadata.name == "` + vault + `"`, `managedCluster.metadata.name == "absent"`},
		"a set":         {`managedCluster.metadata.labels["` + setLabel + `"] == "` + theirs + `"`, `managedCluster.metadata.labels["` + setLabel + `"] == "absent"`},
		"a failure":     {`managedCluster.metadata.name != "` + vault + `" || 1/0 == 1`, `managedCluster.metadata.name != "absent" || 1/0 == 1`},
	} {
		t.Run(guess, func(t *testing.T) {
			right, wrong, proof := unique("guess"), unique("guess"), unique("proof")
			place(t, root(t), elsewhere, proof, expression(pair[0]))
			if got := chosen(t, elsewhere, proof); guess != "a failure" && !slices.Equal(got, []string{vault}) {
				t.Fatalf("where its set is bound, %v are selected by the right guess", got)
			}
			place(t, who, namespace, right, expression(pair[0]))
			place(t, who, namespace, wrong, expression(pair[1]))
			told := strings.ReplaceAll(verdict(t, namespace, right), vault, "absent")
			told = strings.NewReplacer("4711", "0000", theirs, "absent").Replace(told)
			if diff := cmp.Diff(verdict(t, namespace, wrong), told); diff != "" {
				t.Errorf("a right guess shows (-wrong +right):\n%s", diff)
			}
			if diff := cmp.Diff(chosen(t, namespace, wrong), chosen(t, namespace, right)); diff != "" {
				t.Errorf("a right guess selects other clusters (-wrong +right):\n%s", diff)
			}
		})
	}
	// There is no more than the one cluster to ask about.
	for name, text := range map[string]string{"managedClusters": `managedClusters.exists(c, c.metadata.name == "x")`, "clusters": `clusters.size() > 1`} {
		got := who.create(t, placements(namespace), placement("all", expression(text)))
		if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Message, "undeclared reference to '"+name+"'") {
			t.Errorf("%s: %d %s", text, got.Code, got.Message)
		}
	}
}

// TestCountingOtherClustersByAPlacement asks for what no cluster has, before and after others get clusters.
func TestCountingOtherClustersByAPlacement(t *testing.T) {
	mine, theirs, namespace, elsewhere := newSet(t), newSet(t), shared.Namespace(t), shared.Namespace(t)
	newCluster(t, mine)
	must(t, bindings(elsewhere), binding(theirs))
	who := member(t, namespace, "binder", mine)
	who.create(t, bindings(namespace), binding(mine)).ok(t)
	nothing := expression(`managedCluster.metadata.name == "absent"`)
	place(t, who, namespace, "before", nothing)
	others := []string{newCluster(t, theirs), newCluster(t, theirs), newCluster(t, theirs)}
	place(t, root(t), elsewhere, "proof", object{})
	becomes(t, placements(elsewhere)+"/proof", "status.numberOfSelectedClusters", float64(len(others)))
	place(t, who, namespace, "after", nothing)
	if diff := cmp.Diff(verdict(t, namespace, "before"), verdict(t, namespace, "after")); diff != "" {
		t.Errorf("status (-before +after):\n%s", diff)
	}
}
