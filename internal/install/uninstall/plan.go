package uninstall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/config"
	viewconfig "github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/internal/source/page"
)

const (
	managerNamespace, managerService, managerLease = "berth-system", "berth", "berth-manager"
	// conversionPath is where the manager converts objects.
	conversionPath = "/convert-addon"
	// lookAhead is how far the reader of manifests looks for their format.
	lookAhead = 4096
)

// ErrManagerRuns is returned while a manager holds the lease: it would restore what is removed.
var ErrManagerRuns = errors.New("a manager of Berth runs on this hub and would restore what is removed: stop it first")

// Servers returns the steps that remove what the API server calls at the manager: webhooks, conversions and the APIService of the views.
// Objects that name another server stay.
func Servers(ctx context.Context, hub client.Reader) ([]Step, error) {
	out, err := deletions(ctx, hub, served, config.Webhooks(), viewconfig.Registration())
	if err != nil {
		return nil, err
	}
	conversions, err := conversions(ctx, hub)
	return append(out, conversions...), err
}

// All returns the steps of Servers, and those that remove the admission policies and the finalizers of Berth's controllers.
func All(ctx context.Context, hub client.Reader) ([]Step, error) {
	out, err := Servers(ctx, hub)
	if err != nil {
		return nil, err
	}
	files := append(config.Access(), config.Registration(), config.Protection(config.Deny, config.Deny))
	policies, err := deletions(ctx, hub, isPolicy, files...)
	if err != nil {
		return nil, err
	}
	finalizers, err := finalizers(ctx, hub)
	return append(append(out, policies...), finalizers...), err
}

// CheckStopped returns ErrManagerRuns while a manager holds its lease.
func CheckStopped(ctx context.Context, hub client.Reader, now time.Time) error {
	lease := &coordinationv1.Lease{}
	err := hub.Get(ctx, client.ObjectKey{Namespace: managerNamespace, Name: managerLease}, lease)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the lease of the manager: %w", err)
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil ||
		lease.Spec.LeaseDurationSeconds == nil:
		return nil
	case lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second).Before(now):
		return nil
	default:
		return fmt.Errorf("%w (%s holds the lease %s/%s)", ErrManagerRuns, *lease.Spec.HolderIdentity, managerNamespace, managerLease)
	}
}

// deletions returns a deletion for each wanted object of the manifests that the hub has.
func deletions(ctx context.Context, hub client.Reader, wanted func(*unstructured.Unstructured) bool, folders ...fs.FS) ([]Step, error) {
	var out []Step
	for _, folder := range folders {
		objects, err := read(folder)
		if err != nil {
			return nil, err
		}
		for _, shipped := range objects {
			if !wanted(shipped) { // the Job of the chart may read nothing else
				continue
			}
			found := &unstructured.Unstructured{}
			found.SetGroupVersionKind(shipped.GroupVersionKind())
			err := hub.Get(ctx, client.ObjectKeyFromObject(shipped), found)
			switch {
			case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			case err != nil:
				return nil, fmt.Errorf("reading %s %s: %w", shipped.GetKind(), shipped.GetName(), err)
			default:
				out = append(out, Step{Verb: Delete, Object: found, Kind: found.GetKind()})
			}
		}
	}
	return out, nil
}

// served reports whether an object makes the API server call the manager.
func served(object *unstructured.Unstructured) bool {
	switch object.GetKind() {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService":
		return true
	default:
		return false
	}
}

func isPolicy(object *unstructured.Unstructured) bool {
	return object.GetKind() == "ValidatingAdmissionPolicy" || object.GetKind() == "ValidatingAdmissionPolicyBinding"
}

// conversions returns the ends of the conversions that the manager serves.
func conversions(ctx context.Context, hub client.Reader) ([]Step, error) {
	objects, err := read(config.Conversion())
	if err != nil {
		return nil, err
	}
	var out []Step
	for _, shipped := range objects {
		found := &apiextensionsv1.CustomResourceDefinition{}
		err := hub.Get(ctx, client.ObjectKey{Name: shipped.GetName()}, found)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading the definition %s: %w", shipped.GetName(), err)
		case convertsAtManager(found):
			out = append(out, Step{Verb: StopConversion, Object: found, Kind: shipped.GetKind()})
		}
	}
	return out, nil
}

// convertsAtManager reports whether the API server calls the manager for a conversion: at its Service, or at a URL with its path.
func convertsAtManager(definition *apiextensionsv1.CustomResourceDefinition) bool {
	conversion := definition.Spec.Conversion
	if conversion == nil || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil {
		return false
	}
	at := conversion.Webhook.ClientConfig
	if at.URL != nil {
		return strings.HasSuffix(*at.URL, conversionPath)
	}
	return at.Service != nil && at.Service.Namespace == managerNamespace && at.Service.Name == managerService
}

// finalizers returns the removals of the finalizers of Berth's controllers. Those of works are the agents' and stay: an agent removes the
// objects of a work that is deleted before it removes its finalizer.
func finalizers(ctx context.Context, hub client.Reader) ([]Step, error) {
	kinds := []struct {
		list       client.ObjectList
		kind       string
		finalizers []string
	}{
		{&clusterv1.ManagedClusterList{}, "ManagedCluster", []string{
			clusterv1.ManagedClusterFinalizer,
			clusterv1.ManagedClusterResourceCleanupFinalizer,
		}},
		{&workv1alpha1.ManifestWorkReplicaSetList{}, "ManifestWorkReplicaSet", []string{workv1alpha1.ManifestWorkReplicaSetFinalizer}},
		// A role binding of an agent stays until the works of its cluster are gone.
		{&rbacv1.RoleBindingList{}, "RoleBinding", []string{workv1.ManifestWorkFinalizer}},
	}
	var out []Step
	for _, k := range kinds {
		objects, err := list(ctx, hub, k.list)
		if err != nil {
			return nil, fmt.Errorf("listing objects of the kind %s: %w", k.kind, err)
		}
		for _, object := range objects {
			isOurs := func(finalizer string) bool { return slices.Contains(k.finalizers, finalizer) }
			if slices.ContainsFunc(object.GetFinalizers(), isOurs) {
				out = append(out, Step{Verb: RemoveFinalizers, Object: object, Kind: k.kind, finalizers: k.finalizers})
			}
		}
	}
	return out, nil
}

// list returns all objects of a kind. A hub without the kind has none.
func list(ctx context.Context, hub client.Reader, empty client.ObjectList) ([]client.Object, error) {
	var out []client.Object
	err := page.Each(ctx, hub, empty, func(read client.ObjectList) error {
		return meta.EachListItem(read, func(item runtime.Object) error { //nolint:wrapcheck // it names the type
			object, ok := item.(client.Object)
			if !ok {
				return fmt.Errorf("an item of the list is a %T", item)
			}
			out = append(out, object)
			return nil
		})
	})
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return out, err //nolint:wrapcheck // the caller names the kind
}

// read returns the objects in the YAML files of a folder.
func read(files fs.FS) ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing manifests: %w", err)
	}
	var out []*unstructured.Unstructured
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), lookAhead)
		for {
			object := &unstructured.Unstructured{}
			err := decoder.Decode(object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			out = append(out, object)
		}
	}
	return out, nil
}
