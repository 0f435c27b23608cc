// Package registration owns how the API server finds the manager's servers, and whom it trusts there: it stores the objects
// that name them, webhook configurations and APIServices, with the authorities to trust, and the address where it is not
// that of the Service.
//
// It refuses to know what is served. The invariant: what is stored refuses requests when the manager cannot be reached,
// and never trusts a server that it does not know.
package registration

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The manager stores its own objects, and may touch no others. Creating by applying is authorised by name.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=berth,verbs=create;patch
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,resourceNames=v1.view.cluster.open-cluster-management.io,verbs=create;patch

const owner = "berth-registration"

// Address says how the API server reaches a server where it is not by the Service that the objects name.
type Address struct {
	// URL is where webhooks are, such as "https://127.0.0.1:9443"; empty means the Service.
	URL string
	// Port is that of the Service for aggregated APIs; 0 means the one that the objects name.
	Port int
}

// Registration is a set of objects that name servers.
type Registration struct {
	writer client.Client
	// objects have the address, and nobody to trust.
	objects []*unstructured.Unstructured
	hosts   sets.Set[string]
}

// New reads the objects that name servers among the YAML files of some folders. Others are left out.
func New(writer client.Client, address Address, folders ...fs.FS) (*Registration, error) {
	address.URL = strings.TrimSuffix(address.URL, "/")
	out := &Registration{writer: writer, hosts: sets.New[string]()}
	for _, folder := range folders {
		if err := out.read(folder, address); err != nil {
			return nil, fmt.Errorf("reading registrations: %w", err)
		}
	}
	return out, nil
}

func (r *Registration) read(folder fs.FS, address Address) error {
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
func (r *Registration) add(object *unstructured.Unstructured, address Address) error {
	named := targets(object)
	for _, target := range named {
		host, err := target.aim(object.GetKind(), address)
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
func (r *Registration) Hosts() []string { return sets.List(r.hosts) }

// Apply stores the objects. Where nothing has changed it writes nothing. One that cannot be stored keeps no other from it.
// It is a certificate.Trust.
func (r *Registration) Apply(ctx context.Context, authorities []byte) error {
	var faults []error
	for _, object := range r.objects {
		made := object.DeepCopy()
		for _, target := range targets(made) {
			target["caBundle"] = base64.StdEncoding.EncodeToString(authorities)
		}
		if err := r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(made), client.FieldOwner(owner), client.ForceOwnership); err != nil {
			faults = append(faults, fmt.Errorf("registering the %s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(faults...)
}
