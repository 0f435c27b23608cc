package boundary

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

const namespaces = "/api/v1/namespaces"

// refusedCluster is the refusal of the policy about clusters.
func refusedCluster(why string) string {
	return "ValidatingAdmissionPolicy 'berth-clusters' with binding 'berth-clusters' denied request: " + why
}

// TestReservedClusterNamesAreRefused: a cluster with such a name would share the namespace of Kubernetes, Berth or Open Cluster
// Management. This includes names whose end the hub generates.
func TestReservedClusterNamesAreRefused(t *testing.T) {
	administrator := adminUser(t)
	for _, name := range []string{
		"default", "kube-system", "kube-x", "berth-system", "berth-x", "open-cluster-management", "open-cluster-management-hub",
		"open-cluster-managementx",
		"managed-clusters", "registration", "work",
	} {
		removeAfterTest(t, clusters+"/"+name)
		got := administrator.create(t, clusters, cluster(name, ""))
		if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Message, refusedCluster("metadata.name is reserved")) {
			t.Errorf("%s: %d %s", name, got.Code, got.Message)
		}
	}
	generated := cluster("", "")
	generated["metadata"] = object{"generateName": "kube-"}
	if got := administrator.create(t, clusters, generated); got.Code != http.StatusUnprocessableEntity {
		t.Errorf("a generated name: %d %s", got.Code, got.Message)
	}
	for _, name := range []string{"kube", "kubernetes", "default-1", "my-kube-system", "berth", "work-1", "registrations"} {
		mustCreate(t, clusters, cluster(name, ""))
	}
}

// withoutPolicy runs a function while a policy is not in force.
func withoutPolicy(t *testing.T, policy string, denied func(ctx context.Context) (bool, error), do func()) {
	t.Helper()
	const collection = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
	binding := getObject(t, collection+"/"+policy)
	await := func(want bool) {
		kit.Await(t, "the policy is in force or out of force", func(ctx context.Context) error {
			got, err := denied(ctx)
			if err == nil && got != want {
				err = fmt.Errorf("denied: %t, want %t", got, want)
			}
			return err
		})
	}
	adminUser(t).remove(t, collection+"/"+policy).expectSuccess(t)
	defer await(true)
	defer func() {
		fresh := object{
			"apiVersion": binding["apiVersion"], "kind": binding["kind"], "metadata": object{"name": policy}, "spec": binding["spec"],
		}
		adminUser(t).create(t, collection, fresh).expectSuccess(t)
	}()
	await(false)
	do()
}

// manyEntries returns a number of labels or annotations.
func manyEntries(count int) object {
	out := object{}
	for i := range count {
		out[fmt.Sprintf("n%05d", i)] = ""
	}
	return out
}

// TestLabelsAndAnnotationsAreBounded: every reader of a cluster pays for its labels and annotations. A cluster above the limit may
// change and lose entries, and may not gain entries.
func TestLabelsAndAnnotationsAreBounded(t *testing.T) {
	administrator := adminUser(t)
	for field, limit := range map[string]int{"labels": 1_000, "annotations": 200} {
		t.Run(field, func(t *testing.T) {
			singular := strings.TrimSuffix(field, "s")
			beside := map[string]string{"labels": " beside the label of the set"}[field]
			why := refusedCluster(fmt.Sprintf("metadata.%s would have more than %d entries%s; add no further %s, or take some away first", field,
				limit, beside, singular))
			full := func(name string, count int) object {
				out := cluster(name, "")
				out["metadata"] = object{"name": name, field: manyEntries(count)}
				return out
			}
			tooMany := func(got apiResponse) {
				t.Helper()
				if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Message, why) {
					t.Errorf("%d: %s, want %s", got.Code, got.Message, why)
				}
			}
			tooMany(administrator.create(t, clusters, full(unique("cluster"), limit+1)))
			tooMany(administrator.create(t, clusters, full(unique("cluster"), 20_000)))
			path := mustCreate(t, clusters, full(unique("cluster"), limit)) // with the label of the default set
			tooMany(administrator.merge(t, path, `{"metadata":{"`+field+`":{"another":""}}}`))

			large := unique("cluster")
			removeAfterTest(t, clusters+"/"+large)
			withoutPolicy(t, "berth-clusters", func(ctx context.Context) (bool, error) {
				got, err := administrator.do(ctx, http.MethodPost, clusters+"?dryRun=All", "application/json", cluster("kube-x", ""))
				return got.Code == http.StatusUnprocessableEntity, err
			}, func() { administrator.create(t, clusters, full(large, 2_000)).expectSuccess(t) })
			path = clusters + "/" + large
			tooMany(administrator.merge(t, path, `{"metadata":{"`+field+`":{"another":""}}}`))
			tooMany(administrator.merge(t, path, `{"metadata":{"`+field+`":{"another":"","n00001":null}}}`))
			administrator.merge(t, path, `{"spec":{"leaseDurationSeconds":61}}`).expectSuccess(t)
			administrator.merge(t, path, `{"metadata":{"`+field+`":{"n00002":"changed"}}}`).expectSuccess(t)
			administrator.merge(t, path, `{"metadata":{"`+field+`":{"n00001":null}}}`).expectSuccess(t)
		})
	}
}

