package addoninstall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// pollInterval is the time between two readings of an add-on's program.
const pollInterval = 50 * time.Millisecond

// program is the hub's half of an add-on. It reads what each cluster has to reach, reads that configuration, compares its hash, and reports
// that it applied it. A configuration with the version "broken" fails.
type program struct {
	*kit.Client
	name string

	mu sync.Mutex
	// versions are the versions of the configurations that were read, by hash.
	versions map[string]string
	// order are the clusters in the order in which they first applied a configuration.
	order []string
	// underWay is how many clusters had a configuration to apply at once, at most.
	underWay int
	failure  error
}

// startProgram starts the program of an add-on, until the end of the test.
func (f *fleet) startProgram(name string) *program {
	f.t.Helper()
	const group = "addon.open-cluster-management.io"
	p := &program{name: name, versions: map[string]string{}, Client: f.account("program",
		rbacv1.PolicyRule{
			APIGroups: []string{group}, Resources: []string{"managedclusteraddons", "addondeploymentconfigs"},
			Verbs: []string{"get", "list"},
		},
		rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"managedclusteraddons/status"}, Verbs: []string{"update"}},
	)}
	ctx, stop := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) { // it ends with ctx only
			if err := p.step(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) {
				p.mu.Lock()
				p.failure = err
				p.mu.Unlock()
			}
			return false, nil
		})
	}()
	f.t.Cleanup(func() {
		stop()
		<-done
		if p.failure != nil {
			f.t.Error("the program of the add-on:", p.failure)
		}
	})
	return p
}

// step applies what has to be applied on all clusters.
func (p *program) step(ctx context.Context) error {
	found, err := installed(ctx, p, p.name)
	if err != nil {
		return err
	}
	waiting := 0
	for _, cluster := range sortedKeys(found) {
		object := found[cluster]
		references, _, _ := unstructured.NestedSlice(object.Object, "status", "configReferences")
		changed := false
		for i := range references {
			reference, _ := references[i].(map[string]any)
			desired, _ := reference["desiredConfig"].(map[string]any)
			applied, _ := reference["lastAppliedConfig"].(map[string]any)
			if desired == nil || applied["specHash"] == desired["specHash"] && applied["name"] == desired["name"] {
				continue
			}
			waiting++
			if reported := condition(statusOf(object), "conditions", "Progressing"); reported["reason"] == "Failed" {
				continue
			}
			ok, err := p.apply(ctx, object, reference, desired)
			if err != nil {
				return err
			}
			changed = changed || ok
		}
		if !changed {
			continue
		}
		if err := unstructured.SetNestedSlice(object.Object, references, "status", "configReferences"); err != nil {
			return err
		}
		if err := p.Status().Update(ctx, object); err != nil {
			return client.IgnoreNotFound(err)
		}
		p.mu.Lock()
		if !slices.Contains(p.order, cluster) {
			p.order = append(p.order, cluster)
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underWay = max(p.underWay, waiting)
	return nil
}

// apply reads a configuration and reports on it. Ok is false if the configuration has changed meanwhile.
func (p *program) apply(ctx context.Context, object *unstructured.Unstructured, reference, desired map[string]any) (ok bool, err error) {
	config := &unstructured.Unstructured{}
	config.SetAPIVersion(fmt.Sprint(reference["group"]) + "/v1alpha1")
	config.SetKind("AddOnDeploymentConfig")
	if err := p.Get(ctx, client.ObjectKey{Namespace: fmt.Sprint(desired["namespace"]), Name: fmt.Sprint(desired["name"])}, config); err !=
		nil {
		return false, err
	}
	text, err := json.Marshal(map[string]any{"spec": config.Object["spec"]})
	if err != nil {
		return false, err
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != desired["specHash"] {
		return false, nil
	}
	variables, _, _ := unstructured.NestedSlice(config.Object, "spec", "customizedVariables")
	version := ""
	if len(variables) > 0 {
		variable, _ := variables[0].(map[string]any)
		version = fmt.Sprint(variable["value"])
	}
	p.mu.Lock()
	p.versions[fmt.Sprint(desired["specHash"])] = version
	p.mu.Unlock()
	reason := "Completed"
	if version == "broken" {
		reason = "Failed"
	} else {
		reference["lastAppliedConfig"], reference["lastObservedGeneration"] = desired, config.GetGeneration()
	}
	return true, report(object, "Progressing", "False", reason, "version "+version)
}

// report sets a condition in the status of an object.
func report(object *unstructured.Unstructured, kind, status, reason, message string) error {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	conditions = slices.DeleteFunc(conditions, func(each any) bool {
		found, _ := each.(map[string]any)
		return found["type"] == kind
	})
	conditions = append(conditions, map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	})
	return unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions")
}

func statusOf(object *unstructured.Unstructured) map[string]any {
	out, _ := object.Object["status"].(map[string]any)
	return out
}

// version returns the version that an add-on reached, with "!" where it has to reach another one.
func (p *program) version(object *unstructured.Unstructured) string {
	references, _, _ := unstructured.NestedSlice(object.Object, "status", "configReferences")
	if len(references) == 0 {
		return "?"
	}
	reference, _ := references[0].(map[string]any)
	desired, _ := reference["desiredConfig"].(map[string]any)
	applied, _ := reference["lastAppliedConfig"].(map[string]any)
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.versions[fmt.Sprint(applied["specHash"])]
	if applied["specHash"] != desired["specHash"] {
		out += "!"
	}
	return out
}
