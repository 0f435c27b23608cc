package attack

import (
	"fmt"
	"strings"
)

// spec returns a random spec of a placement. It is mostly valid, often unusual, and sometimes names clusters of other tenants. No time
// in it passes during the test, so a decision changes only in the step that causes it.
func (s *step) spec() object {
	out := object{}
	parts := []func(object){
		func(o object) { o["numberOfClusters"] = pick(s, 0, 1, 2, 3, 100, 2147483647) },
		func(o object) {
			o["clusterSets"] = pick(s, []string{s.tenant.set}, []string{s.otherTenant.set}, []string{s.tenant.set, s.otherTenant.set, "global"},
				[]string{"default"}, []string{"nowhere"})
		},
		func(o object) { o["predicates"] = []object{s.predicate()} },
		func(o object) { o["predicates"] = []object{s.predicate(), s.predicate()} },
		func(o object) {
			o["tolerations"] = []object{pick(s, object{"operator": "Exists"},
				object{"key": "gpu", "operator": "Exists", "tolerationSeconds": 864000},
				object{"key": "gpu", "operator": "Equal", "value": "x", "effect": "NoSelect", "tolerationSeconds": 0},
				object{"key": group + "/unavailable", "operator": "Exists"})}
		},
		func(o object) {
			o["prioritizerPolicy"] = object{"mode": pick(s, "Additive", "Exact"), "configurations": []object{
				{"weight": pick(s, -10, 0, 5), "scoreCoordinate": pick(s, object{"builtIn": "Balance"}, object{"builtIn": "Steady"},
					object{"builtIn": "ResourceAllocatableMemory"}, object{"builtIn": "Spread"},
					object{"type": "AddOn", "addOn": object{"resourceName": "load", "scoreName": "free"}})},
			}}
		},
		func(o object) {
			o["decisionStrategy"] = object{"groupStrategy": object{
				"clustersPerDecisionGroup": pick[any](s, 1, 2, "25%", "100%"),
				"decisionGroups": pick(s, []object{},
					[]object{{"groupName": "canary", "groupClusterSelector": object{"labelSelector": object{"matchLabels": object{"size": "s"}}}}},
					[]object{{"groupName": "all", "groupClusterSelector": object{}}, {"groupName": "all", "groupClusterSelector": object{}}}),
			}}
		},
		func(o object) {
			o["spreadPolicy"] = pick(s, object{"antiAffinity": []object{{"topologyKey": "size", "topologyKeyType": "Label"}}},
				object{"spreadConstraints": []object{{
					"topologyKey": "zone", "topologyKeyType": "Claim", "maxSkew": 1,
					"whenUnsatisfiable": pick(s, "DoNotSchedule", "ScheduleAnyway"),
				}}})
		},
		func(o object) {
			o["tiers"] = []object{{"name": "near", "clusterSelector": s.selector()}, {"name": "far", "clusterSelector": s.selector()}}
		},
		func(o object) {
			o["disruptionPolicy"] = object{"maxUnavailable": pick[any](s, 1, "50%"), "interval": "24h"}
		},
		func(o object) { o["sortBy"], o["scoreRateLimit"] = "Score", "24h" },
	}
	for range s.random.IntN(4) {
		pick(s, parts...)(out)
	}
	return out
}

func (s *step) predicate() object { return object{"requiredClusterSelector": s.selector()} }

// selector returns a selector, which may name clusters of other tenants.
func (s *step) selector() object {
	switch s.random.IntN(5) {
	case 0:
		return object{"clusterNames": []string{s.cluster(s.tenant), s.cluster(s.otherTenant), "sentinel-c"}}
	case 1:
		return object{"labelSelector": pick(s, object{}, object{"matchLabels": object{"size": "s"}},
			object{"matchExpressions": []object{{
				"key": group + "/clusterset", "operator": "In",
				"values": []string{s.otherTenant.set, s.tenant.set},
			}}})}
	case 2:
		return object{"claimSelector": object{"matchExpressions": []object{{"key": "zone", "operator": pick(s, "DoesNotExist", "Exists")}}}}
	case 3:
		return cel(pick(s, expressions(s)...))
	default:
		return object{}
	}
}

func cel(expressions ...string) object {
	return object{"celSelector": object{"celExpressions": expressions}}
}

// expressions compile, and may fail when they run.
func expressions(s *step) []string {
	return []string{
		`true`, `managedCluster.metadata.labels["size"] == "s"`, `managedCluster.metadata.labels["absent"] == "x"`,
		`managedCluster.metadata.name.startsWith("` + s.otherTenant.set + `")`, `managedCluster.scores("load").size() > 0`,
		`managedCluster.spec.taints.all(t, t.key != "gpu")`, `managedCluster.claim("zone").parseJSON() == {}`,
		`has(managedCluster.status.capacity)`,
	}
}

// costlyExpressions returns expressions that would take much time or memory without a limit.
func (s *step) costlyExpressions() []string {
	list := "[" + strings.Repeat("1,", 90) + "1]"
	nested := strings.Repeat("[", 900) + strings.Repeat("]", 900)
	long := strings.Repeat("a", 1000)
	one := pick(s,
		list+".all(a, "+list+".all(b, "+list+".all(c, a + b + c > 0)))",
		list+`.all(a, '`+nested+`'.parseJSON() != null)`,
		list+`.all(a, '`+long+`'.reverse().reverse().reverse().size() > 0)`,
		list+`.all(a, `+list+`.all(b, '%s%s%s'.format(['`+long+`', '`+long+`', '`+long+`']).size() > 0))`,
		list+`.all(a, `+list+`.all(b, isURL('https://`+long+`')))`,
		list+`.all(a, '`+long+`'.matches('(a*)*b') || true)`,
		list+`.all(a, '`+long+`'.split('').size() > 0)`,
		list+`.map(a, `+list+`.map(b, '`+long+`' + '`+long+`')).size() > 0`,
		list+`.all(a, `+list+`.all(b, '`+long+`'.charAt(999) == 'a'))`,
	)
	out := make([]string, 1+s.random.IntN(10))
	for i := range out {
		out[i] = one + fmt.Sprintf(" || %d == 0", i)
	}
	return out
}

// refusedSpecs are invalid specs.
func refusedSpecs() []any {
	return []any{
		object{"numberOfClusters": -1},
		object{"predicates": []object{{"requiredClusterSelector": cel("1 + 1")}}},
		object{"predicates": []object{{"requiredClusterSelector": cel("object.spec")}}},
		object{"prioritizerPolicy": object{"mode": "Loose"}},
		object{"prioritizerPolicy": object{"configurations": []object{{"scoreCoordinate": object{"builtIn": "Luck"}}}}},
		object{"decisionStrategy": object{"groupStrategy": object{"clustersPerDecisionGroup": "101%"}}},
		object{"tolerations": []object{{"operator": "Equal", "value": "gpu"}}},
		object{"predicates": []object{{"requiredClusterSelector": object{"labelSelector": object{"matchLabels": object{"a b": "c d"}}}}}},
		"text", 7,
		[]string{"a"},
	}
}
