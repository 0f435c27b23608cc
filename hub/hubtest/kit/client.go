package kit

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest"
)

// Client is a client of one user of a hub, for one test. It must not be used after the test.
type Client struct {
	client.WithWatch
	t testing.TB
}

// New returns the client of the administrator of a hub.
func New(t testing.TB, hub *hubtest.Hub) *Client {
	t.Helper()
	return For(t, hub.Config())
}

// As returns the client of a user of a hub, who has no permission but what roles give.
func As(t testing.TB, hub *hubtest.Hub, user string, groups ...string) *Client {
	t.Helper()
	return For(t, hub.ConfigFor(t, user, groups...))
}

// For returns a client with a configuration of the test.
func For(t testing.TB, config *rest.Config) *Client {
	t.Helper()
	return &Client{WithWatch: hubtest.NewClient(t, config), t: t}
}

// For returns the client for a part of a test, such as a subtest.
func (c *Client) For(t testing.TB) *Client { return &Client{WithWatch: c.WithWatch, t: t} }

// must fails the test for an error.
func (c *Client) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// write sends a write, and fails the test for an error. On a busy machine a manager may lose its lease and start again: what its webhooks
// cannot check meanwhile is denied, and is sent again, as a user would.
func (c *Client) write(send func() error) {
	c.t.Helper()
	const first, steps = 100 * time.Millisecond, 9 // waits of 25 s in all
	c.must(retry.OnError(wait.Backoff{Duration: first, Factor: 2, Steps: steps}, isUnchecked, send))
}

// isUnchecked reports whether a webhook did not answer, or could not check a request.
func isUnchecked(err error) bool {
	return apierrors.IsInternalError(err) && (strings.Contains(err.Error(), "could not be checked, so it is denied; try again") ||
		strings.Contains(err.Error(), "failed calling webhook"))
}

// MustCreate creates objects, in their order. It does not store a status.
func (c *Client) MustCreate(objects ...client.Object) {
	c.t.Helper()
	for _, object := range objects {
		c.write(func() error { return c.Create(c.t.Context(), object) })
	}
}

// MustCreateMissing creates the objects that do not exist.
func (c *Client) MustCreateMissing(objects ...client.Object) {
	c.t.Helper()
	for _, object := range objects {
		c.write(func() error { return client.IgnoreAlreadyExists(c.Create(c.t.Context(), object)) })
	}
}

// MustCreateWithStatus creates objects, and then stores their statuses.
func (c *Client) MustCreateWithStatus(objects ...client.Object) {
	c.t.Helper()
	for _, object := range objects {
		c.must(c.CreateWithStatus(c.t.Context(), object))
	}
}

// CreateWithStatus creates an object, and then stores its status.
func (c *Client) CreateWithStatus(ctx context.Context, object client.Object) error {
	wanted, _ := object.DeepCopyObject().(client.Object)
	if err := c.Create(ctx, object); err != nil {
		return err //nolint:wrapcheck // the API server names the object
	}
	wanted.SetResourceVersion(object.GetResourceVersion())
	wanted.SetName(object.GetName())
	if err := c.Status().Update(ctx, wanted); err != nil {
		return err //nolint:wrapcheck // as above
	}
	assign(object, wanted)
	return nil
}

// MustCreateTemporary creates objects and deletes them at the end of the test, unless they are gone.
func (c *Client) MustCreateTemporary(objects ...client.Object) {
	c.t.Helper()
	c.MustCreate(objects...)
	c.DeleteLater(objects...)
}

// DeleteLater deletes objects at the end of the test, unless they are gone. It does not wait for that.
func (c *Client) DeleteLater(objects ...client.Object) {
	c.t.Helper()
	for _, object := range objects {
		c.t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(c.t.Context()), object); client.IgnoreNotFound(err) != nil {
				c.t.Errorf("deleting %s at the end of the test: %v", describe(object), err)
			}
		})
	}
}

// MustGet reads the object of a key.
func (c *Client) MustGet(key client.ObjectKey, object client.Object) {
	c.t.Helper()
	c.must(c.read(c.t.Context(), key, object))
}

// MustRead reads an object by the namespace and the name that it has.
func (c *Client) MustRead(object client.Object) {
	c.t.Helper()
	c.MustGet(client.ObjectKeyFromObject(object), object)
}

// MustList reads a list.
func (c *Client) MustList(list client.ObjectList, options ...client.ListOption) {
	c.t.Helper()
	c.must(c.List(c.t.Context(), list, options...))
}

// MustUpdate updates an object but its status.
func (c *Client) MustUpdate(object client.Object) {
	c.t.Helper()
	c.write(func() error { return c.Update(c.t.Context(), object) })
}

// MustUpdateStatus updates the status of an object.
func (c *Client) MustUpdateStatus(object client.Object) {
	c.t.Helper()
	c.write(func() error { return c.Status().Update(c.t.Context(), object) })
}

// MustPatch patches an object.
func (c *Client) MustPatch(object client.Object, patch client.Patch) {
	c.t.Helper()
	c.write(func() error { return c.Patch(c.t.Context(), object, patch) })
}

// MustPatchStatus patches the status of an object.
func (c *Client) MustPatchStatus(object client.Object, patch client.Patch) {
	c.t.Helper()
	c.write(func() error { return c.Status().Patch(c.t.Context(), object, patch) })
}

// MustMerge applies a merge patch in JSON.
func (c *Client) MustMerge(object client.Object, patch string) {
	c.t.Helper()
	c.MustPatch(object, Merge(patch))
}

// MustDelete deletes objects that exist. It does not wait for their finalizers.
func (c *Client) MustDelete(objects ...client.Object) {
	c.t.Helper()
	for _, object := range objects {
		c.write(func() error { return c.Delete(c.t.Context(), object) })
	}
}

// MustDeleteExisting deletes the objects that exist.
func (c *Client) MustDeleteExisting(objects ...client.Object) {
	c.t.Helper()
	for _, object := range objects {
		c.write(func() error { return client.IgnoreNotFound(c.Delete(c.t.Context(), object)) })
	}
}

// Merge returns a merge patch in JSON.
func Merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// read reads an object. It replaces the object as a whole, since decoding keeps the fields that a response lacks. After an error the object
// is as it was.
func (c *Client) read(ctx context.Context, key client.ObjectKey, object client.Object) error {
	fresh, _ := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(object).Elem()))
	fresh.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind()) // of an untyped object
	if err := c.Get(ctx, key, fresh); err != nil {
		return err
	}
	assign(object, fresh)
	return nil
}

// assign replaces an object by another of its type.
func assign(object, by client.Object) { reflect.ValueOf(object).Elem().Set(reflect.ValueOf(by).Elem()) }
