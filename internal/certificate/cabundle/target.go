package cabundle

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var errUnknownForm = errors.New("it does not say how to reach a server, in the form that this package knows")

const (
	apiServiceKind = "APIService"
	// caBundleField is the field of a target that holds the trusted authorities.
	caBundleField = "caBundle"
)

// target is the part of an object that says how to reach a server, and whom to trust there.
type target map[string]any

// targets returns the targets of an object, which are parts of it; none where it is of a kind that names no servers.
func targets(object *unstructured.Unstructured) []target {
	switch object.GetKind() {
	case apiServiceKind:
		spec, _ := object.Object["spec"].(map[string]any)
		return []target{spec}
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

// setAddress puts the address into a target that names a Service so far, and returns the host for which the API server expects
// a certificate there.
func (t target) setAddress(kind string, address Address) (host string, err error) {
	service, ok := t["service"].(map[string]any)
	if !ok {
		return "", errUnknownForm
	}
	path, _ := service["path"].(string)
	switch {
	case kind == apiServiceKind:
		// It is said, not left out: whoever turned it on would keep the bundle from being stored.
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

// caBundle returns the trusted authorities, PEM; nil where there are none.
func (t target) caBundle() []byte {
	text, _ := t[caBundleField].(string)
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return out
}
