package holds

import (
	"context"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// lacking is a hub without the definition of cluster sets, or without any.
type lacking struct {
	client.Reader

	all bool
}

func (l lacking) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if _, sets := list.(*clusterv1beta2.ManagedClusterSetList); sets || l.all {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "kinds"}, "")
	}
	return nil
}

// TestAMissingDefinitionHidesItsHoldsAlone: the others are listed, with a warning. A hub without any definition is an error.
func TestAMissingDefinitionHidesItsHoldsAlone(t *testing.T) {
	_, hidden, err := find(t.Context(), lacking{}, "")
	if want := []string{"the hub has no definition of managedclustersets"}; err != nil || !slices.Equal(hidden, want) {
		t.Errorf("%q, %v, want %q", hidden, err, want)
	}
	if _, _, err := find(t.Context(), lacking{all: true}, ""); !apierrors.IsNotFound(err) {
		t.Errorf("err = %v, want that nothing is there", err)
	}
}
