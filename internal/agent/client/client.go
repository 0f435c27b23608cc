// Package client sends the requests of the agent to the API server of the hub or of the member.
//
// It owns the scheme: the kinds that the agent reads and writes, and no others, because the scheme of all Kubernetes kinds
// costs the agent several MiB. Every request but a watch has a timeout. All requests to one server share one HTTP/2
// connection.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	aboutv1alpha1 "github.com/berth-project/berth/api/about/v1alpha1"
	aboutv1beta1 "github.com/berth-project/berth/api/about/v1beta1"
	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/kube/version"
)

const (
	// RequestTimeout bounds every request but watches and the lists that they begin with.
	RequestTimeout = 10 * time.Second
	// listTimeout bounds a list that a watch begins with. It is the limit of the API server: the list of a large cluster over a slow
	// connection must succeed in the end.
	listTimeout = time.Minute

	qps, burst = 5, 20
)

// Object is a resource, or one object of it where Name is set. Namespace is empty for a resource of cluster scope.
type Object struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
	// Subresource is set where the object is a subresource that is created, such as a token.
	Subresource string
}

// Path returns the path of the object below that of the server.
func (o Object) Path() string { return o.path("") }

func (o Object) path(subresource string) string {
	subresource = cmp.Or(subresource, o.Subresource)
	root := path.Join("/apis", o.Resource.Group)
	if o.Resource.Group == "" {
		root = "/api"
	}
	namespace := ""
	if o.Namespace != "" {
		namespace = path.Join("namespaces", o.Namespace)
	}
	return path.Join(root, o.Resource.Version, namespace, o.Resource.Resource, o.Name, subresource)
}

// Client sends requests to one API server. It is safe for concurrent use.
type Client struct {
	rest       *rest.RESTClient
	http       *http.Client
	parameters runtime.ParameterCodec
}

// New returns a client. It sends no request. A configuration without a rate gets 5 requests a second.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	scheme := newScheme()
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if config.QPS == 0 {
		config.QPS, config.Burst = qps, burst
	}
	if config.UserAgent == "" {
		config.UserAgent = "berth-agent/" + version.Version()
	}
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing requests to %s: %w", config.Host, err)
	}
	out, err := rest.UnversionedRESTClientForConfigAndClient(config, connection)
	if err != nil {
		return nil, fmt.Errorf("preparing requests to %s: %w", config.Host, err)
	}
	return &Client{rest: out, http: connection, parameters: runtime.NewParameterCodec(scheme)}, nil
}

// newScheme returns the kinds that the agent uses.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for version, kinds := range map[schema.GroupVersion][]runtime.Object{
		corev1.SchemeGroupVersion: {
			&corev1.Node{}, &corev1.NodeList{}, &corev1.Namespace{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Event{},
		},
		authenticationv1.SchemeGroupVersion: {&authenticationv1.SelfSubjectReview{}, &authenticationv1.TokenRequest{}},
		addonv1alpha1.SchemeGroupVersion:    {&addonv1alpha1.ManagedClusterAddOn{}, &addonv1alpha1.ManagedClusterAddOnList{}},
		coordinationv1.SchemeGroupVersion:   {&coordinationv1.Lease{}},
		certificatesv1.SchemeGroupVersion:   {&certificatesv1.CertificateSigningRequest{}, &certificatesv1.CertificateSigningRequestList{}},
		clusterv1.SchemeGroupVersion:        {&clusterv1.ManagedCluster{}, &clusterv1.ManagedClusterList{}},
		clusterv1alpha1.SchemeGroupVersion: {
			&clusterv1alpha1.ClusterClaim{}, &clusterv1alpha1.ClusterClaimList{},
			&clusterv1alpha1.AddOnPlacementScore{},
		},
		aboutv1alpha1.SchemeGroupVersion: {&aboutv1alpha1.ClusterProperty{}, &aboutv1alpha1.ClusterPropertyList{}},
		workv1.SchemeGroupVersion: {
			&workv1.ManifestWork{}, &workv1.ManifestWorkList{}, &workv1.AppliedManifestWork{},
			&workv1.AppliedManifestWorkList{},
		},
		aboutv1beta1.SchemeGroupVersion: {&aboutv1beta1.ClusterProperty{}, &aboutv1beta1.ClusterPropertyList{}},
	} {
		scheme.AddKnownTypes(version, kinds...)
		metav1.AddToGroupVersion(scheme, version)
	}
	return scheme
}

// Server returns the URL of the API server.
func (c *Client) Server() string { return c.rest.Get().URL().String() }

// Close closes the idle connections. Requests that run are not canceled.
func (c *Client) Close() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// Get reads one object.
func (c *Client) Get(ctx context.Context, object Object, into runtime.Object) error {
	return c.do(ctx, "reading", object, c.rest.Get().AbsPath(object.path("")), into)
}

