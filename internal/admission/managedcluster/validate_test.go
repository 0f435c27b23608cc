package managedcluster_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/admission/managedcluster"
)

// deniedMessage returns the denial for a missing permission for a label.
func deniedMessage(doing, key, value string) string {
	name := key + ":" + value
	rights := []string{}
	if key == setLabel {
		rights = append(rights,
			`the verb "create" on "managedclustersets/join" in the API group "cluster.open-cluster-management.io" with the resourceName "`+value+`"`)
	}
	for _, name := range []string{name, key + ":*", "*"} {
		rights = append(rights,
			`the verb "create" on "managedclusters/label" in the API group "cluster.open-cluster-management.io" with the resourceName "`+name+`"`)
	}
	return `managedclusters.cluster.open-cluster-management.io "c1" is forbidden: user "jane" may not ` + doing + ": this needs " +
		strings.Join(rights, ", or ")
}

func TestReservedLabels(t *testing.T) {
	put := func(key, value string) string { return deniedMessage("put the label "+key+"="+value+" on", key, value) }
	take := func(key, value string) string {
		return deniedMessage("take the label "+key+"="+value+" away", key, value)
	}
	in := func(set string) *clusterv1.ManagedCluster { return cluster().In(set).Obj() }
	info := func(value string) *clusterv1.ManagedCluster { return cluster().Label(infoLabel, value).Obj() }
	for name, tc := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		rights     []string
		want       string
	}{
		"created without labels":                {nil, cluster().Obj(), nil, ""},
		"created in a set, no right":            {nil, in("dev"), nil, put(setLabel, "dev")},
		"created in a set, with the right":      {nil, in("dev"), []string{labelName + setLabel + ":dev"}, ""},
		"created in a set, right to the key":    {nil, in("dev"), []string{labelName + setLabel + ":*"}, ""},
		"created in a set, right to all labels": {nil, in("dev"), []string{labelName + "*"}, ""},
		"created in a set, right to join":       {nil, in("dev"), []string{"create managedclustersets/join dev"}, ""},
		"created in a set, right to another":    {nil, in("dev"), []string{labelName + setLabel + ":prod"}, put(setLabel, "dev")},
		"moved, right to the new only":          {in("dev"), in("prod"), []string{labelName + setLabel + ":prod"}, take(setLabel, "dev")},
		"moved, right to the old only":          {in("dev"), in("prod"), []string{labelName + setLabel + ":dev"}, put(setLabel, "prod")},
		"moved, right to both, one by joining": {
			in("dev"), in("prod"),
			[]string{labelName + setLabel + ":dev", "create managedclustersets/join prod"},
			"",
		},
		"taken out, no right":             {in("dev"), cluster().Obj(), nil, take(setLabel, "dev")},
		"taken out, with the right":       {in("dev"), cluster().Obj(), []string{labelName + setLabel + ":dev"}, ""},
		"emptied, no right":               {in("dev"), in(""), nil, take(setLabel, "dev")},
		"from empty to none":              {in(""), cluster().Obj(), nil, ""},
		"unchanged":                       {in("dev"), in("dev"), nil, ""},
		"another label":                   {cluster().Label("env", "a").Obj(), cluster().Label("env", "b").Obj(), nil, ""},
		"a label with a similar prefix":   {nil, cluster().Label("cluster.open-cluster-management.io.evil/x", "y").Obj(), nil, ""},
		"the other prefix, no right":      {nil, info("x"), nil, put(infoLabel, "x")},
		"the other prefix, right to join": {nil, info("x"), []string{"create managedclustersets/join x"}, put(infoLabel, "x")},
		"the other prefix, with the right": {
			info("y"), info("x"),
			[]string{labelName + infoLabel + ":x", labelName + infoLabel + ":y"},
			"",
		},
		"an empty value of another label is a value": {info("x"), info(""), []string{labelName + infoLabel + ":x"}, put(infoLabel, "")},
		"a pattern in a right is no pattern":         {nil, in("dev"), []string{labelName + setLabel + ":d*"}, put(setLabel, "dev")},
	} {
		t.Run(name, func(t *testing.T) {
			checkError(t, validate(t, jane(tc.rights...), tc.old, tc.after), tc.want)
		})
	}
}

