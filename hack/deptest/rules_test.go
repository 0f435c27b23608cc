package deptest

import (
	"slices"
	"strings"
	"testing"
)

const berth = "github.com/berth-project/berth/"

// below returns whether a package is root or below root.
func below(pkg, root string) bool {
	return pkg == root || strings.HasPrefix(pkg, root+"/")
}

// importBan forbids packages to depend on others, directly or indirectly.
type importBan struct {
	from   []string // package trees of this repository
	except []string // trees in from that are exempt
	never  []string // package trees
	reason string
}

func TestTransitiveImports(t *testing.T) {
	rules := map[string]importBan{
		"the engine has no client": {
			from:   []string{berth + "engine"},
			never:  []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "google.golang.org/grpc"},
			reason: "it decides from a snapshot; code that needs data from a server builds another snapshot",
		},
		"the engine imports nothing above it": {
			from:   []string{berth + "engine"},
			never:  []string{berth + "internal", berth + "cmd", berth + "decision", berth + "rollout"},
			reason: "simulation, tests and controllers share it because it depends on none of them",
		},
		"consumers' libraries stay small": {
			from: []string{berth + "decision", berth + "rollout"},
			never: []string{
				berth + "engine", berth + "internal", "github.com/google/cel-go", "k8s.io/client-go", "sigs.k8s.io/controller-runtime",
			},
			reason: "reading decisions must not cost a consumer the code that makes them",
		},
		"types stay types": {
			from: []string{berth + "api"},
			never: []string{
				berth + "engine", berth + "internal", "k8s.io/client-go", "k8s.io/apiserver", "k8s.io/apiextensions-apiserver",
				"sigs.k8s.io/controller-runtime", "github.com/google/cel-go",
			},
			reason: "every module imports them, and pays for their imports",
		},
		"no package links Kubernetes itself": {
			from:   []string{strings.TrimSuffix(berth, "/")},
			never:  []string{"k8s.io/kubernetes", "go.etcd.io/etcd/server"},
			reason: "only hub/embed does, in a module of its own; the manager and the plugin must stay small",
		},
		"what only responds cannot write": {
			from:   []string{berth + "internal/admission", berth + "internal/views", berth + "internal/console"},
			never:  []string{berth + "internal/kube/apply"},
			reason: "admission and views only respond to requests; controllers apply plans",
		},
		"every bridge can be left out": {
			from:   []string{berth + "internal/admission", berth + "internal/views", berth + "internal/console"},
			never:  []string{berth + "internal/bridge"},
			reason: "the manager and the plugin start what follows the contract of another project; no capability depends on it",
		},
		"the manager has no commands": {
			from:   []string{berth + "internal/manager"},
			never:  []string{berth + "internal/cli"},
			reason: "the order of internal/README.md leaves this import open; both assemble the other rooms for one program",
		},
	}
	graph := load(t)
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			packages := graph.packagesIn(rule.from, rule.except)
			if len(packages) == 0 {
				t.Skipf("no package in %v yet", rule.from)
			}
			for _, pkg := range packages {
				if chain := graph.importChain(pkg, rule.never); chain != nil {
					t.Errorf("%s\n%s", strings.Join(chain, "\n  imports "), rule.reason)
				}
			}
		})
	}
}

// TestDirectImports checks the direct imports of Berth's packages. Apimachinery imports net/http and klog, so a transitive ban would
// ban apimachinery.
func TestDirectImports(t *testing.T) {
	rules := map[string]struct {
		from, except []string // package trees of this repository
		trees        []string // forbidden imports; with allowed, the only permitted imports beside the standard library
		allowed      bool
		reason       string
	}{
		"the engine has no side effects": {
			from:   []string{berth + "engine"},
			except: []string{berth + "engine/enginetest"},
			trees:  []string{"context", "os", "net", "log", "io/ioutil", "syscall", "math/rand", "crypto/rand", "k8s.io/klog"},
			reason: "values in, values out: the same input gives the same bytes, on any machine, at any time",
		},
		"a rollout is decided from values": {
			from:   []string{berth + "rollout"},
			except: []string{berth + "rollout/simulation"},
			trees:  []string{"context", "os", "net", "log", "io/ioutil", "syscall", "sync", "math/rand", "crypto/rand", "k8s.io/klog"},
			reason: "each step depends on its arguments only, so a restarted controller continues at the same step",
		},
		"only celenv uses CEL": {
			from:   []string{strings.TrimSuffix(berth, "/")},
			except: []string{berth + "engine/celenv", berth + "internal/delivery/expression"},
			trees:  []string{"github.com/google/cel-go", "k8s.io/apiserver/pkg/cel"},
			reason: "limits, environment and cache are in one place; a second place could accept what the first rejects",
		},
		"pages have no client": {
			from:   []string{berth + "internal/console"},
			except: []string{berth + "internal/console/host"},
			trees:  []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "os", "os/exec"},
			reason: "a session reads and writes for them, with the rights of its caller alone",
		},
		"types import only apimachinery": {
			from:    []string{berth + "api"},
			trees:   []string{"k8s.io/api", "k8s.io/apimachinery", berth + "api"},
			allowed: true,
			reason:  "every module imports them, and pays for their imports",
		},
	}
	graph := load(t)
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, pkg := range graph.packagesIn(rule.from, rule.except) {
				for _, imported := range graph[pkg].Imports {
					bad := slices.ContainsFunc(rule.trees, func(tree string) bool { return below(imported, tree) })
					if rule.allowed {
						bad = !bad && !graph[imported].Standard
					}
					if bad {
						t.Errorf("%s imports %s\n%s", pkg, imported, rule.reason)
					}
				}
			}
		})
	}
}

// TestEngineOrder checks that a package of the engine imports only packages of an earlier rank.
func TestEngineOrder(t *testing.T) {
	ranks := [][]string{
		{"escape", "suggest"},
		{"verdict"},
		{"fleet"},
		{"celenv"},
		{"program"},
		{"ledger"},
		{"wake", "internal/filter", "internal/score"},
		{"internal/selection", "internal/group"},
		{""},
		{"plan", "explain"},
		{"enginetest"},
	}
	rank := map[string]int{}
	for i, names := range ranks {
		for _, name := range names {
			rank[strings.TrimSuffix(berth+"engine/"+name, "/")] = i
		}
	}
	graph := load(t)
	for _, pkg := range graph.packagesIn([]string{berth + "engine"}, nil) {
		own, known := rank[pkg]
		if !known {
			t.Errorf("%s has no rank; give it one here and in the design", pkg)
			continue
		}
		for _, imported := range graph[pkg].Imports {
			if other, inEngine := rank[imported]; inEngine && other >= own {
				t.Errorf("%s imports %s, which is not below it", pkg, imported)
			}
		}
	}
}
