// Package registration owns how the API server finds the manager's webhooks: it stores the configurations of config/webhook
// with the authorities to trust, and the address where it is not that of the Service.
//
// It refuses to know what the webhooks do. The invariant: what is stored refuses requests when the manager cannot be
// reached.
package registration

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The manager stores its own two configurations, and may touch no others. Creating by applying is authorised by name.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=berth,verbs=create;patch

const owner = "berth-registration"

var errShape = errors.New("reading the webhook configurations: they are not of the form that this package knows")

// Registration is a set of webhook configurations.
type Registration struct {
	writer  client.Client
	objects []*unstructured.Unstructured
	url     string
}

// New reads the configurations among the YAML files of a folder. url is where the webhooks are, such as
// "https://127.0.0.1:9443"; empty means the Service that the configurations name.
func New(writer client.Client, files fs.FS, url string) (*Registration, error) {
	out := &Registration{writer: writer, url: strings.TrimSuffix(url, "/")}
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the webhook configurations: %w", err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading the webhook configurations: %w", err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return nil, fmt.Errorf("reading the webhook configurations in %s: %w", name, err)
			}
			if strings.HasSuffix(object.GetKind(), "WebhookConfiguration") {
				out.objects = append(out.objects, object)
			}
		}
	}
	return out, nil
}

// Apply stores the configurations. Where nothing has changed it writes nothing.
func (r *Registration) Apply(ctx context.Context, authorities []byte) error {
	for _, object := range r.objects {
		made, err := r.complete(object, authorities)
		if err != nil {
			return err
		}
		if err := r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(made), client.FieldOwner(owner), client.ForceOwnership); err != nil {
			return fmt.Errorf("registering the webhooks: %w", err)
		}
	}
	return nil
}

// complete returns a configuration with the authorities and the address.
func (r *Registration) complete(object *unstructured.Unstructured, authorities []byte) (*unstructured.Unstructured, error) {
	out := object.DeepCopy()
	webhooks, _, err := unstructured.NestedSlice(out.Object, "webhooks")
	if err != nil {
		return nil, errShape
	}
	for _, item := range webhooks {
		webhook, _ := item.(map[string]any)
		path, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil || !found {
			return nil, errShape
		}
		target, _, err := unstructured.NestedMap(webhook, "clientConfig")
		if err != nil {
			return nil, errShape
		}
		target["caBundle"] = base64.StdEncoding.EncodeToString(authorities)
		if r.url != "" {
			delete(target, "service")
			target["url"] = r.url + path
		}
		webhook["clientConfig"] = target
	}
	if err := unstructured.SetNestedSlice(out.Object, webhooks, "webhooks"); err != nil {
		return nil, errShape
	}
	return out, nil
}
