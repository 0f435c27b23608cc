package views

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	viewv1 "github.com/berth-project/berth/api/view/v1"
	"github.com/berth-project/berth/internal/admission/certificate"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/status"
	"github.com/berth-project/berth/internal/views/leader"
	"github.com/berth-project/berth/internal/views/limit"
	"github.com/berth-project/berth/internal/views/placementapi"
	"github.com/berth-project/berth/internal/views/storage"
	"github.com/berth-project/berth/internal/views/viewcache"
)

// Name is the name of the server in logs and options.
const Name = "views"

const (
	// requestTimeout bounds every request but a watch, and the wait for open requests at shutdown.
	requestTimeout = 30 * time.Second
	// watchTerminationGrace is how long watches may last after shutdown began.
	watchTerminationGrace = time.Second
)

// Options configures the server.
type Options struct {
	// Listener accepts the connections. The server closes it.
	Listener net.Listener
	// Certificate is the serving certificate. The server starts once it is ready.
	Certificate certificate.Source
	Clock       clock.WithTicker
	// Record holds the recent decisions of the manager.
	Record *history.Record
	// Deliveries reads what is delivered; nil where the manager delivers no workloads.
	Deliveries placementapi.Deliveries
	// Status returns how the manager is.
	Status func() status.Report
	// Namespace contains the Lease of the leader election. Address is host:port under which other replicas reach the
	// listener. It is empty where they do not reach it.
	Namespace, Address string
}

// newServer returns a server that has not started.
func newServer(ctx context.Context, hub *clientrest.Config, options Options, views *viewcache.Cache,
	leader *leader.Leader,
) (*server.GenericAPIServer, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme)
	config := server.NewConfig(codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.FeatureGate = utilfeature.DefaultFeatureGate
	config.LoopbackClientConfig = &clientrest.Config{} // the server never calls itself
	config.EnableIndex, config.EnableProfiling, config.EnableMetrics = false, false, false
	config.RequestTimeout, config.ShutdownWatchTerminationGracePeriod = requestTimeout, watchTerminationGrace
	config.ExternalAddress = options.Listener.Addr().String()
	config.SecureServing = &server.SecureServingInfo{Listener: options.Listener, MinTLSVersion: tls.VersionTLS13, Cert: options.Certificate}
	if err := delegateAuth(ctx, hub, config); err != nil {
		return nil, err
	}
	definitions, err := readDefinitions()
	if err != nil {
		return nil, err
	}
	if err := definitions.configureOpenAPI(config, scheme); err != nil {
		return nil, err
	}
	addPlacementHandlers(config, placementapi.New(placementapi.Options{
		Record: options.Record, Deliveries: options.Deliveries, Views: views, Authorizer: config.Authorization.Authorizer, Serializer: codecs,
		Leader: leader,
		Status: options.Status,
	}))
	out, err := config.Complete(nil).New(Name, server.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("creating the server of the views: %w", err)
	}
	group, err := newGroup(scheme, codecs, definitions, views, options.Clock)
	if err != nil {
		return nil, err
	}
	if err := out.InstallAPIGroup(group); err != nil {
		return nil, fmt.Errorf("installing the views: %w", err)
	}
	return out, nil
}

// addPlacementHandlers adds the explanation, the history and the debug path of placements. Explanation and history pass the same
// handlers as the views. The debug path skips the authorization by path, since the permission to read the placement suffices.
func addPlacementHandlers(config *server.Config, answers *placementapi.Handler) {
	config.BuildHandlerChainFunc = func(views http.Handler, c *server.Config) http.Handler {
		debug := genericapifilters.WithAuthentication(
			answers.DebugHandler(), c.Authentication.Authenticator, placementapi.UnauthorizedHandler(), c.Authentication.APIAudiences,
			c.Authentication.RequestHeaderConfig)
		debug = filters.WithMaxInFlightLimit(debug, c.MaxRequestsInFlight, c.MaxMutatingRequestsInFlight, c.LongRunningFunc)
		debug = filters.WithPanicRecovery(genericapifilters.WithRequestInfo(debug, c.RequestInfoResolver), c.RequestInfoResolver)
		guarded := server.DefaultBuildHandlerChain(answers.Wrap(views), c)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, placementapi.DebugPath) {
				debug.ServeHTTP(w, r)
				return
			}
			guarded.ServeHTTP(w, r)
		})
	}
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := viewv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	if err := scheme.SetVersionPriority(viewv1.SchemeGroupVersion); err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme, nil
}

func newGroup(scheme *runtime.Scheme, codecs serializer.CodecFactory, definitions definitions, views *viewcache.Cache,
	clock clock.WithTicker,
) (*server.APIGroupInfo, error) {
	clusters, err := definitions.tableConvertor("managedclusters")
	if err != nil {
		return nil, err
	}
	sets, err := definitions.tableConvertor("managedclustersets")
	if err != nil {
		return nil, err
	}
	options := storage.Options{Cache: views, Clock: clock, Watches: limit.NewCounter(storage.MaxWatchesPerUser, storage.MaxWatches)}
	group := server.NewDefaultAPIGroupInfo(viewv1.GroupName, scheme, metav1.ParameterCodec, codecs)
	group.NegotiatedSerializer = textCodecs{codecs}
	group.VersionedResourcesStorageMap[viewv1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"managedclusters":    storage.Clusters(options, clusters),
		"managedclustersets": storage.Sets(options, sets),
	}
	return &group, nil
}

// textCodecs is a codec factory without binary formats, which the types of the views do not support.
type textCodecs struct {
	serializer.CodecFactory
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (t textCodecs) SupportedMediaTypes() []runtime.SerializerInfo {
	var out []runtime.SerializerInfo
	for _, info := range t.CodecFactory.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeJSON || info.MediaType == runtime.ContentTypeYAML {
			out = append(out, info)
		}
	}
	return out
}
