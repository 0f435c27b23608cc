package crdtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	placement = "{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: a, namespace: ns}, "
	cluster   = "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: a}, "
	set       = "{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSet, metadata: {name: a}, "
	binding   = "{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: a, namespace: ns}, "
	// strategy is closed by "}]}}".
	strategy = "{apiVersion: work.open-cluster-management.io/v1alpha1, kind: ManifestWorkReplicaSet, metadata: {name: a, namespace: ns}, " +
		"spec: {placementRefs: [{name: p, rolloutStrategy: "
	// control is closed by "}}}" after a time.
	control = "{apiVersion: rollout.berth-project.io/v1alpha1, kind: RolloutControl, metadata: {name: a, namespace: ns}, " +
		"spec: {returnNow: {revision: r, time: "
	decision = "{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: PlacementDecision, metadata: {name: a, namespace: ns}, "
	// profile and published are of SIG Multicluster.
	profile   = "{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {name: a, namespace: ns}, "
	published = "{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: PlacementDecision, metadata: {name: a, namespace: ns}, "
)

// TestAdmission creates an object, or updates it when there is an old one. An empty want means that it is accepted.
func TestAdmission(t *testing.T) {
	long := strings.Replace(placement, "name: a", "name: "+strings.Repeat("a", 64), 1)
	longest := strings.Replace(placement, "name: a", "name: "+strings.Repeat("a", 63), 1)
	cases := map[string]struct {
		object, old string
		want        string
	}{
		"a decision of a person, as Go programs write it": {object: control + "'2026-11-29T17:16:45.000000Z'}}}"},
		"a decision of a person in another zone":          {object: control + "'2026-11-29T17:16:45.123456+01:00'}}}"},
		// No client could read a list with these.
		"a decision of a person in whole seconds":        {object: control + "'2026-11-29T17:16:45Z'}}}", want: "spec.returnNow.time"},
		"a decision of a person in nanoseconds":          {object: control + "'2026-11-29T17:16:45.123456789Z'}}}", want: "spec.returnNow.time"},
		"a decision of a person on no day":               {object: control + "'2026-02-30T17:16:45.000000Z'}}}", want: "spec.returnNow.time"},
		"a placement with an empty spec":                 {object: placement + "spec: {}}"},
		"a placement without a spec":                     {object: placement + "}", want: "spec: Required value"},
		"a placement of no cluster":                      {object: placement + "spec: {numberOfClusters: 0}}"},
		"a placement with a negative number of clusters": {object: placement + "spec: {numberOfClusters: -1}}", want: "numberOfClusters"},
		"a placement name that is a label value":         {object: longest + "spec: {}}"},
		"a placement name that is no label value":        {object: long + "spec: {}}", want: "must not exceed 63 characters"},
		"an update of a placement with too long a name":  {object: long + "spec: {numberOfClusters: 1}}", old: long + "spec: {}}"},
		"an unknown mode, which the engine reports":      {object: placement + "spec: {prioritizerPolicy: {mode: Other}}}"},
		"an unknown builtIn": {
			object: placement + "spec: {prioritizerPolicy: {configurations: [{scoreCoordinate: {builtIn: Other}}]}}}",
		},
		"a configuration without a coordinate": {
			object: placement + "spec: {prioritizerPolicy: {configurations: [{weight: 1}]}}}", want: "scoreCoordinate",
		},
		"a contradictory toleration": {object: placement + "spec: {tolerations: [{operator: Exists, value: a}, {value: b}]}}"},
		"groups of no size, as Go programs write it": {object: placement +
			"spec: {decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 0}}}}"},
		"groups of no cluster by percentage": {
			object: placement + "spec: {decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 0%}}}}", want: "clustersPerDecisionGroup",
		},
		"a budget of a number, for a while": {object: placement + "spec: {disruptionPolicy: {maxUnavailable: 2147483647, interval: 1h30m}}}"},
		"a budget of a percentage":          {object: placement + "spec: {disruptionPolicy: {maxUnavailable: 0%, interval: 604800s}}}"},
		"a budget without a number": {
			object: placement + "spec: {disruptionPolicy: {interval: 1m}}}",
			want:   "maxUnavailable: Required value",
		},
		"a negative budget": {
			object: placement + "spec: {disruptionPolicy: {maxUnavailable: -1}}}",
			want:   "must be from 0 to 2147483647",
		},
		"a budget larger than an int32": {
			object: placement + "spec: {disruptionPolicy: {maxUnavailable: 99999999999}}}", want: "must be from 0 to 2147483647",
		},
		"a budget above 100 %": {object: placement + "spec: {disruptionPolicy: {maxUnavailable: 101%}}}", want: "maxUnavailable"},
		"a budget for a day":   {object: placement + "spec: {disruptionPolicy: {maxUnavailable: 1, interval: 1d}}}", want: "interval"},
		"a budget for no time": {object: placement + `spec: {disruptionPolicy: {maxUnavailable: 1, interval: ""}}}`, want: "interval"},
		"a budget with an interval longer than a duration": {
			object: placement + "spec: {disruptionPolicy: {maxUnavailable: 1, interval: 9999999h}}}", want: "interval",
		},
		"a decision with no cluster": {object: decision + "status: {decisions: []}}"},
		"a decision with null":       {object: decision + "status: {decisions: null}}", want: "decisions"},

		"a profile of a manager":      {object: profile + "spec: {clusterManager: {name: m}}}"},
		"a profile without a manager": {object: profile + "spec: {displayName: a}}", want: "clusterManager: Required value"},
		"a profile that changes its manager": {
			object: profile + "spec: {clusterManager: {name: other}}}", old: profile + "spec: {clusterManager: {name: m}}}",
			want: "cannot be changed",
		},
		"a profile that changes the name that it shows": {
			object: profile + "spec: {displayName: b, clusterManager: {name: m}}}",
			old:    profile + "spec: {displayName: a, clusterManager: {name: m}}}",
		},
		"a profile with any extension": {
			object: profile + "spec: {clusterManager: {name: m}}, status: {accessProviders: [{name: p, cluster: {server: 'https://a', extensions: " +
				"[{name: e, extension: {any: [1]}}]}}]}}",
		},
		"a profile with an access provider without a server": {
			object: profile + "spec: {clusterManager: {name: m}}, status: {accessProviders: [{name: p, cluster: {proxy-url: 'https://a'}}]}}",
			want:   "server: Required value",
		},
		"a profile with a property without a value": {
			object: profile + "spec: {clusterManager: {name: m}}, status: {properties: [{name: p, value: ''}]}}", want: "value",
		},
		"a published decision of no cluster":        {object: published + "decisions: []}"},
		"a published decision without its clusters": {object: published + "schedulerName: s}", want: "decisions: Required value"},

		"a cluster without a spec":              {object: cluster + "}"},
		"a cluster with an https address":       {object: cluster + "spec: {managedClusterClientConfigs: [{url: 'https://a:6443'}]}}"},
		"a cluster with an address in capitals": {object: cluster + "spec: {managedClusterClientConfigs: [{url: 'HTTPS://A'}]}}"},
		"a cluster with an http address": {
			object: cluster + "spec: {managedClusterClientConfigs: [{url: 'http://a'}]}}",
			want:   "must be an https URL",
		},
		"an update beside an old http address": {
			object: cluster + "spec: {hubAcceptsClient: true, managedClusterClientConfigs: [{url: 'http://a'}]}}",
			old:    cluster + "spec: {managedClusterClientConfigs: [{url: 'http://a'}]}}",
		},
		"a taint without a time": {object: cluster + "spec: {taints: [{key: a, effect: NoSelect, timeAdded: null}]}}"},

		"a rollout without settings":   {object: strategy + "{}}]}}"},
		"a progressive rollout":        {object: strategy + "{type: Progressive, progressive: {maxConcurrency: 2}}}]}}"},
		"a rollout by the seed's type": {object: strategy + "{rolloutType: Progressive}}]}}", want: "write type: Progressive"},
		"a rollout by the seed's deadline": {
			object: strategy + "{type: Progressive, timeout: 50min}}]}}",
			want:   "write progressDeadline",
		},
		"a rollout by the seed's list of groups": {
			object: strategy + "{type: Progressive, mandatoryDecisionGroups: [canary]}}]}}",
			want:   "as a list of groupName or groupIndex",
		},
		"settings of a type that is not written":    {object: strategy + "{progressive: {maxConcurrency: 2}}}]}}", want: "type is All"},
		"settings of another type than the written": {object: strategy + "{type: All, progressivePerGroup: {}}}]}}", want: "type is All"},

		"a set without a spec":       {object: set + "}"},
		"a set that selects nothing": {object: set + "spec: {clusterSelector: {selectorType: LabelSelector}}}"},
		"a set by an exclusive label": {object: set +
			"spec: {clusterSelector: {selectorType: ExclusiveLabel, exclusiveLabel: {key: info.open-cluster-management.io/team, value: a}}}}"},
		"an exclusive set without a label": {
			object: set + "spec: {clusterSelector: {selectorType: ExclusiveLabel}}}",
			want:   "exclusiveLabel is required",
		},
		"an exclusive label without a reserved prefix": {object: set +
			"spec: {clusterSelector: {selectorType: ExclusiveLabel, exclusiveLabel: {key: team, value: a}}}}", want: "exclusiveLabel.key"},

		"a binding with the name of its set": {object: binding + "spec: {clusterSet: a}}"},
		"a binding with another name": {
			object: binding + "spec: {clusterSet: b}}",
			want:   "spec.clusterSet: Invalid value: must be the same as metadata.name",
		},
		"a binding that is changed to another set": {
			object: binding + "spec: {clusterSet: b}}", old: binding + "spec: {clusterSet: a}}",
			want: "spec.clusterSet: Invalid value: must be the same as metadata.name",
		},
		"a binding without a set": {
			object: binding + "spec: {}}",
			want:   "spec.clusterSet: Invalid value: must be the same as metadata.name",
		},
		"a binding without a spec": {
			object: binding + "}",
			want:   "spec.clusterSet: Invalid value: must be the same as metadata.name",
		},
		"a status of an invalid binding": {
			object: binding + "spec: {clusterSet: a}, status: {conditions: []}}",
			old:    binding + "spec: {clusterSet: b}}",
		},
	}
	kinds := servedKinds(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, tc.object)
			var old *unstructured.Unstructured
			if tc.old != "" {
				old = parse(t, tc.old)
			}
			errs := kinds[obj.GroupVersionKind()].admit(t, obj, old)
			switch got := errs.ToAggregate(); {
			case tc.want == "" && got != nil:
				t.Errorf("refused: %v", got)
			case tc.want != "" && (got == nil || !strings.Contains(got.Error(), tc.want)):
				t.Errorf("got %v, want an error with %q", got, tc.want)
			}
		})
	}
}

