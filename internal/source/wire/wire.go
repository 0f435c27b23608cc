// Package wire owns how watches of this group are read from the API server: each event once, into the type that is watched.
// The client for all types goes through an event eight times, mostly to find out what it is, and that was most of what a
// manager did while clusters reported. It refuses to know what objects mean. One invariant: an event that is not of what is
// watched, in whatever way, ends the watch with an error, so that whoever watches begins anew.
package wire

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Wire watches kinds of some versions.
type Wire struct {
	scheme  *runtime.Scheme
	clients map[schema.GroupVersion]rest.Interface
}

// New returns a Wire for versions whose kinds the scheme knows, and which are served as JSON.
func New(config *rest.Config, scheme *runtime.Scheme, versions ...schema.GroupVersion) (*Wire, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the hub: %w", err)
	}
	out := &Wire{scheme: scheme, clients: map[schema.GroupVersion]rest.Interface{}}
	codecs := serializer.NewCodecFactory(scheme)
	for _, version := range versions {
		out.clients[version], err = apiutil.RESTClientForGVK(version.WithKind(""), true, false, config, codecs, httpClient)
		if err != nil {
			return nil, fmt.Errorf("reaching %s: %w", version, err)
		}
	}
	return out, nil
}

// Lists returns lists with watches of its own, where the kind is of a version that the Wire knows. They must be of all
// objects of the kind.
func (w *Wire) Lists(lists toolscache.ListerWatcher, kind runtime.Object) toolscache.ListerWatcher {
	of, err := apiutil.GVKForObject(kind, w.scheme)
	client, known := w.clients[of.GroupVersion()]
	if err != nil || !known {
		return lists
	}
	resource, _ := meta.UnsafeGuessKindToResource(of)
	return &toolscache.ListWatch{
		ListWithContextFunc: toolscache.ToListerWithContext(lists).ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			body, err := client.Get().Resource(resource.Resource).VersionedParams(&options, metav1.ParameterCodec).Stream(ctx)
			if err != nil {
				return nil, err //nolint:wrapcheck // whoever watches asks what it is
			}
			reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
			return watch.NewStreamWatcher(newDecoder(body, of, kind), reporter), nil
		},
	}
}
