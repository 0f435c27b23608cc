package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/pki"
	"github.com/berth-project/berth/hub/internal/rotation"
)

const (
	// certificateLife is the maximal lifetime of the certificates that the hub signs for its own parts. It limits the use of a leaked
	// copy. They are replaced after half of it.
	certificateLife = 365 * 24 * time.Hour
	// renewalCheck is the interval of the check. Any time by the wall clock may pass while the machine sleeps.
	renewalCheck = 5 * time.Second
	// renewalRetry is the interval of the attempts after a failure.
	renewalRetry = time.Minute
	// trustTimeout bounds the requests that find out whether a CA is trusted.
	trustTimeout = 10 * time.Second
	// proxyTrustDelay is how long the servers of aggregated APIs have to follow the ConfigMap with the authorities of the aggregator.
	proxyTrustDelay = 30 * time.Second
	// agentProbeUser has the certificate that shows whether the API server trusts a CA.
	agentProbeUser = "berth-hub-probe"

	proxyTrustConfigMap = "extension-apiserver-authentication"
	proxyTrustKey       = "requestheader-client-ca-file"

	// endWarning is how long before the end of the CA of users the hub logs that it must be replaced, once in endWarningInterval.
	endWarning         = 2 * 365 * 24 * time.Hour
	endWarningInterval = 24 * time.Hour
)

// renewal replaces the certificates of the hub while it runs: those that it signs, after half of their life, and the CAs of agents and of
// the aggregator, which nothing but the API server and the servers of aggregated APIs verifies. It does both when `berth-hub ca renew`
// requests it.
type renewal struct {
	dir   *datadir.Dir
	users *systemUsers
	keys  *keys
	clock clock.WithTicker
	// agentsTrusted returns whether the API server accepts a certificate of the next CA of agents.
	agentsTrusted func(ctx context.Context, now time.Time) (bool, error)
	// proxiesPublished returns whether servers of aggregated APIs read a CA.
	proxiesPublished func(ctx context.Context, authority string) (bool, error)
	// issued is when the certificates were signed, and failed when the last attempt failed.
	issued, failed time.Time
	// proxiesTrusted is when the next CA of the aggregator was first seen where servers read it; zero before.
	proxiesTrusted time.Time
	// warned is when the end of the CA of users was last logged.
	warned time.Time
}

func (p *controlPlane) newRenewal(users *systemUsers) *renewal {
	time, admin := clock.RealClock{}, p.admin
	trust := &agentTrust{admin: admin, authority: p.keys.agents}
	return &renewal{
		dir: p.dir, users: users, keys: p.keys, clock: time, issued: time.Now(), agentsTrusted: trust.check,
		proxiesPublished: func(ctx context.Context, authority string) (bool, error) {
			return proxiesPublished(ctx, admin, authority)
		},
	}
}

// run renews until ctx ends. It retries after a failure.
func (r *renewal) run(ctx context.Context) error {
	ticker := r.clock.NewTicker(renewalCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			r.check(ctx)
		}
	}
}

// check renews what is due, unless the last attempt has just failed.
func (r *renewal) check(ctx context.Context) {
	log, now := klog.FromContext(ctx), r.clock.Now().Round(0) // the monotonic clock stops while the machine sleeps
	if since := now.Sub(r.failed); !r.failed.IsZero() && since >= 0 && since < renewalRetry {
		return
	}
	r.failed = time.Time{}
	if err := r.renew(ctx, now); err != nil && ctx.Err() == nil {
		r.failed = now
		log.Error(err, "Renewing the hub's own certificates failed; trying again", "interval", renewalRetry, "issued", r.issued)
	}
	if end := r.keys.users.End(); end.Sub(now) < endWarning && now.Sub(r.warned) >= endWarningInterval {
		r.warned = now
		log.Error(nil, "The CA of the hub expires, and no client can connect then; replace it with `berth-hub ca rotate`", "end", end)
	}
}

// renew does what is due or requested. The certificates come first, so that they are renewed even if no CA can be replaced.
func (r *renewal) renew(ctx context.Context, now time.Time) error {
	requested, err := r.dir.RenewalRequested()
	if err != nil {
		return err
	}
	if requested || now.Sub(r.issued.Round(0)) >= certificateLife/2 {
		if err := r.issue(ctx, now); err != nil {
			return err
		}
	}
	err = r.prepare(requested, now)
	if requested {
		err = errors.Join(err, r.dir.RemoveRenewalRequest())
	}
	return errors.Join(err, r.promoteAgents(ctx, now), r.promoteProxies(ctx, now))
}

