package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/kube/hold"
	managerstatus "github.com/berth-project/berth/internal/status"
)

// maxEvents is how many events of an object are read, the latest.
const maxEvents = 20

// GetView decodes a subresource of a placement's view, such as its history.
func (h *HubClient) GetView(ctx context.Context, into any, namespace, name, part string, parameters url.Values) error {
	return h.getView(ctx, into, parameters, "namespaces", namespace, "placements", name, part)
}

// GetSetView decodes the delivery of a set of works, with the clusters that the caller may see.
func (h *HubClient) GetSetView(ctx context.Context, into any, namespace, name string) error {
	return h.getView(ctx, into, nil, "namespaces", namespace, "manifestworkreplicasets", name, "delivery")
}

// ListGraces returns what is gone and still counts, as far as the caller may see it: of a namespace, or of all where it is empty.
func (h *HubClient) ListGraces(ctx context.Context, namespace string) ([]hold.Hold, error) {
	var parameters url.Values
	if namespace != "" {
		parameters = url.Values{"namespace": {namespace}}
	}
	var out hold.List
	err := h.getView(ctx, &out, parameters, gracesPath)
	return out.Holds, err
}

// EndGrace ends the grace of an object.
func (h *HubClient) EndGrace(ctx context.Context, kind, namespace, name, reason string) error {
	views, err := h.viewClient()
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"kind": kind, "namespace": namespace, "name": name, "reason": reason})
	if err != nil {
		return fmt.Errorf("encoding the release: %w", err)
	}
	return views.Post().AbsPath(viewPath, gracesPath).Body(body).Do(ctx).Error() //nolint:wrapcheck // the caller adds what it did
}

// gracesPath is where the manager serves graces.
const gracesPath = "graces"

func (h *HubClient) getView(ctx context.Context, into any, parameters url.Values, path ...string) error {
	views, err := h.viewClient()
	if err != nil {
		return err
	}
	request := views.Get().AbsPath(append([]string{viewPath}, path...)...)
	for parameter, values := range parameters {
		request = request.Param(parameter, values[0])
	}
	response := request.Do(ctx)
	if err := response.Error(); err != nil { // Raw leaves out the message of the server
		return err
	}
	data, err := response.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// ViewError adds to the error of a view what to do about it.
func (h *HubClient) ViewError(err error, doing string) error {
	status, answered := errors.AsType[*apierrors.StatusError](err)
	failed, unreachable := errors.AsType[*url.Error](err)
	instead := ""
	if h.filesFlag != "" {
		instead = ", or read files with " + h.filesFlag
	}
	switch {
	case unreachable:
		return fmt.Errorf("%s: the hub at %s cannot be reached: %w", doing, h.host, failed.Err)
	case !answered:
		return fmt.Errorf("%s: %w", doing, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: the right to get this placement is missing; ask for a role that gives it: %w", doing, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the hub at %s does not accept your credentials; log in again, or use another --context: %w", doing, h.host, err)
	case apierrors.IsNotFound(err) && (status.ErrStatus.Details == nil || status.ErrStatus.Details.Name == ""):
		return fmt.Errorf("%s: no manager serves explanations on this hub: start the manager with its views%s", doing, instead)
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("%s: the manager cannot answer now; try again in a moment%s: %w", doing, instead, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

// History returns the history of a placement, or why it is unknown.
func (h *HubClient) History(ctx context.Context, namespace, name string) (*explain.History, error) {
	out := &explain.History{}
	if err := h.GetView(ctx, out, namespace, name, "history", nil); err != nil {
		return nil, h.ViewError(err, "reading the history")
	}
	return out, nil
}

// Events returns the last events about an object, the latest last, or why they are unknown.
func (h *HubClient) Events(ctx context.Context, k Kind, namespace, name string) ([]corev1.Event, error) {
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where events about objects without a namespace are
	}
	var list corev1.EventList
	err := h.client.List(ctx, &list, &client.ListOptions{
		Namespace: namespace, Limit: pageSize,
		FieldSelector: fields.SelectorFromSet(fields.Set{"involvedObject.kind": k.Kind, "involvedObject.name": name}),
	})
	if apierrors.IsForbidden(err) {
		return nil, errors.New("the right to list events in the namespace " + namespace + " is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return EventTime(a).Compare(EventTime(b).Time) })
	return list.Items[max(0, len(list.Items)-maxEvents):], nil
}

// EventTime returns when an event happened last.
func EventTime(event corev1.Event) metav1.Time {
	out := event.LastTimestamp
	for _, at := range []metav1.Time{{Time: event.EventTime.Time}, event.CreationTimestamp} {
		if out.IsZero() {
			out = at
		}
	}
	if event.Series != nil && out.Time.Before(event.Series.LastObservedTime.Time) {
		out = metav1.NewTime(event.Series.LastObservedTime.Time)
	}
	return out
}

// ManagerStatus returns how the manager of the hub is.
func (h *HubClient) ManagerStatus(ctx context.Context) (*managerstatus.Report, error) {
	out := &managerstatus.Report{}
	return out, h.getView(ctx, out, nil, "managers", "leader")
}
