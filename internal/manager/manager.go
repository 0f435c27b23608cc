// Package manager builds the manager: it reads the options, checks the hub, and adds every controller that runs. It is the only
// package that imports all controllers, and it contains no logic of its own.
package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/transport"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/internal/addon"
	addonhealth "github.com/berth-project/berth/internal/addon/health"
	"github.com/berth-project/berth/internal/admission/certificate"
	"github.com/berth-project/berth/internal/bridge/inventory"
	"github.com/berth-project/berth/internal/bridge/kueue"
	"github.com/berth-project/berth/internal/bridge/probe"
	"github.com/berth-project/berth/internal/bridge/profile"
	"github.com/berth-project/berth/internal/bridge/score"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/install/preflight"
	"github.com/berth-project/berth/internal/kube/expectederror"
	"github.com/berth-project/berth/internal/kube/presence"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/kube/version"
	"github.com/berth-project/berth/internal/manager/guard"
	"github.com/berth-project/berth/internal/membership/acceptance"
	"github.com/berth-project/berth/internal/membership/binding"
	"github.com/berth-project/berth/internal/membership/csr"
	"github.com/berth-project/berth/internal/membership/grant"
	"github.com/berth-project/berth/internal/membership/health"
	"github.com/berth-project/berth/internal/membership/registration/ocm"
	"github.com/berth-project/berth/internal/membership/set"
	"github.com/berth-project/berth/internal/membership/setrole"
	"github.com/berth-project/berth/internal/placement"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/views"
)

// controllers are the controllers of the manager by name, in the order in which they are added.
func controllers() []controllerEntry {
	return []controllerEntry{
		{name: placement.Name, add: addPlacement},
		{name: set.Name, add: func(_ context.Context, a *managerBuilder) error {
			return set.Add(a.mgr, set.Options{
				Clock: clock.RealClock{}, FollowEmptyingEdits: !a.options.holdsSelectors(),
			})
		}},
		{name: binding.Name, add: func(ctx context.Context, a *managerBuilder) error { return binding.Add(ctx, a.mgr, clock.RealClock{}) }},
		{name: grant.Name, add: func(_ context.Context, a *managerBuilder) error {
			return grant.Add(a.mgr, grant.Options{GrantLabelGuarded: a.guards.GrantLabelGuarded})
		}},
		{name: views.Name, add: addViews},
		{name: setrole.Name, add: func(ctx context.Context, a *managerBuilder) error {
			return setrole.Add(ctx, a.mgr, setrole.Options{Clock: clock.RealClock{}, Guarded: a.guards.SetAdminsInForce})
		}},
		{name: health.Name, add: addHealth},
		{name: acceptance.Name, add: addAcceptance},
		{name: csr.Name, add: addCSR},
		{name: addonhealth.Name, add: addAddOn},
		{name: delivery.Name, add: addReplicaSet},
		{name: addon.Name, add: addAddOnInstall},
		{name: probe.Name, add: addProbe},
		{name: score.Name, add: addScore},
		{name: profile.Name, add: addProfile},
		{name: inventory.Name, add: addInventory},
		{name: kueue.Name, add: addKueue},
	}
}

type controllerEntry struct {
	name string
	add  func(context.Context, *managerBuilder) error
}

// managerBuilder is a manager while it is built.
type managerBuilder struct {
	mgr     *probes
	options Options
	// certificates is the certificate source of the webhooks and the views; nil without them.
	certificates certificate.Source
	// env compiles the expressions of placements. record records their decisions.
	env    *celenv.Env
	record *history.Record
	// leases observes the watch of the leases.
	leases *health.LeaseWatch
	// tainted is closed by the health controller once clusters that never joined are tainted; nil without that controller.
	tainted chan struct{}
	// preflight compares the hub with the requirements.
	preflight *preflight.Monitor
	// definitions keeps the manager from taking for a wish what goes with a definition.
	definitions *presence.Guard
	// guards finds roles without their guard.
	guards *guard.Monitor
	// rivals find the controllers of Open Cluster Management that stop those of Berth.
	rivals []*ocm.Monitor
	// deliveries reads what the controller of sets plans from; nil where the views or that controller are off.
	deliveries *delivery.Reader
}

func controllerNames() []string {
	var out []string
	for _, entry := range controllers() {
		out = append(out, entry.name)
	}
	return out
}

// Run runs a manager until ctx ends or the lease is lost, which is ErrLeaseLost. It returns an error where the hub lacks a
// requirement. It may be called again after it has returned.
func Run(ctx context.Context, options Options) error {
	if err := options.validate(); err != nil {
		return err
	}
	options.Logger = configureLogging(options)
	restConfig, err := hubConfig(options)
	if err != nil {
		return err
	}
	lock, err := newLeaseLock(restConfig, options)
	if err != nil {
		return err
	}
	options.Identity = lock.Identity()
	defer isolateMetrics()()
	ctx, term, lost := newLeaderLock(ctx, lock, options, clock.RealClock{})
	defer term.close()
	restConfig.Wrap(transport.ContextCanceller(lost, ErrLeaseLost))
	err = run(ctx, options, restConfig, term)
	if lost.Err() != nil {
		return errors.Join(ErrLeaseLost, err)
	}
	return err
}