// prepare creates the next CA of agents and of the aggregator, and lets the API server trust them.
func (r *renewal) prepare(requested bool, now time.Time) error {
	var errs []error
	prepared := false
	for _, authority := range []*rotation.Authority{r.keys.agents, r.keys.proxies} {
		if authority.Next() == nil && (requested || authority.Due(now)) {
			prepared = true
			errs = append(errs, authority.Prepare(now))
		}
	}
	if prepared {
		errs = append(errs, r.keys.writeBundles())
	}
	return errors.Join(errs...)
}

// issue replaces all certificates that the hub signs for its own parts. Every server and client reads its files again.
func (r *renewal) issue(ctx context.Context, now time.Time) error {
	if err := errors.Join(r.keys.issue(now), r.users.writeKubeconfigs(now)); err != nil {
		return err
	}
	r.issued = now
	klog.FromContext(ctx).Info("Renewed the hub's own certificates", "end", now.Add(certificateLife))
	return nil
}

// promoteAgents lets the next CA sign the certificates of agents once the API server accepts such a certificate.
func (r *renewal) promoteAgents(ctx context.Context, now time.Time) error {
	if r.keys.agents.Next() == nil {
		return nil
	}
	if trusted, err := r.agentsTrusted(ctx, now); err != nil || !trusted {
		return err
	}
	if err := r.keys.agents.Promote(now); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Replaced the CA of agents; the former one stays trusted until its certificates have expired", "end",
		r.keys.agents.Signing().End())
	return r.keys.writeBundles()
}

// promoteProxies lets the next CA sign the certificate of the aggregator once the servers of aggregated APIs had the time to trust it.
func (r *renewal) promoteProxies(ctx context.Context, now time.Time) error {
	next := r.keys.proxies.Next()
	if next == nil {
		return nil
	}
	if r.proxiesTrusted.IsZero() || now.Before(r.proxiesTrusted) {
		published, err := r.proxiesPublished(ctx, string(next.CertPEM()))
		if err == nil && published {
			r.proxiesTrusted = now
		}
		return err
	}
	if now.Sub(r.proxiesTrusted) < proxyTrustDelay {
		return nil
	}
	if err := r.keys.proxies.Promote(now); err != nil {
		return err
	}
	r.proxiesTrusted = time.Time{}
	klog.FromContext(ctx).Info("Replaced the CA of the aggregator", "end", r.keys.proxies.Signing().End())
	return errors.Join(r.keys.writeBundles(), r.issue(ctx, now))
}

// agentTrust finds out whether the API server accepts a certificate of the next CA of agents.
type agentTrust struct {
	admin     *rest.Config
	authority *rotation.Authority
	// probe has a certificate of the CA of. It is kept, because client-go keeps a transport for each certificate.
	probe *rest.Config
	of    *pki.Authority
}

func (t *agentTrust) check(ctx context.Context, now time.Time) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	if next := t.authority.Next(); next != t.of {
		pair, err := next.Client(now.Add(certificateLife), agentProbeUser)
		if err != nil {
			return false, err
		}
		t.of, t.probe = next, rest.AnonymousClientConfig(t.admin)
		t.probe.CertData, t.probe.KeyData = pair.Cert, pair.Key
	}
	transport, err := rest.HTTPClientFor(t.probe)
	if err != nil {
		return false, fmt.Errorf("creating a client: %w", err)
	}
	defer utilnet.CloseIdleConnectionsFor(transport.Transport) // a connection keeps the certificates of its start
	client, err := kubernetes.NewForConfigAndClient(t.probe, transport)
	if err != nil {
		return false, fmt.Errorf("creating a client: %w", err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err): // not yet: the request was anonymous
		return false, nil
	case err != nil:
		return false, fmt.Errorf("checking the trust in the next CA of agents: %w", err)
	}
	return review.Status.UserInfo.Username == agentProbeUser, nil
}

// proxiesPublished returns whether servers of aggregated APIs read a CA.
func proxiesPublished(ctx context.Context, admin *rest.Config, authority string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return false, fmt.Errorf("creating a client: %w", err)
	}
	config, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, proxyTrustConfigMap, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("reading the CAs of the aggregator: %w", err)
	}
	return strings.Contains(config.Data[proxyTrustKey], strings.TrimSpace(authority)), nil
}

// RequestRenewal makes the hub of a data folder renew its certificates, and returns once it has signed them. The CAs of agents and of the
// aggregator follow within a minute or two.
func RequestRenewal(ctx context.Context, dataDir string, clock clock.WithTicker) error {
	requested, err := datadir.RequestRenewal(dataDir)
	if err != nil {
		return err
	}
	ticker := clock.NewTicker(renewalCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			if _, err := os.Stat(requested); errors.Is(err, fs.ErrNotExist) {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("waiting for the hub to renew its certificates; see its log, or start a hub of this release: %w", context.Cause(ctx))
		}
	}
}
