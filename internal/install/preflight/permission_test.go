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

// TestPermissionsMatchTheRoles compares the checked permissions with the roles: those of the controllers that are off unless they are
// named are in folders of their own, and all others in config/rbac.
func TestPermissionsMatchTheRoles(t *testing.T) {
	named := map[string][]string{
		"config/registration": {partAcceptance, partCSR}, "config/delivery": {partReplicaSet}, "config/addon": {partAddOnInstall},
		"config/probe": {partProbe}, "config/score": {partScore},
		"config/profile": {partProfile}, "config/inventory": {partInventory}, "config/kueue": {partKueue},
	}
	comparePermissions(t, "config/rbac", func(part string) bool {
		for _, parts := range named {
			if slices.Contains(parts, part) {
				return false
			}
		}
		return true
	})
	for folder, parts := range named {
		comparePermissions(t, folder, func(part string) bool { return slices.Contains(parts, part) })
	}
}

func comparePermissions(t *testing.T, folder string, runs func(part string) bool) {
	t.Helper()
	data, err := os.ReadFile("../../../" + folder + "/role.yaml")
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
				for _, request := range p.expand(system) {
					want = append(want, accessRequest{ResourceAttributes: request}.describe())
				}
			}
		}
	}
	var got []string
	for _, request := range accessRequests(runs, system) {
		got = append(got, request.describe())
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("permissions (-%s +checked):\n%s", folder, diff)
	}
}

func TestEffectOfAMissingPermission(t *testing.T) {
	find := func(verb, resource string) accessRequest {
		for _, request := range accessRequests(func(string) bool { return true }, system) {
			if request.Verb == verb && request.Resource == resource && request.Subresource == "" {
				return request
			}
		}
		t.Fatalf("%s %s is not checked", verb, resource)
		return accessRequest{}
	}
	list, patch, watch := Report{find("list", "placements").missing()}, Report{find("patch", "leases").missing()},
		Report{find("watch", "leases").missing()}
	if list.RequiredMissing() == "" {
		t.Error("placements are decided though they cannot be listed")
	}
	if patch.RequiredMissing() != "" || len(patch.DisabledControllers()) > 0 {
		t.Errorf("a write that is refused stops more than that: %v", patch)
	}
	if diff := cmp.Diff([]string{"health"}, watch.DisabledControllers()); diff != "" || watch.RequiredMissing() != "" {
		t.Errorf("leases cannot be watched: switched off (-want +got):\n%s", diff)
	}
	monitor := &Monitor{report: Report{find("create", "formertemplates").missing()}}
	if !monitor.Serves("formertemplates.rollout.berth-project.io") {
		t.Error("FormerTemplates are not read since they cannot be created")
	}
	for _, verb := range []string{"list", "watch"} {
		monitor.report = Report{find(verb, "formertemplates").missing()}
		if off := monitor.Report().DisabledControllers(); len(off) > 0 || monitor.Serves("formertemplates.rollout.berth-project.io") {
			t.Errorf("without the permission to %s FormerTemplates %v do not run, or they are read", verb, off)
		}
	}
}
