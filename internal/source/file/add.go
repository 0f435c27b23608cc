package file

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// objectID identifies an object, whatever its version.
type objectID struct {
	kind      schema.GroupKind
	namespace string
	name      string
}

// addObject adds an object to the bundle. It counts an object of a kind that placements do not read, and reports all faults
// of an object that a hub would refuse.
func (l *load) addObject(ctx context.Context, o object) {
	gvk := o.GroupVersionKind()
	known := l.known[gvk]
	if known == nil {
		l.addOther(o, gvk)
		return
	}
	unknown, faults := known.normaliseMetadata(o, l.namespace)
	unknown = append(unknown, known.normalise(o.Object)...)
	faults = append(faults, known.validate(ctx, o.Object)...)
	faults = append(faults, l.addTyped(o, gvk.Kind, faults)...)
	for _, fault := range faults {
		l.fail(o.fault(fault))
	}
	l.unknownFields(o, known, unknown)
	l.checkDuplicate(o, gvk)
}

// addOther counts an object of a kind that placements do not read. A kind that they read, in an unknown version, is a fault:
// a placement that is skipped would look like a placement that selects nothing.
func (l *load) addOther(o object, gvk schema.GroupVersionKind) {
	versions := l.known.versionsOf(gvk.GroupKind())
	if len(versions) == 0 {
		l.unknownKind(o, gvk)
		return
	}
	for i := range versions {
		versions[i] = gvk.Group + "/" + versions[i]
	}
	l.fail(o.fault(field.NotSupported(field.NewPath("apiVersion"), o.GetAPIVersion(), versions)))
}

// checkDuplicate reports an object that was given before.
func (l *load) checkDuplicate(o object, gvk schema.GroupVersionKind) {
	if o.GetName() == "" {
		return
	}
	id := objectID{gvk.GroupKind(), o.GetNamespace(), o.GetName()}
	if before, twice := l.seen[id]; twice {
		l.fail(o.fault(fmt.Errorf("is given twice: first in %s", before)))
		return
	}
	l.seen[id] = o.position
}

// addTyped adds an object to the bundle in its Go form. It returns the faults that the engine finds, except in fields that
// already have a fault.
func (l *load) addTyped(o object, kind string, before field.ErrorList) field.ErrorList {
	b := l.bundle
	var made field.ErrorList
	switch kind {
	case "ManagedCluster":
		made = add(&b.Clusters, o, &clusterv1.ManagedCluster{}, nil)
	case "ManagedClusterSet":
		made = add(&b.Sets, o, &clusterv1beta2.ManagedClusterSet{}, func(set *clusterv1beta2.ManagedClusterSet) field.ErrorList {
			return fleet.NewSet(set).Errors
		})
	case "ManagedClusterSetBinding":
		made = add(&b.Bindings, o, &clusterv1beta2.ManagedClusterSetBinding{}, nil)
	case "Placement":
		made = add(&b.Placements, o, &clusterv1beta1.Placement{}, l.compile)
	case "PlacementDecision":
		made = add(&b.slices, o, &clusterv1beta1.PlacementDecision{}, nil)
	case "AddOnPlacementScore":
		made = add(&b.Scores, o, &clusterv1alpha1.AddOnPlacementScore{}, nil)
	case "ManifestWorkReplicaSet":
		made = add(&b.WorkSets, o, &workv1alpha1.ManifestWorkReplicaSet{}, nil)
	case "ManifestWork":
		made = add(&b.Works, o, &workv1.ManifestWork{}, nil)
	default:
		made = field.ErrorList{field.InternalError(field.NewPath("kind"), fmt.Errorf("%s has no place in a bundle", kind))}
	}
	return slices.DeleteFunc(made, func(fault *field.Error) bool {
		return slices.ContainsFunc(before, func(known *field.Error) bool {
			return known.Field == fault.Field || isWholeObject(fault)
		})
	})
}

// add converts an object, appends it to a list, and returns the faults that check finds. An object that cannot be converted
// is not added.
func add[T any](list *[]*T, o object, typed *T, check func(*T) field.ErrorList) field.ErrorList {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return field.ErrorList{field.Invalid(nil, field.OmitValueType{}, err.Error())}
	}
	*list = append(*list, typed)
	if check == nil {
		return nil
	}
	return check(typed)
}

func (l *load) compile(placement *clusterv1beta1.Placement) field.ErrorList {
	made, faults := program.Compile(placement, l.env)
	if made != nil {
		l.bundle.Programs[made.Key] = made
	}
	return faults
}
