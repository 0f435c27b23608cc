package remote

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"
)

// updateManager is the field manager with which agents of Open Cluster Management update objects, and with which Release does.
const updateManager = "work-agent"

// migrate gives the fields that an agent of Open Cluster Management wrote by updates to the manager that applies from now on. Without that,
// a field that leaves the manifest would stay, because the former manager still owns it. It writes nothing where there are no such fields.
func migrate(ctx context.Context, to dynamic.ResourceInterface, live *unstructured.Unstructured, manager string) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(updateManager), manager)
	if err != nil {
		return fmt.Errorf("reading the managed fields: %w", err)
	}
	if patch == nil {
		return nil
	}
	_, err = to.Patch(ctx, live.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: updateManager})
	return err //nolint:wrapcheck // the API server names the object
}
