package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest"
)

// Timeout limits a wait. It is far longer than any wait on an idle machine, so that no test depends on speed.
const Timeout = 150 * time.Second

// ErrNotYet is the error of a check that has nothing to add to the description of its wait.
var ErrNotYet = errors.New("not yet")

// Await polls until a check returns nil. After Timeout it fails the test with a description of the wait, such as "the work is applied", and
// the last error of the check.
func Await(t testing.TB, what string, check func(ctx context.Context) error) {
	t.Helper()
	AwaitWithin(t, Timeout, what, check)
}

// AwaitWithin is Await with a limit of the test.
func AwaitWithin(t testing.TB, limit time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	hubtest.Eventually(t, limit, func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
		return nil
	})
}

// Await polls until a check returns nil; see the function Await.
func (c *Client) Await(what string, check func(ctx context.Context) error) {
	c.t.Helper()
	Await(c.t, what, check)
}

// AwaitObject reads an object until a check of it returns nil.
func (c *Client) AwaitObject(object client.Object, what string, check func() error) {
	c.t.Helper()
	key := client.ObjectKeyFromObject(object)
	c.Await(what, func(ctx context.Context) error {
		if err := c.read(ctx, key, object); err != nil {
			return err
		}
		return check()
	})
}

// AwaitGone waits until objects do not exist.
func (c *Client) AwaitGone(objects ...client.Object) {
	c.t.Helper()
	for _, object := range objects {
		c.Await(describe(object)+" does not exist", func(ctx context.Context) error { return c.Gone(ctx, object) })
	}
}

// Gone returns an error while an object exists, or cannot be read.
func (c *Client) Gone(ctx context.Context, object client.Object) error {
	err := c.read(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s exists, with the finalizers %v and the deletion time %v", describe(object), object.GetFinalizers(),
			object.GetDeletionTimestamp())
	}
	return err
}

// AwaitCreated creates objects, or finds that they exist, and repeats that until it succeeds: a webhook may not respond yet.
func (c *Client) AwaitCreated(objects ...client.Object) {
	c.t.Helper()
	for _, object := range objects {
		c.Await(describe(object)+" is stored", func(ctx context.Context) error { return client.IgnoreAlreadyExists(c.Create(ctx, object)) })
	}
}

// AwaitChanged reads an object, changes it and updates it, and repeats that after every error.
func (c *Client) AwaitChanged(object client.Object, change func()) {
	c.t.Helper()
	c.awaitChanged(object, change, func(ctx context.Context) error { return c.Update(ctx, object) })
}

// AwaitStatusChanged is AwaitChanged for the status.
func (c *Client) AwaitStatusChanged(object client.Object, change func()) {
	c.t.Helper()
	c.awaitChanged(object, change, func(ctx context.Context) error { return c.Status().Update(ctx, object) })
}

func (c *Client) awaitChanged(object client.Object, change func(), store func(context.Context) error) {
	c.t.Helper()
	key := client.ObjectKeyFromObject(object)
	c.Await(describe(object)+" is changed", func(ctx context.Context) error {
		if err := c.read(ctx, key, object); err != nil {
			return err
		}
		change()
		return store(ctx)
	})
}

// AwaitPatched is AwaitChanged by a merge patch, which conflicts with no other writer.
func (c *Client) AwaitPatched(object client.Object, change func()) {
	c.t.Helper()
	var before client.Object
	c.awaitChanged(object, func() { before = copyOf(object); change() }, func(ctx context.Context) error {
		return c.Patch(ctx, object, client.MergeFrom(before))
	})
}

// AwaitStatusPatched is AwaitPatched for the status.
func (c *Client) AwaitStatusPatched(object client.Object, change func()) {
	c.t.Helper()
	var before client.Object
	c.awaitChanged(object, func() { before = copyOf(object); change() }, func(ctx context.Context) error {
		return c.Status().Patch(ctx, object, client.MergeFrom(before))
	})
}

func copyOf(object client.Object) client.Object {
	out, _ := object.DeepCopyObject().(client.Object)
	return out
}

// describe returns the type and the key of an object, for messages.
func describe(object client.Object) string {
	return fmt.Sprintf("%T %s", object, client.ObjectKeyFromObject(object))
}

// AwaitWebhooks waits until the webhooks of a manager deny an invalid cluster.
func (c *Client) AwaitWebhooks() {
	c.t.Helper()
	c.Await("the webhooks deny an invalid cluster", func(ctx context.Context) error {
		err := c.Create(ctx, Cluster("no.name.of.a.namespace"), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "must be the name of a namespace too") {
			return fmt.Errorf("they respond: %w", cmp.Or(err, ErrNotYet))
		}
		return nil
	})
}
