package agenttest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

const (
	corePath, workPath = "api/v1", "apis/work.open-cluster-management.io/v1"
	recordsPath        = workPath + "/appliedmanifestworks"
	configMaps         = "configmaps"
	// maxObjectBytes is far more than an object of a test.
	maxObjectBytes = 2 << 20
)

// kindsOf returns the kinds of a group version; nil for another path.
func kindsOf(at string) *metav1.APIResourceList {
	out := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}}
	switch at {
	case corePath:
		out.GroupVersion, out.APIResources = "v1", []metav1.APIResource{{Name: configMaps, Kind: "ConfigMap", Namespaced: true}}
	case workPath:
		out.GroupVersion = workv1.SchemeGroupVersion.String()
		out.APIResources = []metav1.APIResource{{Name: "appliedmanifestworks", Kind: "AppliedManifestWork"}}
	default:
		return nil
	}
	return out
}

// isStored returns whether a path of a member is of an object that it stores, or of a list of them.
func isStored(at string) bool {
	parts := strings.Split(at, "/")
	return at == corePath+"/"+configMaps || at == recordsPath || strings.HasPrefix(at, recordsPath+"/") ||
		len(parts) == 6 && strings.HasPrefix(at, corePath+"/namespaces/") && parts[4] == configMaps
}

// serveObject serves a request for an object or a list.
func (m members) serveObject(w http.ResponseWriter, r *http.Request, path string) {
	path = strings.TrimSuffix(path, "/status")
	list := strings.HasSuffix(path, "/"+configMaps) || strings.HasSuffix(path, "/appliedmanifestworks")
	var found *unstructured.Unstructured
	switch {
	case r.Method == http.MethodGet && list:
		m.list(w, path)
		return
	case r.Method == http.MethodGet:
		found = m.objects.get(path)
	case r.Method == http.MethodDelete:
		if m.objects.remove(path) {
			send(w, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
			return
		}
	default:
		body := &unstructured.Unstructured{}
		text, err := io.ReadAll(io.LimitReader(r.Body, maxObjectBytes))
		if err == nil {
			err = json.Unmarshal(text, &body.Object)
		}
		if err != nil {
			fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		if found = m.write(r, path, body); found == nil && r.Method == http.MethodPost {
			fail(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
			return
		}
	}
	if found == nil {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	send(w, found.Object)
}

// write stores the body of a request; nil where that is not possible.
func (m members) write(r *http.Request, path string, body *unstructured.Unstructured) *unstructured.Unstructured {
	switch {
	case r.Method == http.MethodPost:
		stored, _ := m.objects.create(path+"/"+body.GetName(), body)
		return stored
	case strings.HasPrefix(r.Header.Get("Content-Type"), string(types.ApplyPatchType[:len("application/apply-patch")])):
		return m.objects.apply(path, r.URL.Query().Get("fieldManager"), body)
	default:
		return m.objects.merge(path, body.Object)
	}
}

// list sends the objects of a resource: records as they are, and of ConfigMaps the metadata.
func (m members) list(w io.Writer, path string) {
	if strings.HasSuffix(path, recordsPath) {
		send(w, map[string]any{
			"apiVersion": workv1.SchemeGroupVersion.String(), "kind": "AppliedManifestWorkList", "metadata": map[string]any{"resourceVersion": "1"},
			"items": m.objects.list(func(each string) bool { return strings.HasPrefix(each, path+"/") }),
		})
		return
	}
	out := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "1"},
		Items:    []metav1.PartialObjectMetadata{},
	}
	below := strings.TrimSuffix(path, configMaps) + "namespaces/"
	for _, object := range m.objects.list(func(each string) bool { return strings.HasPrefix(each, below) }) {
		if item, err := header(&object); err == nil {
			out.Items = append(out.Items, item)
		}
	}
	send(w, out)
}
