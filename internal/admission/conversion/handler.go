package conversion

import (
	"encoding/json"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	addonv1beta1 "github.com/berth-project/berth/api/addon/v1beta1"
)

// maxRequestBytes bounds a request. The API server sends a whole list at once.
const maxRequestBytes = 128 << 20

// Path is the path of the endpoint.
const Path = "/convert-addon"

// Handler answers the API server's requests to convert objects.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review apiextensionsv1.ConversionReview
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequestBytes)).Decode(&review); err != nil {
			http.Error(w, fmt.Sprintf("reading a ConversionReview: %v", err), http.StatusBadRequest)
			return
		}
		if review.Request == nil {
			http.Error(w, "the ConversionReview has no request", http.StatusBadRequest)
			return
		}
		review.Response, review.Request = answer(review.Request), nil
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

// answer converts all objects of a request, or none.
func answer(request *apiextensionsv1.ConversionRequest) *apiextensionsv1.ConversionResponse {
	out := &apiextensionsv1.ConversionResponse{UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, object := range request.Objects {
		converted, err := convertRaw(object.Raw, request.DesiredAPIVersion)
		if err != nil {
			out.Result, out.ConvertedObjects = apierrors.NewBadRequest(err.Error()).Status(), nil
			return out
		}
		out.ConvertedObjects = append(out.ConvertedObjects, runtime.RawExtension{Raw: converted})
	}
	return out
}

func convertRaw(raw []byte, desired string) ([]byte, error) {
	var object unstructured.Unstructured
	if err := utiljson.Unmarshal(raw, &object.Object); err != nil {
		return nil, fmt.Errorf("reading an object to convert: %w", err)
	}
	if err := Convert(&object, desired); err != nil {
		return nil, err
	}
	out, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("writing a converted object: %w", err)
	}
	return out, nil
}

// Convert converts an object of a kind of add-ons in place to an API version, such as "addon.open-cluster-management.io/v1beta1".
func Convert(object *unstructured.Unstructured, desired string) error {
	from, to := indexOf(object.GetAPIVersion()), indexOf(desired)
	parts, known := sections(object.GetKind())
	if from < 0 || to < 0 || !known {
		return fmt.Errorf("converting the %s %s/%s: there is no conversion from %s to %s",
			object.GetKind(), object.GetNamespace(), object.GetName(), object.GetAPIVersion(), desired)
	}
	if from == to {
		return nil
	}
	if err := convert(object.Object, parts, from, to); err != nil {
		return fmt.Errorf("converting the %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	object.SetAPIVersion(desired)
	return nil
}

// indexOf returns the index of an API version, -1 for any other.
func indexOf(apiVersion string) int {
	version, err := schema.ParseGroupVersion(apiVersion)
	switch {
	case err == nil && version == addonv1alpha1.GroupVersion:
		return alpha
	case err == nil && version == addonv1beta1.GroupVersion:
		return beta
	default:
		return -1
	}
}