// isolateMetrics makes a manager register its metrics apart from those of the process, until the returned function is
// called. The next manager registers the same metrics again.
func isolateMetrics() (restore func()) {
	before := metrics.Registry
	metrics.Registry = telemetry.NewRegistry(before, legacyregistry.DefaultGatherer)
	return func() { metrics.Registry = before }
}

// run runs a manager that writes only while it holds the lock.
func run(ctx context.Context, options Options, restConfig *rest.Config, lock resourcelock.Interface) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	hub, err := options.preflightHub(ctx, restConfig)
	if err != nil {
		return err
	}
	definitions, err := guardDefinitions(restConfig, options)
	if err != nil {
		return err
	}
	leases := health.NewLeaseWatch()
	mgr, err := ctrl.NewManager(restConfig, managerOptions(ctx, options, scheme, newCaches(leases, options.Profile.Manager), lock))
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	env, err := celenv.New()
	if err != nil {
		return err
	}
	remembered := history.New(history.Options{Clock: clock.RealClock{}, Reader: mgr.GetAPIReader(), Env: env})
	builder := &managerBuilder{
		mgr: newProbes(mgr), options: options, env: env, record: remembered, leases: leases, preflight: hub, definitions: definitions,
	}
	if err := builder.addAll(ctx); err != nil {
		return err
	}
	mgr.GetLogger().Info("starting", "version", version.Version(), "workers", options.Placement.Workers)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

// addAll adds all parts of the manager.
func (m *managerBuilder) addAll(ctx context.Context) error {
	if err := m.addPreflight(); err != nil {
		return err
	}
	if err := addPresence(m.mgr, m.definitions); err != nil {
		return err
	}
	if err := m.addGuards(); err != nil {
		return err
	}
	if err := m.addCertificate(); err != nil {
		return err
	}
	if m.options.runsController(health.Name) {
		m.tainted = make(chan struct{})
	}
	for _, entry := range controllers() {
		if !m.options.runsController(entry.name) {
			continue
		}
		if err := entry.add(ctx, m); err != nil {
			return err
		}
	}
	if !m.options.runsController(health.Name) {
		if err := health.AddDisabled(m.mgr, clock.RealClock{}); err != nil {
			return err
		}
	}
	if err := m.addMemory(); err != nil {
		return err
	}
	if err := m.addWebhooks(ctx); err != nil {
		return err
	}
	return m.mgr.serve(ctx, m.options.HealthAddress, m.warnings)
}

func hubConfig(options Options) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = options.Kubeconfig
	out, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the hub, give --kubeconfig or run in a cluster: %w", err)
	}
	out.QPS, out.Burst = options.QPS, options.Burst
	out.UserAgent = "berth/" + version.Version()
	return out, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		certificatesv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, eventsv1.AddToScheme, rbacv1.AddToScheme,
		addonv1alpha1.AddToScheme, clusterv1.AddToScheme, clusterv1alpha1.AddToScheme, clusterv1beta1.AddToScheme, clusterv1beta2.AddToScheme,
		multiclusterv1alpha1.AddToScheme,
		rolloutv1alpha1.AddToScheme, workv1.AddToScheme, workv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	return scheme, nil
}

func managerOptions(ctx context.Context, options Options, scheme *runtime.Scheme, caches cache.Options,
	lock resourcelock.Interface,
) ctrl.Options {
	return ctrl.Options{
		Scheme: scheme,
		// Errors after the manager is stopped follow from the stop. The error of Run holds what matters.
		Logger:                              expectederror.Logger(options.Logger, func(err error, _ string) bool { return isExpected(ctx, err) }),
		Cache:                               caches,
		Metrics:                             metricsOptions(options),
		HealthProbeBindAddress:              addressOff, // see probes
		PprofBindAddress:                    options.ProfileAddress,
		LeaderElection:                      options.LeaderElection,
		LeaderElectionID:                    leaseName,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &options.LeaseDuration,
		RenewDeadline:                       &options.RenewDeadline,
		RetryPeriod:                         &options.RetryPeriod,
		Controller:                          config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
	}
}

// metricsOptions returns how metrics are served. The server creates its own certificate.
func metricsOptions(options Options) metricsserver.Options {
	out := metricsserver.Options{BindAddress: options.MetricsAddress}
	if options.MetricsSecure {
		out.SecureServing, out.FilterProvider = true, filters.WithAuthenticationAndAuthorization
		out.TLSOpts = []func(*tls.Config){func(config *tls.Config) { config.MinVersion = tls.VersionTLS13 }}
	}
	return out
}
