package cabundle

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var errUnknownForm = errors.New("it has no reference to a Service")

const (
	apiServiceKind = "APIService"
	// caBundleField is the field of a target with its CA bundle.
	caBundleField = "caBundle"
)

// target is the part of an object with the address and the CA bundle of a server.
type target map[string]any

// targets returns the targets of an object, which share its memory. Other kinds have none.
func targets(object *unstructured.Unstructured) []target {
	switch object.GetKind() {
	case apiServiceKind:
		spec, _ := object.Object["spec"].(map[string]any)
		return []target{spec}
	case definitionKind:
		return conversion(object)
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		webhooks, _ := object.Object["webhooks"].([]any)
		out := make([]target, 0, len(webhooks))
		for _, item := range webhooks {
			webhook, _ := item.(map[string]any)
			client, _ := webhook["clientConfig"].(map[string]any)
			out = append(out, client)
		}
		return out
	default:
		return nil
	}
}

// setAddress sets the address of a target that refers to a Service, and returns the host that the serving certificate must
// contain.
func (t target) setAddress(kind string, address Address) (host string, err error) {
	service, ok := t["service"].(map[string]any)
	if !ok {
		return "", errUnknownForm
	}
	path, _ := service["path"].(string)
	switch {
	case kind == apiServiceKind:
		// Set explicitly: while another writer has set it to true, the API server rejects the bundle.
		t["insecureSkipTLSVerify"] = false
		if address.Port != 0 {
			service["port"] = int64(address.Port)
		}
	case address.URL != "":
		parsed, err := url.Parse(address.URL)
		if err != nil {
			return "", fmt.Errorf("reading the URL of the webhooks: %w", err)
		}
		delete(t, "service")
		t["url"] = address.URL + path
		return parsed.Hostname(), nil
	}
	return fmt.Sprintf("%v.%v.svc", service["name"], service["namespace"]), nil
}

// caBundle returns the CA bundle, PEM, or nil.
func (t target) caBundle() []byte {
	text, _ := t[caBundleField].(string)
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return out
}
