// Package registration owns how the API server finds the manager's servers, and whom it trusts there: it stores the objects
// that name them, webhook configurations and APIServices, with the authorities to trust, and the address where it is not
// that of the Service.
//
// It refuses to know what is served. The invariant: what is stored refuses requests when the manager cannot be reached,
// and never trusts a server that it does not know.
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

// The manager stores its own objects, and may touch no others. Creating by applying is authorised by name.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=berth,verbs=get;create;patch
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,resourceNames=v1.view.cluster.open-cluster-management.io,verbs=get;create;patch

const fieldManager = "berth-registration"

// Address says how the API server reaches a server where it is not by the Service that the objects name.
type Address struct {
	// URL is where webhooks are, such as "https://127.0.0.1:9443"; empty means the Service.
	URL string
	// Port is that of the Service for aggregated APIs; 0 means the one that the objects name.
	Port int
}

// Publisher is a set of objects that name servers.
type Publisher struct {
	client client.Client
	// objects have the address, and nobody to trust.
	objects []*unstructured.Unstructured
	hosts   sets.Set[string]
}

// New reads the objects that name servers among the YAML files of some folders. Others are left out.
func New(hub client.Client, address Address, folders ...fs.FS) (*Publisher, error) {
	address.URL = strings.TrimSuffix(address.URL, "/")
	out := &Publisher{client: hub, hosts: sets.New[string]()}
	for _, folder := range folders {
		if err := out.load(folder, address); err != nil {
			return nil, fmt.Errorf("reading registrations: %w", err)
		}
	}
	return out, nil
}

func (r *Publisher) load(folder fs.FS, address Address) error {
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
			if err := r.add(object, address); err != nil {
				return fmt.Errorf("%s: the %s %s: %w", name, object.GetKind(), object.GetName(), err)
			}
		}
	}
	return nil
}

// add takes an object in, if it names servers.
func (r *Publisher) add(object *unstructured.Unstructured, address Address) error {
	named := targets(object)
	for _, target := range named {
		host, err := target.setAddress(object.GetKind(), address)
		if err != nil {
			return err
		}
		r.hosts.Insert(host)
	}
	if len(named) > 0 {
		r.objects = append(r.objects, object)
	}
	return nil
}

// Hosts returns the names and addresses for which the API server expects the servers' certificates, sorted.
func (r *Publisher) Hosts() []string { return sets.List(r.hosts) }

// Apply stores the objects. Where nothing has changed it writes nothing. An object that cannot be stored keeps no other from
// being stored. It implements certificate.CAPublisher, as Trust and Trusted do.
func (r *Publisher) Apply(ctx context.Context, authorities []byte) error {
	var faults []error
	for _, object := range r.objects {
		faults = append(faults, r.apply(ctx, object.DeepCopy(), authorities))
	}
	return errors.Join(faults...)
}

// UpdateCABundles replaces the authorities of the objects that are stored, and nothing else of them. It creates none.
func (r *Publisher) UpdateCABundles(ctx context.Context, authorities []byte) error {
	stored, err := r.storedObjects(ctx)
	faults := []error{err}
	for _, object := range stored {
		if !hasCABundle(object, authorities) {
			faults = append(faults, r.apply(ctx, object, authorities))
		}
	}
	return errors.Join(faults...)
}

// CABundles returns the authorities of each target of each object that is stored.
func (r *Publisher) CABundles(ctx context.Context) ([][]byte, error) {
	stored, err := r.storedObjects(ctx)
	var out [][]byte
	for _, object := range stored {
		for _, target := range targets(object) {
			out = append(out, target.caBundle())
		}
	}
	return out, err
}

func (r *Publisher) apply(ctx context.Context, object *unstructured.Unstructured, authorities []byte) error {
	for _, target := range targets(object) {
		target[caBundleField] = base64.StdEncoding.EncodeToString(authorities)
	}
	if err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("registering the %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// storedObjects returns what is stored of the objects: of each no more than an apply configuration holds.
func (r *Publisher) storedObjects(ctx context.Context) (out []*unstructured.Unstructured, err error) {
	var faults []error
	for _, object := range r.objects {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(object.GroupVersionKind())
		err := r.client.Get(ctx, client.ObjectKeyFromObject(object), found)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			faults = append(faults, fmt.Errorf("reading the registered %s %s: %w", object.GetKind(), object.GetName(), err))
			continue
		}
		for _, field := range []string{"metadata", "status"} {
			delete(found.Object, field)
		}
		found.SetName(object.GetName())
		out = append(out, found)
	}
	return out, errors.Join(faults...)
}

// hasCABundle reports whether every target of an object has exactly these authorities.
func hasCABundle(object *unstructured.Unstructured, authorities []byte) bool {
	return !slices.ContainsFunc(targets(object), func(t target) bool { return !bytes.Equal(t.caBundle(), authorities) })
}
