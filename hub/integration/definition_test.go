//go:build slow

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestAHubStartsWithoutADefinition restarts a hub whose definition of clusters is being deleted, and cannot go because of the finalizer of
// another client. Its API server runs. Once that finalizer is gone, the hub puts the definition back, and its manager serves.
func TestAHubStartsWithoutADefinition(t *testing.T) {
	const name, finalizer = "managedclusters.cluster.open-cluster-management.io", "test.berth.dev/hold"
	data := t.TempDir()
	hub := kit.Must(hubtest.Start(t.Context(), hubtest.Options{DataDir: data, Manager: true})).In(t)
	t.Cleanup(func() {
		if err := hub.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin := kit.New(t, hub)
	held := kit.AcceptedCluster("held")
	held.Finalizers = []string{finalizer}
	admin.MustCreate(held)
	admin.MustDeleteDefinition(name)
	kit.Await(t, "the cluster is being deleted", func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(held), held); err != nil || held.DeletionTimestamp == nil {
			return fmt.Errorf("%w: %w", kit.ErrNotYet, err)
		}
		return nil
	})
	kit.NoError(t, hub.Stop())

	hub = kit.Must(hubtest.Start(t.Context(), hubtest.Options{DataDir: data, Manager: true})).In(t)
	admin = kit.New(t, hub)
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	admin.MustRead(definition)
	if definition.DeletionTimestamp == nil {
		t.Fatal("the definition is not being deleted any more")
	}
	before := definition.UID
	kit.Await(t, "the manager has released the cluster", func(ctx context.Context) error {
		err := admin.Get(ctx, client.ObjectKeyFromObject(held), held)
		if err == nil && (len(held.Finalizers) != 1 || held.Finalizers[0] != finalizer) {
			err = fmt.Errorf("%w: the finalizers are %v", kit.ErrNotYet, held.Finalizers)
		}
		return err
	})
	admin.MustMerge(held, `{"metadata":{"finalizers":null}}`)
	kit.Await(t, "the hub has put the definition back and its webhooks serve", func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return err
		}
		again := kit.AcceptedCluster("again")
		if err := admin.Create(ctx, again, client.DryRunAll); err != nil {
			return err
		}
		if again.Labels[clusterv1beta2.ClusterSetLabel] == "" || definition.UID == before {
			return fmt.Errorf("%w: labels %v, definition %s", kit.ErrNotYet, again.Labels, definition.UID)
		}
		return nil
	})
	if log := hub.Output(); strings.Contains(log, "not ready after") {
		t.Error(log)
	}
}
