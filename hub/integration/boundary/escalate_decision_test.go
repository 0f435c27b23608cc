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

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// placeAndWait stores a placement as a user. It returns the API server's response once Berth has decided the placement.
func placeAndWait(t *testing.T, caller user, namespace, name string, spec object) apiResponse {
	t.Helper()
	got := caller.create(t, placements(namespace), placement(name, spec))
	got.expectSuccess(t)
	path := placements(namespace) + "/" + name
	kit.Await(t, "the placement is decided", func(ctx context.Context) error {
		stored, err := caller.do(ctx, http.MethodGet, path, "", nil)
		if conditions, _ := stored.body.at("status.conditions").([]any); err == nil && len(conditions) == 0 {
			err = fmt.Errorf("%s: %w", path, errNotYet)
		}
		return err
	})
	return got
}

// statusText returns the status of a placement without times and without its name.
func statusText(t *testing.T, namespace, name string) string {
	t.Helper()
	status := getObject(t, placements(namespace)+"/"+name).at("status").(map[string]any)
	for _, condition := range status["conditions"].([]any) {
		delete(condition.(map[string]any), "lastTransitionTime")
	}
	text := kit.Must(json.Marshal(status)).In(t)
	return strings.ReplaceAll(string(text), name, "NAME")
}

// TestWritingADecisionByHand uses tenants, who have no permission, and an administrator, whose write is reverted.
func TestWritingADecisionByHand(t *testing.T) {
	set, home, away := newSet(t), shared.Namespace(t), shared.Namespace(t)
	cluster, vault := newCluster(t, set), newCluster(t, newSet(t))
	mustCreate(t, bindings(home), binding(set))
	mustCreate(t, bindings(away), binding(set))
	caller := newSetMember(t, home, "admin", set)
	for _, namespace := range []string{home, away} {
		placeAndWait(t, adminUser(t), namespace, "web", object{})
		slice := decisions(namespace) + "/web-decision-1"
		forged := newObject("PlacementDecision", "v1beta1", "forged").with(t, `{"metadata":{"labels":{"`+group+`/placement":"web"}}}`)
		status := `{"status":{"decisions":[{"clusterName":"` + vault + `","reason":""}]}}`
		for _, try := range []struct {
			got                  apiResponse
			verb, resource, name string
		}{
			{caller.create(t, decisions(namespace), forged), "create", "placementdecisions", ""},
			{caller.rewrite(t, slice, status), "update", "placementdecisions", "web-decision-1"},
			{caller.merge(t, slice+"/status", status), "patch", "placementdecisions/status", "web-decision-1"},
			{caller.apply(t, decisions(namespace)+"/forged", forged), "patch", "placementdecisions", "forged"},
			{caller.remove(t, slice), "delete", "placementdecisions", "web-decision-1"},
			{caller.merge(t, placements(namespace)+"/web/status", `{"status":{"numberOfSelectedClusters":7}}`), "patch", "placements/status", "web"},
		} {
			try.got.expect(t, http.StatusForbidden, forUser(caller, noRoleIn(namespace, try.verb, try.resource, try.name)))
		}
		adminUser(t).create(t, decisions(namespace), forged).expectSuccess(t)
		adminUser(t).merge(t, decisions(namespace)+"/forged/status", status) // the manager may have deleted it
		adminUser(t).merge(t, slice+"/status", status).expectSuccess(t)
		kit.Await(t, "the written decision is replaced", func(ctx context.Context) error {
			list, err := adminUser(t).do(ctx, http.MethodGet, decisions(namespace), "", nil)
			if got := selectedIn(list.body); err == nil && !slices.Equal(got, []string{cluster}) {
				err = fmt.Errorf("%v are selected", got)
			}
			return err
		})
		if got := getObject(t, decisions(namespace)).names(); !slices.Equal(got, []string{"web-decision-1"}) {
			t.Errorf("the namespace has the slices %v", got)
		}
	}
}

func TestPlacingOnASetThatIsNotBound(t *testing.T) {
	mine, theirs, namespace := newSet(t), newSet(t), shared.Namespace(t)
	cluster := newCluster(t, mine)
	newCluster(t, theirs)
	caller := newSetMember(t, namespace, "binder", mine)
	caller.create(t, bindings(namespace), binding(mine)).expectSuccess(t)
	unbound := func(i int, set string) string {
		return fmt.Sprintf(`spec.clusterSets[%d]: the cluster set %q is not bound to the namespace %q, so it adds no clusters`, i, set, namespace)
	}
	none := func(set string) string {
		return fmt.Sprintf("False NoIntersection: None of ManagedClusterSets [%s] is bound to placement namespace", set)
	}
	for name, try := range map[string]struct {
		sets     []string
		warnings []string
		selected []string
		want     string
	}{
		"theirs": {[]string{theirs}, []string{unbound(0, theirs)}, []string{}, none(theirs)},
		"absent": {[]string{"absent"}, []string{unbound(0, "absent")}, []string{}, none("absent")},
		"both": {
			[]string{mine, theirs},
			[]string{unbound(1, theirs)},
			[]string{cluster},
			"True AllDecisionsScheduled: All cluster decisions scheduled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := placeAndWait(t, caller, namespace, name, object{"clusterSets": try.sets})
			if diff := cmp.Diff(try.warnings, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			kit.Await(t, "the placement selects the clusters of the bound set", func(context.Context) error { // the manager may learn of it later
				stored := getObject(t, placements(namespace)+"/"+name) //nolint:contextcheck // it has the context of the test
				condition := object(stored.at("status.conditions").([]any)[0].(map[string]any))
				report := fmt.Sprintf("%v %v: %v", condition["status"], condition["reason"], condition["message"])
				selected := selectedClusters(t, namespace, name) //nolint:contextcheck // it has the context of the test
				if diff := cmp.Diff(try.selected, selected) + cmp.Diff(try.want, report); diff != "" {
					return fmt.Errorf("%w: clusters and %v (-want +got):\n%s", errNotYet, condition["type"], diff)
				}
				return nil
			})
		})
	}
}

