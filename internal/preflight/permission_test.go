package preflight

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestPermissionsMatchTheRoles holds what is asked for against config/rbac: every rule is asked for, and nothing else.
func TestPermissionsMatchTheRoles(t *testing.T) {
	data, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		role := &rbacv1.Role{} // a ClusterRole has the same fields
		if err := yaml.Unmarshal(document, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				p := permission{
					group: group, resources: strings.Join(rule.Resources, ","), names: strings.Join(rule.ResourceNames, ","),
					namespace: role.Namespace, verbs: strings.Join(rule.Verbs, ","),
				}
				for _, asked := range p.expand(system) {
					want = append(want, accessRequest{ResourceAttributes: asked}.describe())
				}
			}
		}
	}
	var got []string
	for _, asked := range accessRequests(func(string) bool { return true }, system) {
		got = append(got, asked.describe())
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("permissions (-config/rbac +asked for):\n%s", diff)
	}
}

func TestEffectOfAMissingPermission(t *testing.T) {
	find := func(verb, resource string) accessRequest {
		for _, asked := range accessRequests(func(string) bool { return true }, system) {
			if asked.Verb == verb && asked.Resource == resource && asked.Subresource == "" {
				return asked
			}
		}
		t.Fatalf("%s %s is not asked for", verb, resource)
		return accessRequest{}
	}
	list, patch, watch := Report{find("list", "placements").missing()}, Report{find("patch", "leases").missing()}, Report{find("watch", "leases").missing()}
	if list.RequiredMissing() == "" {
		t.Error("placements are decided though they cannot be listed")
	}
	if patch.RequiredMissing() != "" || len(patch.DisabledControllers()) > 0 {
		t.Errorf("a write that is refused stops more than that: %v", patch)
	}
	if diff := cmp.Diff([]string{"health"}, watch.DisabledControllers()); diff != "" || watch.RequiredMissing() != "" {
		t.Errorf("leases cannot be watched: switched off (-want +got):\n%s", diff)
	}
}
