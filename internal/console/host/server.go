package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/admission/certificate"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/source/informer"
	"github.com/berth-project/berth/internal/status"
	"github.com/berth-project/berth/internal/views/placementapi"
	"github.com/berth-project/berth/internal/views/viewcache"
)

const (
	// reviewTime is how long the hub's answer about a token or a permission is kept, reviewTimeout how long it may take.
	reviewTime, reviewTimeout = 10 * time.Second, 10 * time.Second
	// headerTime bounds the header of a request, idleTime a connection without one.
	headerTime, idleTime = 5 * time.Second, 2 * time.Minute
	maxHeader            = 32 << 10
	// streamShare is the share of a core that the streams of open pages may take, so that decisions do not wait for them.
	streamShare = 0.1
)

// Options configures the server.
type Options struct {
	// Listener accepts the connections. The server closes it.
	Listener net.Listener
	// Certificate is the serving certificate. The server starts once it is ready.
	Certificate certificate.Source
	// Views is the snapshot of what each user may see.
	Views *viewcache.Cache
	// Record holds the recent decisions. Deliveries reads what is delivered; nil where the manager delivers no workloads.
	Record     *history.Record
	Deliveries placementapi.Deliveries
	// Leases is set if the manager watches the leases of clusters.
	Leases bool
	// Status reports how this manager is. Namespace is that of its lease.
	Status    *status.Monitor
	Namespace string
	Clock     clock.WithTicker
}

// Add adds the server to a manager. Every replica serves.
func Add(ctx context.Context, mgr manager.Manager, options Options) error {
	authenticated, authorized, err := delegate(mgr.GetConfig())
	if err != nil {
		return err
	}
	changes := newChanges(options.Views, options.Clock)
	subscriptions := []informer.Subscription{
		signal[*clusterv1beta1.Placement](changes, &clusterv1beta1.Placement{}),
		signal[*clusterv1beta1.PlacementDecision](changes, &clusterv1beta1.PlacementDecision{}),
	}
	if options.Deliveries != nil {
		subscriptions = append(subscriptions, signal[*workv1alpha1.ManifestWorkReplicaSet](changes, &workv1alpha1.ManifestWorkReplicaSet{}))
	}
	if _, err := informer.Watch(ctx, mgr.GetCache(), subscriptions...); err != nil {
		return err //nolint:wrapcheck // it names the kind
	}
	hub, err := status.NewReader(status.ReaderOptions{
		Hub: mgr.GetConfig(), Namespace: options.Namespace, Holder: "the manager", Clock: options.Clock,
		Manager: func(context.Context) (*status.Report, error) {
			out := options.Status.Report()
			return &out, nil
		},
	})
	if err != nil {
		return err //nolint:wrapcheck // it is about the hub
	}
	users := newUsers(options, mgr.GetClient(), authorized, changes)
	users.hub = hub
	handler, err := console.New(console.Options{Session: users.session, Clock: options.Clock, StreamShare: streamShare})
	if err != nil {
		return err //nolint:wrapcheck // it is about the pages
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	options.Certificate.ConfigureTLS(config)
	server := &manager.Server{Name: "console", Listener: tls.NewListener(options.Listener, config), Server: &http.Server{
		Handler: authenticate(handler, authenticated), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		TLSConfig:   config,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}}
	if err := errors.Join(mgr.Add(everywhere(changes.run)), mgr.Add(everywhere(func(ctx context.Context) error {
		select {
		case <-options.Certificate.Ready():
			return server.Start(ctx) //nolint:wrapcheck // the error of the server
		case <-ctx.Done():
			return options.Listener.Close() //nolint:wrapcheck // as above
		}
	}))); err != nil {
		return fmt.Errorf("adding the console: %w", err)
	}
	return nil
}

// everywhere runs on every replica, whether it leads or not.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

// signal reports every change of a kind.
func signal[T client.Object](to *changes, kind T) informer.Subscription {
	return informer.To(kind, func(_, _ T) { to.note() }, func(T) { to.note() })
}

// delegate lets the hub review tokens and permissions. There is no other way to authenticate.
func delegate(hub *rest.Config) (authenticator.Request, authorizer.Authorizer, error) {
	reviews, err := kubernetes.NewForConfig(hub)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	backoff := &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
	authenticated, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: reviews.AuthenticationV1(), TokenAccessReviewTimeout: reviewTimeout, WebhookRetryBackoff: backoff,
		CacheTTL: reviewTime,
	}.New()
	if err != nil {
		return nil, nil, fmt.Errorf("delegating authentication: %w", err)
	}
	authorized, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: reviews.AuthorizationV1(), AllowCacheTTL: reviewTime, DenyCacheTTL: reviewTime, WebhookRetryBackoff: backoff,
	}.New()
	if err != nil {
		return nil, nil, fmt.Errorf("delegating authorization: %w", err)
	}
	return authenticated, authorized, nil
}

// authenticate passes the requests of users whose token the hub accepts. It accepts no credential but a bearer token in the header, which a
// browser sends for no page of its own accord.
func authenticate(next http.Handler, by authenticator.Request) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "Send a bearer token of the hub, as a proxy in front of the console does after a login.", http.StatusUnauthorized)
			return
		}
		found, ok, err := by.AuthenticateRequest(r)
		if err != nil || !ok {
			http.Error(w, "The hub does not accept the token.", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(withUser(r.Context(), found.User)))
	})
}
