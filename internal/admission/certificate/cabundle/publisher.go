// Package cabundle writes the webhook configurations, conversion webhooks and APIServices of the manager, with their CA
// bundles, and with the address where it is not that of the Service.
//
// The invariant: the API server rejects requests while the manager is unreachable, and never trusts a server without a CA.
package cabundle

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The manager may write only its own objects. Creating by server-side apply is authorized by name.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=berth,verbs=get;create;patch
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,resourceNames=v1.view.cluster.open-cluster-management.io,verbs=get;create;patch

const fieldManager = "berth-registration"

// Address is how the API server reaches a server, where it is not by the Service in the objects.
type Address struct {
	// URL is the base URL of webhooks, such as "https://127.0.0.1:9443". Empty means the Service.
	URL string
	// Port is the Service port of aggregated APIs. 0 means the port in the objects.
	Port int
}

// Publisher writes a set of objects that refer to servers.
type Publisher struct {
	client client.Client
	// objects have the address, and no CA bundle.
	objects []*unstructured.Unstructured
	hosts   sets.Set[string]
}

// New reads the webhook configurations, conversion webhooks and APIServices from YAML files. It skips other kinds.
func New(hub client.Client, address Address, folders ...fs.FS) (*Publisher, error) {
	address.URL = strings.TrimSuffix(address.URL, "/")
	out := &Publisher{client: hub, hosts: sets.New[string]()}
	for _, folder := range folders {
		if err := out.load(folder, address); err != nil {
			return nil, fmt.Errorf("reading webhook configurations and APIServices: %w", err)
		}
	}
	return out, nil
}

func (p *Publisher) load(folder fs.FS, address Address) error {
	names, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := p.add(object, address); err != nil {
				return fmt.Errorf("%s: the %s %s: %w", name, object.GetKind(), object.GetName(), err)
			}
		}
	}
	return nil
}

// add adds an object that refers to servers.
func (p *Publisher) add(object *unstructured.Unstructured, address Address) error {
	named := targets(object)
	for _, target := range named {
		host, err := target.setAddress(object.GetKind(), address)
		if err != nil {
			return err
		}
		p.hosts.Insert(host)
	}
	if len(named) > 0 {
		p.objects = append(p.objects, object)
	}
	return nil
}

// Hosts returns the sorted names and addresses that the serving certificate must contain.
func (p *Publisher) Hosts() []string { return sets.List(p.hosts) }

// Apply writes all objects, also after an error of one. An unchanged object is not written. Apply, UpdateCABundles and
// CABundles implement certificate.CAPublisher.
func (p *Publisher) Apply(ctx context.Context, authorities []byte) error {
	var faults []error
	for _, object := range p.objects {
		if object.GetKind() == definitionKind {
			may, err := p.convertible(ctx, object)
			faults = append(faults, err)
			if !may {
				continue
			}
		}
		faults = append(faults, p.apply(ctx, object.DeepCopy(), authorities))
	}
	return errors.Join(faults...)
}

// UpdateCABundles replaces the CA bundles of the stored objects, and nothing else. It creates no object.
func (p *Publisher) UpdateCABundles(ctx context.Context, authorities []byte) error {
	stored, err := p.storedObjects(ctx)
	faults := []error{err}
	for _, object := range stored {
		if !hasCABundle(object, authorities) {
			faults = append(faults, p.apply(ctx, object, authorities))
		}
	}
	return errors.Join(faults...)
}

// CABundles returns the CA bundle of each target of each stored object.
func (p *Publisher) CABundles(ctx context.Context) ([][]byte, error) {
	stored, err := p.storedObjects(ctx)
	var out [][]byte
	for _, object := range stored {
		for _, target := range targets(object) {
			out = append(out, target.caBundle())
		}
	}
	return out, err
}

func (p *Publisher) apply(ctx context.Context, object *unstructured.Unstructured, authorities []byte) error {
	for _, target := range targets(object) {
		target[caBundleField] = base64.StdEncoding.EncodeToString(authorities)
	}
	if err := p.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager),
		client.ForceOwnership); err != nil {
		return fmt.Errorf("writing the %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// storedObjects returns the stored objects that refer to servers, with the fields of an apply configuration only.
func (p *Publisher) storedObjects(ctx context.Context) (out []*unstructured.Unstructured, err error) {
	var faults []error
	for _, object := range p.objects {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(object.GroupVersionKind())
		err := p.client.Get(ctx, client.ObjectKeyFromObject(object), found)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			faults = append(faults, fmt.Errorf("reading the %s %s: %w", object.GetKind(), object.GetName(), err))
			continue
		}
		if object.GetKind() == definitionKind {
			if !hasConversionOf(found, object) {
				continue
			}
			keepConversion(found)
		}
		for _, field := range []string{"metadata", "status"} {
			delete(found.Object, field)
		}
		found.SetName(object.GetName())
		out = append(out, found)
	}
	return out, errors.Join(faults...)
}

// keepConversion removes everything from the spec of a definition that another client owns.
func keepConversion(definition *unstructured.Unstructured) {
	spec, _ := definition.Object["spec"].(map[string]any)
	definition.Object["spec"] = map[string]any{"conversion": spec["conversion"]}
}

// hasCABundle reports whether every target of an object has exactly this CA bundle.
func hasCABundle(object *unstructured.Unstructured, authorities []byte) bool {
	return !slices.ContainsFunc(targets(object), func(t target) bool { return !bytes.Equal(t.caBundle(), authorities) })
}
