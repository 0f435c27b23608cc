package conversion_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-project/berth/internal/admission/conversion"
)

const (
	alpha = "addon.open-cluster-management.io/v1alpha1"
	beta  = "addon.open-cluster-management.io/v1beta1"
)

type object = map[string]any

type list = []any

// made returns an object of a kind with the given parts.
func made(version, kind string, parts object) *unstructured.Unstructured {
	out := object{"apiVersion": version, "kind": kind, "metadata": object{"name": "search"}, "spec": object{}}
	maps.Copy(out, parts)
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(out)}
}

func converted(t *testing.T, from *unstructured.Unstructured, version string) *unstructured.Unstructured {
	t.Helper()
	out := from.DeepCopy()
	if err := conversion.Convert(out, version); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConvert(t *testing.T) {
	const kube = "kubernetes.io/kube-apiserver-client"
	for name, tc := range map[string]struct {
		kind        string
		alpha, beta object
	}{
		"a default configuration": {
			"ClusterManagementAddOn",
			object{"spec": object{"supportedConfigs": list{object{
				"group": "g", "resource": "r",
				"defaultConfig": object{"name": "n", "namespace": "ns"},
			}}}},
			object{"spec": object{"defaultConfigs": list{object{"group": "g", "resource": "r", "name": "n", "namespace": "ns"}}}},
		},
		"a kind of configuration without a default": {
			"ClusterManagementAddOn",
			object{"spec": object{"supportedConfigs": list{object{"group": "g", "resource": "r"}}}},
			object{"spec": object{"defaultConfigs": list{object{"group": "g", "resource": "r", "name": "__reserved_no_default__"}}}},
		},
		"default configurations in force": {
			"ClusterManagementAddOn",
			object{"status": object{"defaultconfigReferences": list{object{"resource": "r"}}}},
			object{"status": object{"defaultConfigReferences": list{object{"resource": "r"}}}},
		},
		"the namespace of the agent": {
			"ManagedClusterAddOn",
			object{"spec": object{"installNamespace": "here"}},
			object{"metadata": object{"name": "search", "annotations": object{
				"addon.open-cluster-management.io/v1alpha1-install-namespace": "here",
			}}},
		},
		"a configuration in force": {
			"ManagedClusterAddOn",
			object{"status": object{"configReferences": list{object{
				"resource": "r", "name": "n",
				"desiredConfig": object{"name": "n", "specHash": "1"},
			}}}},
			object{"status": object{"configReferences": list{object{"resource": "r", "desiredConfig": object{"name": "n", "specHash": "1"}}}}},
		},
		"a user of the API server and its driver": {
			"ManagedClusterAddOn",
			object{"status": object{"kubeClientDriver": "token", "registrations": list{
				object{"signerName": kube, "subject": object{"user": "u", "groups": list{"g"}}},
			}}},
			object{"status": object{"registrations": list{object{
				"type":       "kubeClient",
				"kubeClient": object{"driver": "token", "subject": object{"user": "u", "groups": list{"g"}}},
			}}}},
		},
		"a certificate of another signer": {
			"ManagedClusterAddOn",
			object{"status": object{"registrations": list{object{"signerName": "a.io/b", "subject": object{"organizationUnit": list{"o"}}}}}},
			object{"status": object{"registrations": list{object{
				"type":         "customSigner",
				"customSigner": object{"signerName": "a.io/b", "subject": object{"organizationUnits": list{"o"}}},
			}}}},
		},
		"a kind without a difference": {
			"AddOnDeploymentConfig",
			object{"spec": object{"agentInstallNamespace": "here"}},
			object{"spec": object{"agentInstallNamespace": "here"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			stored, served := made(alpha, tc.kind, tc.alpha), made(beta, tc.kind, tc.beta)
			if diff := cmp.Diff(served.Object, converted(t, stored, beta).Object); diff != "" {
				t.Errorf("v1beta1 (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(stored.Object, converted(t, served, alpha).Object); diff != "" {
				t.Errorf("v1alpha1 (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFieldsOfOneVersionSurviveAChangeInTheOther has fields that the other version cannot express.
func TestFieldsOfOneVersionSurviveAChangeInTheOther(t *testing.T) {
	stored := made(alpha, "ManagedClusterAddOn", object{"status": object{
		"addOnConfiguration": object{"crName": "c"}, "kubeClientDriver": "csr", "namespace": "before",
	}})
	served := converted(t, stored, beta)
	if err := unstructured.SetNestedField(served.Object, "after", "status", "namespace"); err != nil {
		t.Fatal(err)
	}
	want := made(alpha, "ManagedClusterAddOn", object{"status": object{
		"addOnConfiguration": object{"crName": "c"}, "kubeClientDriver": "csr", "namespace": "after",
	}})
	if diff := cmp.Diff(want.Object, converted(t, served, alpha).Object); diff != "" {
		t.Errorf("v1alpha1 (-want +got):\n%s", diff)
	}
}

// TestAChangeReplacesKeptFields changes fields in the version that cannot express all of them.
func TestAChangeReplacesKeptFields(t *testing.T) {
	stored := made(alpha, "ManagedClusterAddOn", object{"status": object{
		"configReferences": list{object{"resource": "r", "name": "other", "desiredConfig": object{"name": "n"}}},
	}})
	served := converted(t, stored, beta)
	changed := list{object{"resource": "r", "desiredConfig": object{"name": "m"}}}
	if err := unstructured.SetNestedField(served.Object, changed, "status", "configReferences"); err != nil {
		t.Fatal(err)
	}
	want := made(alpha, "ManagedClusterAddOn", object{"status": object{
		"configReferences": list{object{"resource": "r", "name": "m", "desiredConfig": object{"name": "m"}}},
	}})
	if diff := cmp.Diff(want.Object, converted(t, served, alpha).Object); diff != "" {
		t.Errorf("v1alpha1 (-want +got):\n%s", diff)
	}
}

// TestThereAndBackIsTheSame converts random objects of both versions there and back.
func TestThereAndBackIsTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		from, to := alpha, beta
		if random.IntN(2) == 0 {
			from, to = beta, alpha
		}
		before := randomObject(random, from)
		if diff := cmp.Diff(before.Object, converted(t, converted(t, before, to), from).Object); diff != "" {
			t.Fatalf("from %s to %s and back (-want +got):\n%s", from, to, diff)
		}
	}
}

// randomObject returns an object with random fields of a version. Absent, equal and contradicting fields are frequent.
func randomObject(random *rand.Rand, version string) *unstructured.Unstructured {
	r := generator{random}
	if r.one() {
		return made(version, "ClusterManagementAddOn", r.management(version))
	}
	return made(version, "ManagedClusterAddOn", r.managed(version))
}

type generator struct{ *rand.Rand }

func (g generator) one() bool { return g.IntN(2) == 0 }

func (g generator) word() any {
	return []any{"a", "b", "__reserved_no_default__", "kubernetes.io/kube-apiserver-client", "a.io/b"}[g.IntN(5)]
}

// some returns an object with a random choice of fields.
func (g generator) some(all object) object {
	out := object{}
	for name, value := range all {
		if g.one() {
			out[name] = value
		}
	}
	return out
}

func (g generator) listOf(item func() object) list {
	out := list{}
	for range g.IntN(3) {
		out = append(out, item())
	}
	return out
}

func (g generator) reference() object {
	return g.some(object{"name": g.word(), "namespace": g.word()})
}

func (g generator) management(version string) object {
	if version == beta {
		return object{
			"spec": g.some(object{"defaultConfigs": g.listOf(func() object {
				return g.some(object{"group": g.word(), "resource": g.word(), "name": g.word(), "namespace": g.word()})
			})}),
			"status": g.some(object{"defaultConfigReferences": g.listOf(g.reference)}),
		}
	}
	return object{
		"spec": g.some(object{
			"addOnConfiguration": g.some(object{"crName": g.word()}),
			"supportedConfigs": g.listOf(func() object {
				return g.some(object{"group": g.word(), "resource": g.word(), "defaultConfig": g.reference()})
			}),
		}),
		"status": g.some(object{"defaultconfigReferences": g.listOf(g.reference)}),
	}
}

func (g generator) managed(version string) object {
	config := func() object {
		return g.some(object{
			"resource": g.word(), "desiredConfig": g.reference(), "lastAppliedConfig": g.reference(),
			"lastObservedGeneration": int64(g.IntN(3)),
		})
	}
	if version == beta {
		return object{
			"metadata": object{"name": "search", "annotations": object{
				"addon.open-cluster-management.io/v1alpha1-install-namespace": g.word(),
				"other": "x",
			}},
			"status": g.some(object{
				"configReferences": g.listOf(config),
				"registrations": g.listOf(func() object {
					return g.some(object{
						"type": []any{"kubeClient", "customSigner"}[g.IntN(2)],
						"kubeClient": g.some(object{
							"driver":  []any{"csr", "token"}[g.IntN(2)],
							"subject": g.some(object{"user": g.word(), "groups": list{g.word()}}),
						}),
						"customSigner": g.some(object{"signerName": g.word(), "subject": g.some(
							object{"user": g.word(), "organizationUnits": list{g.word()}})}),
					})
				}),
			}),
		}
	}
	return object{
		"spec": g.some(object{"installNamespace": "here", "configs": list{}}),
		"status": g.some(object{
			"addOnConfiguration": g.some(object{"crName": g.word()}),
			"kubeClientDriver":   []any{"csr", "token"}[g.IntN(2)],
			"configReferences": g.listOf(func() object {
				out := config()
				out["name"] = g.word()
				if g.one() {
					out["namespace"] = g.word()
				}
				return out
			}),
			"registrations": g.listOf(func() object {
				return g.some(object{"signerName": g.word(), "subject": g.some(
					object{"user": g.word(), "groups": list{g.word()}, "organizationUnit": list{g.word()}})})
			}),
		}),
	}
}

func TestHandler(t *testing.T) {
	raw := func(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }
	for name, tc := range map[string]struct {
		object, desired, want string
	}{
		"a kind of add-ons": {
			`{"apiVersion":"` + alpha + `","kind":"AddOnTemplate","metadata":{"name":"x"}}`, beta,
			`{"apiVersion":"` + beta + `","kind":"AddOnTemplate","metadata":{"name":"x"}}`,
		},
		"another kind": {
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`, beta,
			"converting the Secret /x: there is no conversion from v1 to " + beta,
		},
		"no object": {`[1]`, beta, "reading an object to convert"},
	} {
		t.Run(name, func(t *testing.T) {
			got := post(t, &apiextensionsv1.ConversionRequest{
				UID: "u", DesiredAPIVersion: tc.desired,
				Objects: []runtime.RawExtension{raw(tc.object)},
			})
			text := got.Result.Message
			if got.Result.Status == metav1.StatusSuccess {
				text = string(got.ConvertedObjects[0].Raw)
			}
			if !strings.Contains(text, tc.want) || got.UID != "u" {
				t.Errorf("answer %q for %q, want %q", text, got.UID, tc.want)
			}
		})
	}
}

// TestHandlerRefusesOtherBodies posts what the API server never sends.
func TestHandlerRefusesOtherBodies(t *testing.T) {
	for _, body := range []string{"", "{}", "[", `{"request": 3}`} {
		answer := httptest.NewRecorder()
		conversion.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, conversion.Path,
			strings.NewReader(body)))
		if answer.Code != http.StatusBadRequest {
			t.Errorf("%q: %d, want %d", body, answer.Code, http.StatusBadRequest)
		}
	}
}

func post(t *testing.T, request *apiextensionsv1.ConversionRequest) *apiextensionsv1.ConversionResponse {
	t.Helper()
	body, err := json.Marshal(apiextensionsv1.ConversionReview{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	conversion.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, conversion.Path,
		bytes.NewReader(body)))
	var out apiextensionsv1.ConversionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &out); err != nil || out.Response == nil {
		t.Fatal(fmt.Errorf("answer %d %s: %w", answer.Code, answer.Body, err))
	}
	return out.Response
}
