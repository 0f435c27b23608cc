package managedcluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gomodules.xyz/jsonpatch/v2"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/admission/managedcluster"
)

func set(path string, value any) jsonpatch.Operation {
	return jsonpatch.Operation{Operation: "add", Path: path, Value: value}
}

func setTimeAdded(index string, at time.Time) jsonpatch.Operation {
	return set("/spec/taints/"+index+"/timeAdded", at.Format("2006-01-02T15:04:05Z"))
}

func TestDefault(t *testing.T) {
	const (
		may     = "update managedclusters/taint c1"
		join    = labelName + setLabel + ":default"
		noSet   = `the cluster is in no exclusive set, since user "jane" may not put it into "default"`
		moves   = `without the label ` + setLabel + ` the cluster moves to the set "default"`
		setPath = "/metadata/labels/cluster.open-cluster-management.io~1clusterset"
	)
	at := func(value string, effect clusterv1.TaintEffect, added time.Time) clusterv1.Taint {
		return taint("gpu", value, effect, added)
	}
	claim := `managedclusters.cluster.open-cluster-management.io "c1" is forbidden: user "jane" may not set spec.taints[0].timeAdded, of the taint gpu with effect NoSelect: ` +
		`this needs the verb "update" on "managedclusters/taint" in the API group "cluster.open-cluster-management.io" with the resourceName "c1"`
	for name, tc := range map[string]struct {
		old, after *clusterv1.ManagedCluster
		rights     []string
		want       []jsonpatch.Operation
		warnings   []string
		refusal    string
	}{
		"nothing to do": {after: tainted()},
		"created with a taint": {
			after: tainted(at("", "NoSelect", time.Time{})),
			want:  []jsonpatch.Operation{setTimeAdded("0", now)},
		},
		"created with a time, no right": {
			after: tainted(at("", "NoSelect", other)),
			want:  []jsonpatch.Operation{setTimeAdded("0", now)}, warnings: []string{
				`spec.taints[0].timeAdded is set to now, since user "jane" may not set it`,
			},
		},
		"created with a time, with the right": {after: tainted(at("", "NoSelect", other)), rights: []string{may}},
		"a taint put on": {
			old: tainted(), after: tainted(at("", "NoSelect", time.Time{})),
			want: []jsonpatch.Operation{setTimeAdded("0", now)},
		},
		"a taint put on with a time, no right":       {old: tainted(), after: tainted(at("", "NoSelect", other)), refusal: claim},
		"a taint put on with a time, with the right": {old: tainted(), after: tainted(at("", "NoSelect", other)), rights: []string{may}},
		"a taint unchanged":                          {old: tainted(at("", "NoSelect", before)), after: tainted(at("", "NoSelect", before))},
		"a taint unchanged without its time": {
			old:   tainted(at("", "NoSelect", before)),
			after: tainted(at("", "NoSelect", time.Time{})), want: []jsonpatch.Operation{setTimeAdded("0", before)},
		},
		"a taint unchanged with another time": {
			old: tainted(at("", "NoSelect", before)), after: tainted(at("", "NoSelect", other)),
			refusal: claim,
		},
		"a taint that never had a time": {
			old:   tainted(at("", "NoSelect", time.Time{})),
			after: tainted(at("", "NoSelect", time.Time{})), want: []jsonpatch.Operation{setTimeAdded("0", now)},
		},
		"a value changed, the time carried over": {
			old: tainted(at("a", "NoSelect", before)), after: tainted(at("b", "NoSelect", before)),
			want: []jsonpatch.Operation{setTimeAdded("0", now)},
		},
		"an effect changed, the time carried over": {
			old:   tainted(at("", "PreferNoSelect", before)),
			after: tainted(at("", "NoSelect", before)), want: []jsonpatch.Operation{setTimeAdded("0", now)},
		},
		"a value changed, another time": {
			old: tainted(at("a", "NoSelect", before)), after: tainted(at("b", "NoSelect", other)),
			refusal: claim,
		},
		"18: a second effect of a key": {
			old:   tainted(at("", "NoSelect", before)),
			after: tainted(at("", "NoSelect", before), at("", "PreferNoSelect", time.Time{})), want: []jsonpatch.Operation{setTimeAdded("1", now)},
		},
		"18: two effects, both times lost": {
			old:   tainted(at("", "NoSelect", before), at("", "PreferNoSelect", other)),
			after: tainted(at("", "PreferNoSelect", time.Time{}), at("", "NoSelect", time.Time{})),
			want:  []jsonpatch.Operation{setTimeAdded("0", other), setTimeAdded("1", before)},
		},
		"created without a set, no right": {after: cluster().Obj(), warnings: []string{noSet}},
		"created without a set, with the right": {
			after: cluster().Label("a", "b").Obj(), rights: []string{join},
			want: []jsonpatch.Operation{set(setPath, "default")},
		},
		"created without labels, may join": {
			after: cluster().Obj(), rights: []string{"create managedclustersets/join default"},
			want: []jsonpatch.Operation{set("/metadata/labels", map[string]string{setLabel: "default"})},
		},
		"created with an empty set label": {
			after: cluster().In("").Obj(), rights: []string{join},
			want: []jsonpatch.Operation{set(setPath, "default")},
		},
		"created in another set": {after: cluster().In("dev").Obj()},
		"taken out of a set": {
			old: cluster().In("dev").Obj(), after: cluster().Label("a", "b").Obj(),
			want: []jsonpatch.Operation{set(setPath, "default")}, warnings: []string{moves},
		},
		"taken out of a set while it is being deleted": {old: cluster().In("dev").Obj(), after: cluster().Terminating().Obj()},
		"without a set before and after":               {old: cluster().Obj(), after: cluster().Obj(), rights: []string{join}},
	} {
		t.Run(name, func(t *testing.T) {
			after := tc.after.DeepCopy()
			if len(after.Labels) == 0 {
				after.Labels = nil
			}
			answer, err := managedcluster.Request{Old: tc.old, New: after, User: jane(tc.rights...), Now: now}.Default(t.Context(),
				managedcluster.JoinOptions{})
			checkError(t, err, tc.refusal)
			if err != nil {
				return
			}
			if diff := cmp.Diff(tc.want, answer.Patches); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, answer.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