// TestDefaults compares the stored object with the written object.
func TestDefaults(t *testing.T) {
	cases := map[string]struct{ object, want string }{
		"an empty placement": {
			object: placement + "spec: {}}",
			want:   placement + "spec: {scoreRateLimit: 1m, sortBy: ClusterName}}",
		},
		"the parts of a placement": {
			object: placement + `spec: {
				decisionStrategy: {groupStrategy: {}},
				prioritizerPolicy: {configurations: [{scoreCoordinate: {builtIn: Steady}}, {scoreCoordinate: {builtIn: Balance}, weight: 0}]},
				spreadPolicy: {spreadConstraints: [{topologyKey: region, topologyKeyType: Label}]},
				tolerations: [{key: a}]}}`,
			want: placement + `spec: {
				decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 100%}},
				prioritizerPolicy: {mode: Additive, configurations: [
					{scoreCoordinate: {type: BuiltIn, builtIn: Steady}, weight: 1}, {scoreCoordinate: {type: BuiltIn, builtIn: Balance}, weight: 0}]},
				scoreRateLimit: 1m,
				sortBy: ClusterName,
				spreadPolicy: {spreadConstraints: [{topologyKey: region, topologyKeyType: Label, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}]},
				tolerations: [{key: a, operator: Equal}]}}`,
		},
		"an empty set": {
			object: set + "}",
			want:   set + "spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}}",
		},
		"an accepted cluster": {
			object: cluster + "spec: {hubAcceptsClient: true}}",
			want:   cluster + "spec: {hubAcceptsClient: true, leaseDurationSeconds: 60}}",
		},
	}
	kinds := servedKinds(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, want := parse(t, tc.object), parse(t, tc.want)
			kinds[got.GroupVersionKind()].normalise(got)
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Errorf("stored object (-want +got):\n%s", diff)
			}
		})
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "\t", " ")))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return obj
}