// TestNoClusterReportsAQuantityThatCannotBeRead: a quantity with millions of digits behind the point takes every client that
// reads the cluster minutes and gigabytes.
func TestNoClusterReportsAQuantityThatCannotBeRead(t *testing.T) {
	administrator := adminUser(t)
	path := mustCreate(t, clusters, cluster(unique("cluster"), "")) + "/status"
	report := func(field, amount string) apiResponse {
		return administrator.merge(t, path, `{"status":{"`+field+`":{"memory":`+amount+`}}}`)
	}
	for _, field := range []string{"allocatable", "capacity"} {
		for _, amount := range []string{`"0.1e-700000000"`, `"1E+99999"`, `"1e-1000"`} {
			got := report(field, amount)
			if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Message, "an exponent has three digits at most") {
				t.Errorf("%s %s: %d: %s, want it refused", field, amount, got.Code, got.Message)
			}
		}
		for _, amount := range []string{`"64Gi"`, `"1e3"`, `"1E"`, `"1Ei"`, `"1500m"`, `4`, `"1e-9"`} {
			report(field, amount).expectSuccess(t)
		}
	}
}

// TestAcceptingAClusterNamedLikeATeamsNamespace: such a cluster would give its agent access to the objects of the team.
func TestAcceptingAClusterNamedLikeATeamsNamespace(t *testing.T) {
	administrator := adminUser(t)
	name := shared.Namespace(t)
	advice := fmt.Sprintf("the namespace %q exists and is not labelled as this cluster's; if it is meant for the agent of this cluster, "+
		"label it open-cluster-management.io/cluster-name=%s, else give the cluster another name", name, name)
	refused := fmt.Sprintf("admission webhook %q denied the request: %s is forbidden: spec.hubAcceptsClient cannot be turned on: %s",
		"managedclusters."+group, resourceTitle("managedclusters", name), advice)
	accepted := cluster(name, "").with(t, `{"spec":{"hubAcceptsClient":true}}`)
	administrator.create(t, clusters, accepted).expect(t, http.StatusForbidden, refused)

	got := administrator.create(t, clusters, cluster(name, ""))
	got.expectSuccess(t)
	removeAfterTest(t, clusters+"/"+name)
	if diff := cmp.Diff([]string{"the cluster cannot be accepted as it is: " + advice}, got.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	accept := `{"spec":{"hubAcceptsClient":true}}`
	administrator.merge(t, clusters+"/"+name, accept).expect(t, http.StatusForbidden, refused)
	administrator.merge(t, namespaces+"/"+name, `{"metadata":{"labels":{"open-cluster-management.io/cluster-name":"`+name+
		`"}}}`).expectSuccess(t)
	administrator.merge(t, clusters+"/"+name, accept).expectSuccess(t)
	administrator.merge(t, namespaces+"/"+name, `{"metadata":{"labels":{"open-cluster-management.io/cluster-name":null}}}`).expectSuccess(t)
	// the cluster stays accepted
	administrator.merge(t, clusters+"/"+name, `{"metadata":{"labels":{"a":"b"}},"spec":{"leaseDurationSeconds":61}}`).expectSuccess(t)

	simulated := shared.Namespace(t)
	mustCreate(t, clusters,
		cluster(simulated, "").with(t, `{"metadata":{"annotations":{"berth-project.io/simulated":"true"}},"spec":{"hubAcceptsClient":true}}`))
	administrator.merge(t, clusters+"/"+simulated, `{"metadata":{"annotations":{"berth-project.io/simulated":null}}}`).expect(t,
		http.StatusForbidden,
		strings.ReplaceAll(refused, name, simulated))
}

// newSetAdmin returns the admin of a set, without any other role.
func newSetAdmin(t *testing.T, set string) user {
	t.Helper()
	out := newUser(t, "setadmin")
	bindRole(t, out.subject(), roleOf("admin", set))
	return out
}

// TestAdminsOfASetManageItsClusters: they may read, change and delete the clusters of their set, and no other clusters.
func TestAdminsOfASetManageItsClusters(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	own, foreign := newCluster(t, mine), newCluster(t, theirs)
	caller := newSetAdmin(t, mine)
	caller.awaitAllowed(t, "delete", clusters+"/"+own)
	path := clusters + "/" + own

	caller.read(t, path).expectSuccess(t)
	caller.merge(t, path, `{"metadata":{"labels":{"tier":"gold"}}}`).expectSuccess(t)
	caller.merge(t, path, `{"spec":{"taints":[{"key":"maintenance","effect":"NoSelect"}]}}`).expectSuccess(t)
	caller.patch(t, path, `[{"op":"replace","path":"/spec/taints/0/effect","value":"PreferNoSelect"}]`).expectSuccess(t)
	caller.rewrite(t, path, `{"metadata":{"labels":{"tier":null}}}`).expectSuccess(t)
	caller.apply(t, path, object{
		"apiVersion": group + "/v1", "kind": "ManagedCluster",
		"metadata": object{"name": own, "labels": object{"a": "b"}},
	}).expectSuccess(t)
	caller.merge(t, path, `{"spec":{"taints":null}}`).expectSuccess(t)
	for _, value := range []string{`"Keep"`, `null`, `"Remove"`} { // the deletion of an accepted cluster needs it
		caller.merge(t, path, `{"metadata":{"annotations":{"berth-project.io/on-delete":`+value+`}}}`).expectSuccess(t)
	}

	caller.read(t, clusters).expect(t, http.StatusForbidden, forUser(caller, noRole("list", "managedclusters", "")))
	for verb, got := range map[string]apiResponse{
		"get":    caller.read(t, clusters+"/"+foreign),
		"patch":  caller.merge(t, clusters+"/"+foreign, `{"metadata":{"labels":{"tier":"gold"}}}`),
		"delete": caller.remove(t, clusters+"/"+foreign),
	} {
		t.Run(verb+" a cluster of another set", func(t *testing.T) {
			got.expect(t, http.StatusForbidden, forUser(caller, noRole(verb, "managedclusters", foreign)))
		})
	}
	caller.remove(t, path).expectSuccess(t)
	kit.Await(t, "the admin of the set may not read the cluster", func(ctx context.Context) error { // the manager updates the role later
		got, err := caller.do(ctx, http.MethodGet, path, "", nil)
		if err == nil && got.Code != http.StatusForbidden {
			err = fmt.Errorf("%d", got.Code)
		}
		return err
	})
}

// TestAdminsOfASetAreLimitedToLabelsAndTaints: their role alone would allow to change every field of a cluster.
func TestAdminsOfASetAreLimitedToLabelsAndTaints(t *testing.T) {
	mine := newSet(t)
	own := newCluster(t, mine)
	caller := newSetAdmin(t, mine)
	caller.awaitAllowed(t, "patch", clusters+"/"+own)
	path := clusters + "/" + own
	adminUser(t).merge(t, path, `{"metadata":{"labels":{"info.open-cluster-management.io/vendor":"x"},"annotations":{"a":"b"}},
		"spec":{"taints":[{"key":"`+unreachable+`","effect":"NoSelect"},{"key":"berth-project.io/denied","effect":"NoSelect"}]}}`).expectSuccess(
		t)
	before := getObject(t, path)
	for change, test := range map[string]struct{ patch, why string }{
		"accept it":                   {`{"spec":{"hubAcceptsClient":true}}`, noSpec},
		"its lease":                   {`{"spec":{"leaseDurationSeconds":3600}}`, noSpec},
		"its address":                 {`{"spec":{"managedClusterClientConfigs":[{"url":"https://example.com"}]}}`, noSpec},
		"its address, beside a taint": {`{"spec":{"taints":null,"managedClusterClientConfigs":[{"url":"https://example.com"}]}}`, noSpec},
		"an annotation":               {`{"metadata":{"annotations":{"berth-project.io/simulated":"true"}}}`, noMetadata},
		"an annotation beside another": {
			`{"metadata":{"annotations":{"berth-project.io/on-delete":"Keep","berth-project.io/simulated":"true"}}}`,
			noMetadata,
		},
		"an annotation taken away": {`{"metadata":{"annotations":null}}`, noMetadata},
		"a finalizer":              {`{"metadata":{"finalizers":["example.com/hold"]}}`, noMetadata},
		"an owner": {
			`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"default","uid":"1"}]}}`,
			noMetadata,
		},
		"another set":                 {`{"metadata":{"labels":{"` + setLabel + `":"default"}}}`, noReservedLabel},
		"no set":                      {`{"metadata":{"labels":{"` + setLabel + `":null}}}`, noReservedLabel},
		"a reserved label":            {`{"metadata":{"labels":{"info.open-cluster-management.io/other":"x"}}}`, noReservedLabel},
		"a reserved label changed":    {`{"metadata":{"labels":{"info.open-cluster-management.io/vendor":"y"}}}`, noReservedLabel},
		"a reserved label taken away": {`{"metadata":{"labels":{"info.open-cluster-management.io/vendor":null}}}`, noReservedLabel},
		"a label of Berth's":          {`{"metadata":{"labels":{"berth-project.io/x":"y"}}}`, noReservedLabel},
		"the health taint taken off":  {`{"spec":{"taints":[{"key":"berth-project.io/denied","effect":"NoSelect"}]}}`, noReservedTaint},
		"the denied taint taken off":  {`{"spec":{"taints":[{"key":"` + unreachable + `","effect":"NoSelect"}]}}`, noReservedTaint},
		"the health taint softened": {`{"spec":{"taints":[{"key":"` + unreachable +
			`","effect":"PreferNoSelect"},{"key":"berth-project.io/denied","effect":"NoSelect"}]}}`, noReservedTaint},
		"the other health taint": {`{"spec":{"taints":[{"key":"` + unavailable + `","effect":"NoSelect"}]}}`, noReservedTaint},
	} {
		t.Run(change, func(t *testing.T) {
			for how, got := range map[string]apiResponse{
				"by patch":  caller.merge(t, path, test.patch),
				"by update": caller.rewrite(t, path, test.patch),
			} {
				t.Run(how, func(t *testing.T) { got.expect(t, http.StatusForbidden, forUser(caller, limited(own, test.why))) })
			}
		})
	}
	for _, subresource := range []string{"status", "setadmin", "taint", "accept"} {
		if got := caller.merge(t, path+"/"+subresource, `{"status":{"version":{"kubernetes":"v0"}}}`); got.Code < http.StatusBadRequest {
			t.Errorf("%s can be written: %d", subresource, got.Code)
		}
	}
	if diff := cmp.Diff(before.at("metadata.resourceVersion"), getObject(t, path).at("metadata.resourceVersion")); diff != "" {
		t.Errorf("the cluster was changed (-before +after):\n%s", diff)
	}
}

// TestAClusterThatMovesLeavesItsAdminsAtOnce: no write passes once the cluster is in another set, however late the role is.
func TestAClusterThatMovesLeavesItsAdminsAtOnce(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	own := newCluster(t, mine)
	before, after := newSetAdmin(t, mine), newSetAdmin(t, theirs)
	before.awaitAllowed(t, "delete", clusters+"/"+own)
	path := clusters + "/" + own
	adminUser(t).merge(t, path, `{"metadata":{"labels":{"`+setLabel+`":"`+theirs+`"}}}`).expectSuccess(t)
	for what, got := range map[string]apiResponse{
		"label": before.merge(t, path, `{"metadata":{"labels":{"tier":"gold"}}}`), "delete": before.remove(t, path),
	} {
		if got.Code != http.StatusForbidden {
			t.Errorf("%s: %d", what, got.Code)
		}
	}
	after.awaitAllowed(t, "delete", path)
	after.merge(t, path, `{"metadata":{"labels":{"tier":"silver"}}}`).expectSuccess(t)
	kit.Await(t, "the former admin may not read the cluster", func(ctx context.Context) error {
		got, err := before.do(ctx, http.MethodGet, path, "", nil)
		if err == nil && got.Code != http.StatusForbidden {
			err = errors.New("it may still be read")
		}
		return err
	})
}

// TestNoRequestOutlivesARole: the API server authorizes a request, the manager takes the cluster out of the role, and then the policies are
// evaluated. Former admins write without a pause, so that this happens to some request.
func TestNoRequestOutlivesARole(t *testing.T) {
	mine, theirs := newSet(t), newSet(t)
	before := newSetAdmin(t, mine)
	for _, attempt := range []func(path string) (apiResponse, error){
		func(path string) (apiResponse, error) {
			return before.do(t.Context(), http.MethodPatch, path, string(types.MergePatchType),
				object{"metadata": object{"labels": object{"tier": "gold"}}})
		},
		func(path string) (apiResponse, error) {
			return before.do(t.Context(), http.MethodDelete, path, "", nil)
		},
	} {
		for range 4 {
			path := clusters + "/" + newCluster(t, mine)
			before.awaitAllowed(t, "delete", path)
			adminUser(t).merge(t, path, `{"metadata":{"labels":{"`+setLabel+`":"`+theirs+`"}}}`).expectSuccess(t)
			var writers errgroup.Group
			for range 4 {
				writers.Go(func() error { return writeUntilTheRoleEnds(t, path, attempt) })
			}
			if err := writers.Wait(); err != nil {
				t.Error(err)
			}
		}
	}
}

// writeUntilTheRoleEnds fails for a write that succeeds. It ends when RBAC refuses.
func writeUntilTheRoleEnds(t *testing.T, path string, attempt func(path string) (apiResponse, error)) error {
	t.Helper()
	for t.Context().Err() == nil {
		got, err := attempt(path)
		switch {
		case err != nil:
			return err
		case got.Code != http.StatusForbidden:
			return fmt.Errorf("%s is in another set, and the response is %d: %s", path, got.Code, got.Message)
		case !strings.Contains(got.Message, "ValidatingAdmissionPolicy"):
			return nil
		}
	}
	return t.Context().Err()
}

// TestOnlyAdminsOfASetAreLimited: the policy about admins of sets limits neither agents, nor users with roles of the administrator's
// own.
func TestOnlyAdminsOfASetAreLimited(t *testing.T) {
	set := newSet(t)
	own := newCluster(t, set)
	change := func(url string) string {
		return `{"spec":{"leaseDurationSeconds":120,"managedClusterClientConfigs":[{"url":"https://` + url + `.example.com"}]}}`
	}
	agent := newAgent(t, own)
	agent.rewrite(t, clusters+"/"+own, `{"spec":{"managedClusterClientConfigs":[{"url":"https://agent.example.com"}]}}`).expectSuccess(t)

	owner := newUser(t, "owner")
	bindRole(t, owner.subject(), role(t, ruleFor("*", "managedclusters", own)))
	owner.awaitAllowed(t, "patch", clusters+"/"+own)
	owner.merge(t, clusters+"/"+own, change("owner")).expectSuccess(t)

	both := newClusterEditor(t, set)
	both.merge(t, clusters+"/"+own, change("both")).expectSuccess(t)
}
