package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestATypingErrorTakesNothingAway edits the manifest of one of two objects. The other one has lost its manifest.
func TestATypingErrorTakesNothingAway(t *testing.T) {
	web := object.ID{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}
	role := object.ID{Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "web"}
	old := object.ID{Resource: "configmaps", Namespace: "shop", Name: "old"}
	for sentence, test := range map[string]struct {
		recorded object.ID
		manifest string
		deleted  []object.ID
	}{
		"no namespace": {
			web, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}`,
			[]object.ID{old},
		},
		"another group": {
			web,
			`{"apiVersion":"app/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}`,
			[]object.ID{old},
		},
		"another kind": {
			web,
			`{"apiVersion":"apps/v1","kind":"Deploymnet","metadata":{"name":"web","namespace":"shop"}}`,
			[]object.ID{old},
		},
		"a namespace of a cluster-scoped object": {
			role,
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"web","namespace":"shop"}}`,
			[]object.ID{old},
		},
		"no kind":   {web, `{"apiVersion":"apps/v1","metadata":{"name":"web","namespace":"shop"}}`, nil},
		"no name":   {web, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop"}}`, nil},
		"no object": {web, `"text"`, nil},
		"another name, which is no error": {
			web,
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"other","namespace":"shop"}}`,
			[]object.ID{web, old},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := Input{
				Orphan: func(object.ID) bool { return false }, Manifests: manifestsOf(test.manifest), Recorded: true,
				Objects: map[object.ID]Object{}, Record: []Entry{{ID: old, UID: "o", Hash: "h"}, {ID: test.recorded, UID: "u", Hash: "h"}},
			}
			for _, entry := range in.Record {
				in.Objects[entry.ID] = Object{UID: entry.UID, Labelled: true, Owned: true}
			}
			var deleted []object.ID
			for range 10 {
				step := Plan(in)
				for _, call := range step.Calls {
					switch call.Verb {
					case Delete:
						deleted = append(deleted, call.Entry.ID)
						delete(in.Objects, call.Entry.ID)
					case WriteRecord:
						in.Record = call.Entries
					case Apply:
						in.Objects[call.Entry.ID] = Object{UID: "new", Labelled: true, Owned: true}
						in.Applied = map[object.ID]Applied{call.Entry.ID: {UID: "new", Hash: call.Manifest.Hash}}
					case Release, DeleteRecord:
						t.Errorf("the call is %+v", call)
					}
				}
			}
			if diff := cmp.Diff(test.deleted, deleted); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
		})
	}
}

// manifestsOf returns the manifests of a work on a member that serves Deployments and ClusterRoles.
func manifestsOf(text string) []object.Manifest {
	spec := &workv1.ManifestWorkSpec{}
	spec.Workload.Manifests = []workv1.Manifest{{}}
	spec.Workload.Manifests[0].Raw = []byte(text)
	mapping := func(kind schema.GroupVersionKind) (string, bool, error) {
		switch kind.GroupKind() {
		case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
			return "deployments", true, nil
		case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:
			return "clusterroles", false, nil
		default:
			return "", false, object.UnknownKindError{Kind: kind}
		}
	}
	out := object.Parse(spec)
	for i := range out {
		out[i] = out[i].Resolve(mapping, spec)
	}
	return out
}
