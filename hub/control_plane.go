package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/embed"
	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/encryption"
	"github.com/berth-project/berth/hub/internal/export"
	"github.com/berth-project/berth/hub/internal/kwok"
	"github.com/berth-project/berth/hub/internal/manifest"
	"github.com/berth-project/berth/hub/internal/supervise"
	"github.com/berth-project/berth/internal/kube/terminal"
)

const (
	// startTimeout is far longer than a start on a slow machine. Three seconds are usual.
	startTimeout = 2 * time.Minute
	// stopTimeout is how long a component may take to stop.
	stopTimeout = 10 * time.Second
)

// anonymousRules allow anonymous clients to read the health of the hub only.
const (
	authenticationFile = "authentication.yaml"
	anonymousRules     = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous:
  enabled: true
  conditions:
  - path: /livez
  - path: /readyz
  - path: /healthz
`
)

var errStartTimeout = fmt.Errorf("not ready after %s", startTimeout)

// controlPlane contains the components of the hub and what they share.
type controlPlane struct {
	opts     Options
	dir      *datadir.Dir
	keys     *keys
	listener net.Listener
	log      *logWriter
	parts    *supervise.Group
	storage  *storageKeeper
	// encryption is the path of the configuration of the encryption at rest.
	encryption string
	admin      *rest.Config
	// stopping is true once the components are stopping.
	stopping atomic.Bool
}

// start starts the components in order. It returns the first failure of any component, and not the consequence in a later step.
func (p *controlPlane) start(ctx context.Context, manifests, objects manifest.Bundle) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errStartTimeout)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		select {
		case <-p.parts.Failed():
			fail(p.parts.Err())
		case <-ctx.Done():
		}
	}()
	err := p.startParts(ctx, manifests, objects)
	switch {
	case p.parts.Err() != nil:
		return fmt.Errorf("starting the hub: %w", p.parts.Err())
	case err != nil && errors.Is(context.Cause(ctx), errStartTimeout):
		return fmt.Errorf("starting the hub: %w: %w; see %s", errStartTimeout, err, p.dir.Path(datadir.LogFile))
	case err != nil:
		return fmt.Errorf("starting the hub: %w", err)
	default:
		return nil
	}
}

// startParts starts the controllers after the manifests are served, because the garbage collector would find new resources half
// a minute late. It applies the objects last. The webhooks of the previous manager may still be registered, and no server
// responds to them before the manager runs.
func (p *controlPlane) startParts(ctx context.Context, manifests, objects manifest.Bundle) error {
	if err := embed.StampVersion(); err != nil {
		return err
	}
	logs := embed.Logs{Writer: terminal.NewWriter(p.log), Verbosity: p.opts.Verbosity, Fatal: p.parts.Fail, Stopping: p.stopping.Load}
	if err := logs.Route(); err != nil {
		return err
	}
	if p.keys.expired != nil {
		klog.FromContext(ctx).Error(p.keys.expired, "The former CA of the hub is left out")
	}
	if err := p.dir.RemoveSnapshots(); err != nil { // another user may have made them
		klog.FromContext(ctx).Error(err, "The data folder keeps snapshots of backups that did not end; remove them")
	}
	users, err := p.newSystemUsers()
	if err != nil {
		return err
	}
	p.admin = users.admin()
	if p.encryption, err = encryption.Configure(p.dir.Path(datadir.PKIFolder), p.opts.Encrypt); err != nil {
		return err
	}
	etcd, err := p.opts.Components.StartEtcd(ctx, p.etcdOptions(), logs)
	if err != nil {
		return err
	}
	p.parts.Go(ctx, "etcd", stopTimeout, etcd.Run)
	if err := p.startStorage(ctx, etcd); err != nil {
		return err
	}
	p.parts.Go(ctx, "the API server", stopTimeout, func(ctx context.Context) error {
		return p.opts.Components.RunAPIServer(ctx, p.serverOptions(etcd.Endpoint()))
	})
	if err := awaitReady(ctx, p.admin); err != nil {
		return err
	}
	if err := p.publishClusterInfo(ctx); err != nil {
		return err
	}
	definitions, others := objects.Split()
	for _, set := range []manifest.Bundle{manifests, definitions} {
		if err := set.Install(ctx, p.admin); err != nil {
			return err
		}
	}
	controllers := p.controllerOptions()
	p.parts.Go(ctx, "the controllers", stopTimeout, func(ctx context.Context) error {
		return p.opts.Components.RunControllers(ctx, controllers)
	})
	p.parts.Go(ctx, "the renewal of certificates", stopTimeout, p.newRenewal(users).run)
	if err := p.startWorkloads(ctx); err != nil {
		return err
	}
	if err := p.startManager(ctx, manifests, others); err != nil {
		return err
	}
	return p.publish(ctx, users)
}

// startManager starts the manager and installs what it may change. A hub that has moved to another Kubernetes runs no manager, and refuses
// the objects.
func (p *controlPlane) startManager(ctx context.Context, manifests, others manifest.Bundle) error {
	movedTo, err := export.MovedTo(ctx, p.admin)
	switch {
	case err != nil:
		return err
	case movedTo != "":
		klog.FromContext(ctx).Info("This hub has moved: it decides and delivers nothing, and hands over its agents", "to", movedTo)
		return nil
	case p.opts.Manager == nil:
		return others.Install(ctx, p.admin)
	}
	going, err := manifests.Going(ctx, p.admin)
	if err != nil {
		return err
	}
	p.parts.Go(ctx, "the manager", stopTimeout, func(ctx context.Context) error { return p.runManager(ctx, manifests) })
	if len(going) > 0 {
		p.parts.Go(ctx, "the return of definitions", stopTimeout, func(ctx context.Context) error {
			return p.awaitDefinitions(ctx, going, manifests, others)
		})
		return nil
	}
	if err := p.awaitManager(ctx); err != nil {
		return err
	}
	return others.InstallSequentially(ctx, p.admin)
}

// startStorage records the version that writes from now on, lets commands reach etcd, and keeps its space.
func (p *controlPlane) startStorage(ctx context.Context, etcd Etcd) error {
	if err := p.dir.StoreVersion(p.opts.Components.Versions().Kubernetes); err != nil {
		return err
	}
	if err := p.dir.StoreEtcdEndpoint(etcd.Endpoint()); err != nil {
		return err
	}
	p.storage = newStorageKeeper(etcd, p.dir.Path(datadir.EtcdFolder), p.opts)
	if err := p.storage.start(ctx); err != nil {
		return err
	}
	p.parts.Go(ctx, "the care of the database", stopTimeout, p.storage.run)
	return nil
}

// publish writes the kubeconfig of the administrator, by which other programs see that the hub is ready, and starts the agent, which uses
// it.
func (p *controlPlane) publish(ctx context.Context, users *systemUsers) error {
	if err := users.publish(); err != nil {
		return err
	}
	p.parts.Go(ctx, "the encryption of stored objects", stopTimeout, p.rewriteEncrypted)
	if p.opts.Agent != nil {
		p.parts.Go(ctx, "the agent", stopTimeout, func(ctx context.Context) error {
			return p.opts.Agent(ctx, p.dir.Path(datadir.AdminKubeconfig))
		})
	}
	return nil
}

func (p *controlPlane) controllerOptions() embed.ControllerOptions {
	out := embed.ControllerOptions{
		Kubeconfig: p.dir.Path(controllersKubeconfig), RootCA: p.keys.rootCAs, SigningKey: p.keys.signing, Workloads: p.opts.Workloads,
	}
	if !p.opts.NoAgentCertificates {
		out.AgentCA, out.AgentCAKey = p.keys.agents.Signing().CertFile(), p.keys.agents.Signing().KeyFile()
	}
	return out
}

// startWorkloads starts the parts of a cluster that runs workloads.
func (p *controlPlane) startWorkloads(ctx context.Context) error {
	if p.opts.Workloads {
		p.parts.Go(ctx, "the scheduler", stopTimeout, func(ctx context.Context) error {
			return p.opts.Components.RunScheduler(ctx, p.dir.Path(controllersKubeconfig))
		})
	}
	if nodes := p.opts.Nodes; nodes.Count > 0 {
		kubelets := kwok.Options{
			Kubeconfig: p.dir.Path(controllersKubeconfig), Log: terminal.NewWriter(p.log),
			Nodes: nodes.Count, Capacity: nodes.Capacity, Labels: nodes.Labels,
		}
		if err := kubelets.CreateNodes(ctx, p.admin); err != nil {
			return err
		}
		p.parts.Go(ctx, "the fake nodes", stopTimeout, kubelets.Run)
	}
	return nil
}

// newSystemUsers writes the rules for anonymous requests and the kubeconfigs of the system users.
func (p *controlPlane) newSystemUsers() (*systemUsers, error) {
	if err := os.WriteFile(p.dir.Path(authenticationFile), []byte(anonymousRules), 0o600); err != nil {
		return nil, fmt.Errorf("writing the authentication rules: %w", err)
	}
	manager := p.opts.ManagerIdentity
	if manager.User == "" {
		manager = Identity{User: "berth-manager", Groups: []string{mastersGroup}}
	}
	users := &systemUsers{
		dir: p.dir, users: p.keys.users, server: p.opts.serverURL(p.listener.Addr()), manager: manager,
	}
	return users, users.writeKubeconfigs(clock.RealClock{}.Now())
}

func (p *controlPlane) awaitManager(ctx context.Context) error {
	if p.opts.ManagerReady == nil {
		return nil
	}
	if err := p.opts.ManagerReady(ctx, rest.CopyConfig(p.admin)); err != nil {
		return fmt.Errorf("waiting for the manager: %w", err)
	}
	return nil
}

// stop stops the components and closes what they shared.
func (p *controlPlane) stop(ctx context.Context) error {
	p.stopping.Store(true)
	err := p.parts.Stop(ctx)
	// The API server has closed its listener already, unless it never ran.
	_ = p.listener.Close()
	return errors.Join(err, p.log.Close())
}

func (p *controlPlane) etcdOptions() embed.EtcdOptions {
	return embed.EtcdOptions{
		Dir:     p.dir.Path(datadir.EtcdFolder),
		Port:    p.opts.EtcdPort,
		CA:      p.keys.etcd.CertFile(),
		Cert:    p.keys.etcdServer.Cert,
		CertKey: p.keys.etcdServer.Key,
		Quota:   p.opts.DatabaseQuota,
		NoFsync: p.opts.NoFsync,
	}
}

func (p *controlPlane) serverOptions(etcd string) embed.APIServerOptions {
	return embed.APIServerOptions{
		Listener:       p.listener,
		Etcd:           etcd,
		EtcdCA:         p.keys.etcd.CertFile(),
		EtcdCert:       p.keys.etcdClient.Cert,
		EtcdKey:        p.keys.etcdClient.Key,
		Cert:           p.keys.serving.Cert,
		Key:            p.keys.serving.Key,
		ClientCA:       p.keys.clientCAs,
		SigningKey:     p.keys.signing,
		FormerKey:      p.keys.formerSigning,
		ProxyCA:        p.keys.proxyCAs,
		ProxyCert:      p.keys.proxy.Cert,
		ProxyKey:       p.keys.proxy.Key,
		ProxyUser:      proxyUser,
		Authentication: p.dir.Path(authenticationFile),
		Encryption:     p.encryption,
		Ready:          map[string]func() error{"database-accepts-writes": p.storage.Err},
	}
}
