package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// viewPath is where the manager answers callers that may not read the hub itself.
const viewPath = "/apis/view.cluster.open-cluster-management.io/v1"

// errNoView reports that a kind has no view.
var errNoView = errors.New("there is no view of this kind")

// viewClient returns a client for the views.
func (h *HubClient) viewClient() (*rest.RESTClient, error) {
	config := rest.CopyConfig(h.config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(h.client.Scheme()).WithoutConversion()
	out, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	return out, nil
}

// hasView reports whether there is a view of a kind: of clusters and sets, which are of the whole hub.
func (k Kind) hasView() bool { return k.Kind == ClusterKind().Kind || k.Kind == SetKind().Kind }

// viewPage reads a page of what the caller may see of a kind.
func (h *HubClient) viewPage(ctx context.Context, k Kind, into client.ObjectList, options *client.ListOptions) error {
	if !k.hasView() {
		return errNoView
	}
	views, err := h.viewClient()
	if err != nil {
		return err
	}
	request := views.Get().AbsPath(viewPath, k.resource).Param("limit", strconv.FormatInt(options.Limit, 10))
	for parameter, value := range map[string]string{"continue": options.Continue, "fieldSelector": fieldSelector(options)} {
		if value != "" {
			request = request.Param(parameter, value)
		}
	}
	if options.LabelSelector != nil {
		request = request.Param("labelSelector", options.LabelSelector.String())
	}
	data, err := request.Do(ctx).Raw()
	if err != nil {
		return err //nolint:wrapcheck // the caller adds what was read
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("reading the view of %s: %w", k.Plural(), err)
	}
	return nil
}

func fieldSelector(options *client.ListOptions) string {
	if options.Raw == nil {
		return ""
	}
	return options.Raw.FieldSelector
}

// listPage reads a page of a kind: from the view of it where the caller may not list the hub. What is refused without a view stays
// refused.
func (h *HubClient) listPage(ctx context.Context, k Kind, into client.ObjectList, options *client.ListOptions) error {
	if slices.Contains(h.restrictions.views, k.Plural()) {
		return h.viewPage(ctx, k, into, options)
	}
	err := h.client.List(ctx, into, options)
	if !h.UseViews || !apierrors.IsForbidden(err) {
		return err //nolint:wrapcheck // the caller adds what was read
	}
	if h.viewPage(ctx, k, into, options) != nil {
		return err //nolint:wrapcheck // the refusal names the missing right
	}
	h.restrictions.views = append(h.restrictions.views, k.Plural())
	return nil
}

// restrictions are what a bundle lacks of a hub, since the caller may not list it.
type restrictions struct {
	// views are the kinds that were read from the views.
	views []string
	// namespace is that of the kinds in namespaced, which the caller may not list elsewhere; missing are those that it may not list
	// at all.
	namespace           string
	namespaced, missing []string
}

// note describes in one line what is missing; "" when nothing is.
func (r restrictions) note() string {
	var out []string
	if len(r.views) > 0 {
		out = append(out, joinWithAnd(r.views)+" are those that you may see")
	}
	if len(r.namespaced) > 0 {
		out = append(out, joinWithAnd(r.namespaced)+" are those of namespace "+r.namespace)
	}
	if len(r.missing) > 0 {
		out = append(out, joinWithAnd(r.missing)+" are left out")
	}
	if len(out) == 0 {
		return ""
	}
	return "note: you may not list the whole hub: " + strings.Join(out, "; ")
}

// joinWithAnd returns "a, b and c".
func joinWithAnd(in []string) string {
	if len(in) < 2 {
		return strings.Join(in, "")
	}
	return strings.Join(in[:len(in)-1], ", ") + " and " + in[len(in)-1]
}

// listReadable reads a kind for a bundle. A bundle about clusters, which have no namespace, falls back to the namespace of the
// command line where the caller may not list the kind in every namespace. A kind that the caller may not list there either is
// left out. Scores are in the namespaces of clusters, where a tenant has no rights.
func (h *HubClient) listReadable(ctx context.Context, k Kind, of Scope) ([]client.Object, error) {
	read, err := h.listAll(ctx, k, of.filter(k))
	if !apierrors.IsForbidden(err) || !k.Namespaced || of.Namespace != "" || !of.includes(ClusterKind()) {
		return read, err
	}
	if k.Kind == ScoreKind().Kind {
		h.restrictions.missing = append(h.restrictions.missing, k.Plural())
		return nil, nil
	}
	read, err = h.listAll(ctx, k, ListFilter{Namespace: h.Namespace})
	switch {
	case err == nil:
		h.restrictions.namespace, h.restrictions.namespaced = h.Namespace, append(h.restrictions.namespaced, k.Plural())
		return read, nil
	case apierrors.IsForbidden(err) && of.Uncompiled:
		h.restrictions.missing = append(h.restrictions.missing, k.Plural())
		return nil, nil
	default:
		return nil, err
	}
}

// listAll reads every object of a part of a kind.
func (h *HubClient) listAll(ctx context.Context, k Kind, of ListFilter) ([]client.Object, error) {
	var out []client.Object
	_, err := h.EachObject(ctx, k, of, func() { out = nil }, func(object client.Object) { out = append(out, object) })
	return out, err
}