func TestFewReviews(t *testing.T) {
	many := cluster()
	for i := range 1000 {
		many.Label("info.open-cluster-management.io/l"+strconv.Itoa(i), "x")
	}
	for name, tc := range map[string]struct {
		old    *clusterv1.ManagedCluster
		rights []string
		refuse bool
		want   []string
	}{
		"a user with permission for any label causes one review": {nil, []string{labelName + "*"}, false, nil},
		"a user without permissions causes one review": {nil, nil, true, []string{
			labelName + "*", labelName + "info.open-cluster-management.io/l0:*", labelName + "info.open-cluster-management.io/l0:x",
		}},
		"unchanged labels cause no review": {many.Obj(), nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := jane(tc.rights...)
			err := validate(t, u, tc.old, many.Obj())
			if (err != nil) != tc.refuse {
				t.Errorf("Validate = %v, want a refusal: %v", err, tc.refuse)
			}
			if len(tc.rights) > 0 {
				for _, reviewed := range u.reviewed {
					if reviewed != labelName+"*" {
						t.Fatalf("reviewed %s, want only the permission for every label", reviewed)
					}
				}
				return
			}
			if diff := cmp.Diff(tc.want, u.reviewed); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAccept(t *testing.T) {
	const may = "update managedclusters/accept c1 in register.open-cluster-management.io"
	forbidden := `managedclusters.cluster.open-cluster-management.io "c1" is forbidden: user "jane" may not turn spec.hubAcceptsClient on: ` +
		`this needs the verb "update" on "managedclusters/accept" in the API group "register.open-cluster-management.io" with the resourceName "c1"`
	for name, tc := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		rights     []string
		ends       bool
		err        error
		want       string
	}{
		"created accepted, no right":       {after: accepted(), want: forbidden},
		"turned on, no right":              {old: cluster().Obj(), after: accepted(), want: forbidden},
		"the right in the other API group": {after: accepted(), rights: []string{"update managedclusters/accept c1"}, want: forbidden},
		"turned on, with the right":        {old: cluster().Obj(), after: accepted(), rights: []string{may}},
		"stays on":                         {old: accepted(), after: accepted()},
		"turned off":                       {old: accepted(), after: cluster().Obj()},
		"the namespace is being deleted": {
			after: accepted(), rights: []string{may}, ends: true,
			want: `managedclusters.cluster.open-cluster-management.io "c1" is forbidden: spec.hubAcceptsClient cannot be turned on while the namespace "c1" is being deleted; try again once it is gone`,
		},
		"stays on, namespace being deleted": {old: accepted(), after: accepted(), ends: true},
		"the namespace cannot be read": {
			after: accepted(), rights: []string{may}, err: errBoom,
			want: "checking the namespace of the cluster: boom",
		},
		"off, the namespace is not read":      {after: cluster().Obj(), err: errBoom},
		"no right, the namespace is not read": {after: accepted(), err: errBoom, want: forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			namespaces := func(context.Context, string) (managedcluster.Namespace, error) {
				return managedcluster.Namespace{Exists: tc.ends, Terminating: tc.ends}, tc.err
			}
			checkError(t, managedcluster.Request{Old: tc.old, New: tc.after, User: jane(tc.rights...)}.Validate(t.Context(), namespaces), tc.want)
		})
	}
}

func TestTaintRules(t *testing.T) {
	const may = "update managedclusters/taint c1"
	forbidden := func(doing string) string {
		return `managedclusters.cluster.open-cluster-management.io "c1" is forbidden: user "jane" may not ` + doing +
			`: this needs the verb "update" on "managedclusters/taint" in the API group "cluster.open-cluster-management.io" with the resourceName "c1"`
	}
	health := func(key string) string {
		return forbidden("put on, change or take away the taint " + key + ", which reports the cluster's health")
	}
	unreachable := taint(clusterv1.ManagedClusterTaintUnreachable, "", "NoSelect", before)
	unavailable := taint(clusterv1.ManagedClusterTaintUnavailable, "", "NoSelect", before)
	at := func(added time.Time) clusterv1.Taint { return taint("gpu", "", "NoSelect", added) }
	for name, tc := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		rights     []string
		want       string
	}{
		"a new taint, stamped": {tainted(), tainted(at(now)), nil, ""},
		"18: one key, two effects, round trip": {
			tainted(at(before), taint("gpu", "", "PreferNoSelect", other)),
			tainted(at(before), taint("gpu", "", "PreferNoSelect", other)), nil, "",
		},
		"a time changed, no right": {
			tainted(at(before)), tainted(at(other)), nil,
			forbidden("set spec.taints[0].timeAdded, of the taint gpu with effect NoSelect"),
		},
		"a time changed, with the right": {tainted(at(before)), tainted(at(other)), []string{may}, ""},
		"times swapped between effects, no right": {
			tainted(at(before), taint("gpu", "", "PreferNoSelect", other)),
			tainted(at(other), taint("gpu", "", "PreferNoSelect", before)), nil,
			forbidden("set spec.taints[0].timeAdded, of the taint gpu with effect NoSelect"),
		},
		"a fraction of a second lost":         {tainted(at(before.Add(time.Millisecond))), tainted(at(before)), nil, ""},
		"a health taint put on, no right":     {tainted(), tainted(unreachable), nil, health(clusterv1.ManagedClusterTaintUnreachable)},
		"a health taint taken away, no right": {tainted(unavailable), tainted(), nil, health(clusterv1.ManagedClusterTaintUnavailable)},
		"a health taint swapped, no right": {
			tainted(unreachable), tainted(unavailable), nil,
			health(clusterv1.ManagedClusterTaintUnavailable),
		},
		"a health taint's effect, no right": {
			tainted(unreachable), tainted(taint(unreachable.Key, "", "PreferNoSelect", before)), nil,
			health(clusterv1.ManagedClusterTaintUnreachable),
		},
		"a health taint's value, no right": {
			tainted(unreachable), tainted(taint(unreachable.Key, "x", "NoSelect", before)), nil,
			health(clusterv1.ManagedClusterTaintUnreachable),
		},
		"a health taint put on, with the right": {tainted(), tainted(unreachable), []string{may}, ""},
		"a health taint stays, others change":   {tainted(unreachable), tainted(at(now), unreachable), nil, ""},
		"created with a health taint, no right": {
			nil, tainted(unavailable),
			[]string{labelName + "*"},
			health(clusterv1.ManagedClusterTaintUnavailable),
		},
		"the right to another cluster": {
			tainted(), tainted(unreachable),
			[]string{"update managedclusters/taint c2"},
			health(clusterv1.ManagedClusterTaintUnreachable),
		},
		"health taints in another order":      {tainted(unreachable, unavailable), tainted(unavailable, unreachable), nil, ""},
		"a key that ends like a health taint": {tainted(), tainted(taint("example.com/unreachable", "", "NoSelect", now)), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			checkError(t, validate(t, jane(tc.rights...), tc.old, tc.after), tc.want)
		})
	}
}

