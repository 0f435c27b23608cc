package agent

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// resource is a resource or a subresource of a version of the hub's API.
type resource struct {
	schema.GroupVersion

	name, kind string
	namespaced bool
	// writeOnly is set for a subresource that cannot be read.
	writeOnly bool
	// verbs are those that write.
	verbs []string
}

// String returns the name in the list of permitted writes.
func (r resource) String() string {
	if r.Group == "" {
		return r.name + "/" + r.Version
	}
	return r.name + "." + r.Group + "/" + r.Version
}

// parent returns the name without the subresource.
func (r resource) parent() (name, subresource string) {
	name, subresource, _ = strings.Cut(r.name, "/")
	return name, subresource
}

// collection returns the path of the resource in a namespace, without its subresource.
func (r resource) collection(namespace string) string {
	out := "/apis/" + r.GroupVersion.String()
	if r.Group == "" {
		out = "/api/" + r.Version
	}
	name, _ := r.parent()
	if r.namespaced {
		return inNamespace(out, namespace, name)
	}
	return out + "/" + name
}

// servedResources returns every resource of the hub that has a verb that writes.
func servedResources(t *testing.T) []resource {
	t.Helper()
	_, lists, err := shared.Client(t).Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var out []resource
	for _, list := range lists {
		version := kit.Must(schema.ParseGroupVersion(list.GroupVersion)).In(t)
		for _, served := range list.APIResources {
			if verbs := slices.DeleteFunc(slices.Clone([]string(served.Verbs)), reads); len(verbs) > 0 {
				slices.Sort(verbs)
				out = append(out, resource{version, served.Name, served.Kind, served.Namespaced, !slices.Contains(served.Verbs, "get"), verbs})
			}
		}
	}
	slices.SortFunc(out, func(a, b resource) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func reads(verb string) bool {
	return slices.Contains([]string{"get", "list", "watch"}, verb)
}

// sample is an object of a kind, to create.
type sample struct {
	schema.GroupVersionKind

	body object
}

// samples returns the objects of testdata/objects.yaml for a namespace.
func samples(t *testing.T, namespace string) []sample {
	t.Helper()
	data := kit.Must(os.ReadFile("testdata/objects.yaml")).In(t)
	text := strings.NewReplacer("NAMESPACE", namespace, "REQUEST", certificateRequest(t)).Replace(string(data))
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), len(text))
	var out []sample
	for {
		var body object
		err := decoder.Decode(&body)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, sample{schema.FromAPIVersionAndKind(body["apiVersion"].(string), body["kind"].(string)), body})
	}
}

// certificateRequest returns a request for a certificate, in the encoding of the API.
func certificateRequest(t *testing.T) string {
	t.Helper()
	request, _ := kit.CertificateRequest(t, "")
	return base64.StdEncoding.EncodeToString(request)
}

func (s sample) name() string { return s.body["metadata"].(object)["name"].(string) }

// storeSamples creates the samples in every namespace, and once without one, and returns their bodies by place and kind.
func storeSamples(t *testing.T, served []resource, namespaces ...string) map[string]map[schema.GroupKind]sample {
	t.Helper()
	out := map[string]map[schema.GroupKind]sample{}
	for _, namespace := range namespaces {
		out[namespace] = map[schema.GroupKind]sample{}
		for _, s := range samples(t, namespace) {
			out[namespace][s.GroupKind()] = s
			at := slices.IndexFunc(served, func(r resource) bool {
				return r.GroupVersion == s.GroupVersion() && r.kind == s.Kind && !strings.Contains(r.name, "/")
			})
			if at < 0 {
				t.Fatalf("the hub does not serve %s", s.GroupVersionKind)
			}
			path := served[at].collection(namespace)
			if got := administrator(t).create(t, path, s.body); got.code != 409 { // without a namespace, or of an earlier table
				if got.mustSucceed(t); s.Kind != "Namespace" {
					removeAfterTest(t, path+"/"+s.name())
				}
			}
		}
	}
	return out
}

// transient returns the body of a request to a resource that is not stored.
func transient(name, namespace string) (object, bool) {
	node := object{"kind": "Node", "name": "stored"}
	attributes := object{"verb": "get", "resource": "pods", "namespace": namespace}
	bodies := map[string]object{
		"bindings":              {"metadata": object{"name": "stored"}, "target": node},
		"pods/binding":          {"metadata": object{"name": "stored"}, "target": node},
		"pods/eviction":         {"metadata": object{"name": "stored"}},
		"serviceaccounts/token": {"spec": object{"audiences": []string{}}},
		"selfsubjectreviews":    {},
		"tokenreviews":          {"spec": object{"token": "none"}},
		"localsubjectaccessreviews": {
			"metadata": object{"namespace": namespace},
			"spec":     object{"user": "none", "resourceAttributes": attributes},
		},
		"subjectaccessreviews":     {"spec": object{"user": "none", "resourceAttributes": attributes}},
		"selfsubjectaccessreviews": {"spec": object{"resourceAttributes": attributes}},
		"selfsubjectrulesreviews":  {"spec": object{"namespace": namespace}},
	}
	body, found := bodies[name]
	return body, found || connects(name)
}

// connects returns whether a subresource is a connection. The hub has no dry run of one, and no node to connect to.
func connects(name string) bool {
	_, sub, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"attach", "exec", "portforward", "proxy"}, sub)
}