// Create stores a new object and reads what was stored.
func (c *Client) Create(ctx context.Context, object Object, body, into runtime.Object) error {
	return c.do(ctx, "creating", object, c.rest.Post().AbsPath(object.path("")).Body(body), into)
}

// Update replaces an object and reads what was stored.
func (c *Client) Update(ctx context.Context, object Object, body, into runtime.Object) error {
	return c.do(ctx, "updating", object, c.rest.Put().AbsPath(object.path("")).Body(body), into)
}

// PatchStatus applies a JSON merge patch to the status of an object and reads what was stored.
func (c *Client) PatchStatus(ctx context.Context, object Object, patch []byte, into runtime.Object) error {
	return c.do(ctx, "patching the status of", object, c.rest.Patch(types.MergePatchType).AbsPath(object.path("status")).Body(patch), into)
}

// Patch applies a JSON merge patch to an object and reads what was stored.
func (c *Client) Patch(ctx context.Context, object Object, patch []byte, into runtime.Object) error {
	return c.do(ctx, "patching", object, c.rest.Patch(types.MergePatchType).AbsPath(object.path("")).Body(patch), into)
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, object Object, options *metav1.DeleteOptions) error {
	return c.do(ctx, "deleting", object, c.rest.Delete().AbsPath(object.path("")).Body(options), &metav1.Status{})
}

// List reads the objects of a resource.
func (c *Client) List(ctx context.Context, object Object, options metav1.ListOptions, into runtime.Object) error {
	return c.list(ctx, RequestTimeout, object, options, into)
}

// GetRaw reads a path: the status code and the body. The code is 0 where the server did not respond.
func (c *Client) GetRaw(ctx context.Context, at string) (body []byte, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	body, err = c.rest.Get().AbsPath(at).MaxRetries(0).Do(ctx).StatusCode(&code).Raw()
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && code == 0 { // client-go drops the code of a plain text response
		code = int(status.ErrStatus.Code)
	}
	if err != nil {
		return body, code, fmt.Errorf("reading %s: %w", at, err)
	}
	return body, code, nil
}

// GetJSON reads one object as it is stored, with the fields that the agent has no type for.
func (c *Client) GetJSON(ctx context.Context, object Object) ([]byte, error) {
	body, _, err := c.GetRaw(ctx, object.path(""))
	return body, err
}

// UpdateJSON replaces an object with one in JSON. The body carries the resource version that it was read with.
func (c *Client) UpdateJSON(ctx context.Context, object Object, body []byte, into runtime.Object) error {
	request := c.rest.Put().AbsPath(object.path("")).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)
	return c.do(ctx, "updating", object, request, into)
}

func (c *Client) do(ctx context.Context, verb string, object Object, request *rest.Request, into runtime.Object) error {
	return send(ctx, RequestTimeout, verb, object, request, into)
}

func send(ctx context.Context, timeout time.Duration, verb string, object Object, request *rest.Request, into runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := request.Do(ctx).Into(into); err != nil {
		return fmt.Errorf("%s %s: %w", verb, object.path(""), err)
	}
	return nil
}

// Source lists and watches a resource. A reflector reads its first content as one list, and not as a stream of events, which takes
// twice the time and CPU on both sides: each object is encoded and decoded in an event of its own.
type Source struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported implements the interface that a reflector looks for.
func (Source) IsWatchListSemanticsUnSupported() bool { return true }

// ListWatch lists and watches a resource, for a reflector. Fields selects objects; empty means all. newList returns the list
// to fill.
func (c *Client) ListWatch(object Object, fields string, newList func() runtime.Object) Source {
	return Source{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = fields
			list := newList()
			return list, c.list(ctx, listTimeout, object, options, list)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector, options.Watch = fields, true
			found, err := c.read(object, options).Watch(ctx)
			if err != nil {
				return nil, fmt.Errorf("watching %s: %w", object.path(""), err)
			}
			return found, nil
		},
	}}
}

// list reads a list without the decoder of client-go, which reads all bytes twice: the kind is known.
func (c *Client) list(ctx context.Context, timeout time.Duration, object Object, options metav1.ListOptions, into runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result := c.read(object, options).Do(ctx)
	err := result.Error()
	if err == nil {
		var body []byte
		if body, err = result.Raw(); err == nil {
			err = utiljson.Unmarshal(body, into)
		}
	}
	if err != nil {
		return fmt.Errorf("listing %s: %w", object.path(""), err)
	}
	return nil
}

// Stream lists a resource, and returns the body as it arrives, in JSON. The caller closes it, and bounds it by the context.
func (c *Client) Stream(ctx context.Context, object Object, options metav1.ListOptions) (io.ReadCloser, error) {
	body, err := c.read(object, options).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", object.path(""), err)
	}
	return body, nil
}

func (c *Client) read(object Object, options metav1.ListOptions) *rest.Request {
	return c.rest.Get().AbsPath(object.path("")).SpecificallyVersionedParams(&options, c.parameters, corev1.SchemeGroupVersion)
}
