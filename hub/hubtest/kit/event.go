package kit

import (
	"context"
	"fmt"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Events returns the events of a namespace with a reason that are about an object of a name. An empty name is any object.
func (c *Client) Events(ctx context.Context, namespace, about, reason string) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	err := c.List(ctx, list, client.InNamespace(namespace))
	var out []eventsv1.Event
	for _, event := range list.Items {
		if event.Reason == reason && (about == "" || event.Regarding.Name == about) {
			out = append(out, event)
		}
	}
	return out, err
}

// AwaitEvent waits for an event of a namespace with a reason and a part of its note that is about an object of a name. An empty namespace is
// all namespaces.
func (c *Client) AwaitEvent(namespace, about, reason, part string) {
	c.t.Helper()
	c.Await(fmt.Sprintf("an event %s about %s has %q", reason, about, part), func(ctx context.Context) error {
		found, err := c.Events(ctx, namespace, about, reason)
		for _, event := range found {
			if strings.Contains(event.Note, part) {
				return nil
			}
		}
		if err == nil {
			err = fmt.Errorf("the events are %+v", found)
		}
		return err
	})
}