// celPlacement is a placement by a CEL expression.
func celPlacement(text string) object {
	return object{"predicates": []any{object{"requiredClusterSelector": object{"celSelector": object{"celExpressions": []string{text}}}}}}
}

// TestReadingOtherClustersByCEL tries to read a label of a cluster that is not bound. An expression that fails on every cluster
// makes a placement misconfigured. If expressions ran on other clusters, a right guess would therefore be visible.
func TestReadingOtherClustersByCEL(t *testing.T) {
	mine, theirs, namespace, elsewhere := newSet(t), newSet(t), shared.Namespace(t), shared.Namespace(t)
	newCluster(t, mine)
	vault := newCluster(t, theirs)
	adminUser(t).merge(t, clusters+"/"+vault, `{"metadata":{"annotations":{"pin":"4711"}}}`).expectSuccess(t)
	mustCreate(t, bindings(elsewhere), binding(theirs))
	caller := newSetMember(t, namespace, "binder", mine)
	caller.create(t, bindings(namespace), binding(mine)).expectSuccess(t)
	for guess, pair := range map[string][2]string{
		"an annotation": {`managedCluster.metadata.annotations["pin"] == "4711"`, `managedCluster.metadata.annotations["pin"] == "0000"`},
		"a name":        {`managedCluster.metadata.name == "` + vault + `"`, `managedCluster.metadata.name == "absent"`},
		"a set": {
			`managedCluster.metadata.labels["` + setLabel + `"] == "` + theirs + `"`,
			`managedCluster.metadata.labels["` + setLabel + `"] == "absent"`,
		},
		"a failure": {`managedCluster.metadata.name != "` + vault + `" || 1/0 == 1`, `managedCluster.metadata.name != "absent" || 1/0 == 1`},
	} {
		t.Run(guess, func(t *testing.T) {
			right, wrong, proof := unique("guess"), unique("guess"), unique("proof")
			placeAndWait(t, adminUser(t), elsewhere, proof, celPlacement(pair[0]))
			if guess != "a failure" {
				kit.Await(t, "in a namespace with its set, the right guess selects the cluster", func(context.Context) error {
					got := selectedClusters(t, elsewhere, proof) //nolint:contextcheck // it has the context of the test
					if !slices.Equal(got, []string{vault}) {
						return fmt.Errorf("%w: it selects %v", errNotYet, got)
					}
					return nil
				})
			}
			placeAndWait(t, caller, namespace, right, celPlacement(pair[0]))
			placeAndWait(t, caller, namespace, wrong, celPlacement(pair[1]))
			rightText := strings.ReplaceAll(statusText(t, namespace, right), vault, "absent")
			rightText = strings.NewReplacer("4711", "0000", theirs, "absent").Replace(rightText)
			if diff := cmp.Diff(statusText(t, namespace, wrong), rightText); diff != "" {
				t.Errorf("a right guess changes the status (-wrong +right):\n%s", diff)
			}
			if diff := cmp.Diff(selectedClusters(t, namespace, wrong), selectedClusters(t, namespace, right)); diff != "" {
				t.Errorf("a right guess selects other clusters (-wrong +right):\n%s", diff)
			}
		})
	}
	// Expressions have one cluster as their variable.
	for name, text := range map[string]string{
		"managedClusters": `managedClusters.exists(c, c.metadata.name == "x")`,
		"clusters":        `clusters.size() > 1`,
	} {
		got := caller.create(t, placements(namespace), placement("all", celPlacement(text)))
		if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Message, "undeclared reference to '"+name+"'") {
			t.Errorf("%s: %d %s", text, got.Code, got.Message)
		}
	}
}

// TestCountingOtherClustersByAPlacement selects a label that no reachable cluster has, before and after other namespaces get
// clusters.
func TestCountingOtherClustersByAPlacement(t *testing.T) {
	mine, theirs, namespace, elsewhere := newSet(t), newSet(t), shared.Namespace(t), shared.Namespace(t)
	newCluster(t, mine)
	mustCreate(t, bindings(elsewhere), binding(theirs))
	caller := newSetMember(t, namespace, "binder", mine)
	caller.create(t, bindings(namespace), binding(mine)).expectSuccess(t)
	nothing := celPlacement(`managedCluster.metadata.name == "absent"`)
	placeAndWait(t, caller, namespace, "before", nothing)
	others := []string{newCluster(t, theirs), newCluster(t, theirs), newCluster(t, theirs)}
	placeAndWait(t, adminUser(t), elsewhere, "proof", object{})
	awaitValue(t, placements(elsewhere)+"/proof", "status.numberOfSelectedClusters", float64(len(others)))
	placeAndWait(t, caller, namespace, "after", nothing)
	if diff := cmp.Diff(statusText(t, namespace, "before"), statusText(t, namespace, "after")); diff != "" {
		t.Errorf("status (-before +after):\n%s", diff)
	}
}
