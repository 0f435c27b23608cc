package kit

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/install/definition"
)

// MustDeleteDefinition deletes a CustomResourceDefinition as an administrator who means it. It does not wait for the objects.
func (c *Client) MustDeleteDefinition(name string) {
	c.t.Helper()
	found := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.must(c.Patch(c.t.Context(), found, Merge(`{"metadata":{"annotations":{"berth-project.io/allow-delete":"yes"}}}`)))
	c.MustDelete(found)
}

// RestoreDefinitions creates definitions that Berth ships, and waits until the API server has established them.
func (c *Client) RestoreDefinitions(names ...string) {
	c.t.Helper()
	shipped := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, each := range Must(definition.Read(config.CRDs())).In(c.t) {
		shipped[each.Name] = each
	}
	for _, name := range names {
		c.MustCreate(shipped[name])
	}
	for _, name := range names {
		Await(c.t, "the definition "+name+" is established", func(ctx context.Context) error {
			found := &apiextensionsv1.CustomResourceDefinition{}
			if err := c.Get(ctx, client.ObjectKey{Name: name}, found); err != nil {
				return err
			}
			for _, condition := range found.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return nil
				}
			}
			return fmt.Errorf("%w: %+v", ErrNotYet, found.Status.Conditions)
		})
	}
}