func TestFaults(t *testing.T) {
	invalid := func(name, why string) string {
		return `ManagedCluster.cluster.open-cluster-management.io "` + name + `" is invalid: ` + why
	}
	at := func(url string) *clusterv1.ManagedCluster {
		out := cluster().Obj()
		out.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: url}}
		return out
	}
	http := invalid("c1", `spec.managedClusterClientConfigs[0].url: Invalid value: "http://x": must be an https URL with a host`)
	twice := tainted(taint("gpu", "a", "NoSelect", before), taint("gpu", "b", "NoSelect", before))
	dotted := enginetest.Cluster("a.b").Obj()
	all := []string{labelName + "*"}
	for name, tc := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		want       string
	}{
		"a name that no namespace can have": {nil, dotted, invalid("a.b",
			`metadata.name: Invalid value: "a.b": must be the name of a namespace too: `+
				`must not contain dots`)},
		"such a name, unchanged":       {dotted, dotted, ""},
		"an address that is not https": {nil, at("http://x"), http},
		"such an address turns up":     {cluster().Obj(), at("http://x"), http},
		"such an address stays":        {at("http://x"), at("http://x"), ""},
		"an address without a host": {
			nil, at("https://"),
			invalid("c1", `spec.managedClusterClientConfigs[0].url: Invalid value: "https://": must be an https URL with a host`),
		},
		"an address in capitals":              {nil, at("HTTPS://api:6443/a"), ""},
		"one key and effect twice":            {nil, twice, invalid("c1", `spec.taints[1]: Duplicate value: "gpu:NoSelect"`)},
		"one key and effect twice, unchanged": {twice, twice, ""},
		"one key with two effects":            {nil, tainted(taint("gpu", "", "NoSelect", now), taint("gpu", "", "PreferNoSelect", now)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := jane(all...)
			_, err := managedcluster.Request{Old: tc.old, New: tc.after, User: u, Now: now}.Default(t.Context(), managedcluster.JoinOptions{})
			if err == nil {
				err = validate(t, u, tc.old, tc.after)
			}
			checkError(t, err, tc.want)
		})
	}
}

func TestPermissionsThatCannotBeLookedUp(t *testing.T) {
	u := jane(labelName + "*")
	u.err = errBoom
	if err := validate(t, u, nil, cluster().In("dev").Obj()); !errors.Is(err, errBoom) {
		t.Errorf("Validate = %v, want the failure", err)
	}
}
