package csr

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/credential"
)

const (
	// maxRequests is the number of requests of one cluster at which an agent makes no other.
	maxRequests = 10
	// maxListed bounds the requests that are read. Those of other users count for nothing, so more than maxRequests are read.
	maxListed = 500

	minPoll      = time.Second
	maxPoll      = 30 * time.Second
	requestPause = 5 * time.Minute
	// refusedPause is the pause after ten requests without a usable certificate.
	refusedPause = time.Hour
)

// Errors of a certificate that does not go with its request.
var (
	errManyRequests = errors.New("the hub holds ten or more certificate requests of this agent")
	errOtherKey     = errors.New("the hub signed another request")
)

// Hub stores and reads requests.
type Hub interface {
	Create(ctx context.Context, object client.Object, body, into runtime.Object) error
	Get(ctx context.Context, object client.Object, into runtime.Object) error
	List(ctx context.Context, object client.Object, options metav1.ListOptions, into runtime.Object) error
}

// Requester obtains certificates. Report receives what it waits for, for the health page; nil when it waits for nothing.
type Requester struct {
	Hub      Hub
	Clock    clock.Clock
	Random   func() float64
	Names    credential.Names
	UID      string
	Lifetime time.Duration
	Report   func(error)
	Log      *slog.Logger

	// made is the number of requests since the last certificate.
	made int
}

// KeyPair is a certificate and its key in PEM.
type KeyPair struct{ Cert, Key []byte }

// Obtain requests a certificate and returns it once it is signed. It retries until the context ends. A request that the hub
// removed is replaced by another.
func (r *Requester) Obtain(ctx context.Context) (KeyPair, error) {
	defer r.Report(nil)
	for failures := 0; ; {
		pair, err := r.attempt(ctx)
		if err == nil {
			r.made = 0
			return pair, nil
		}
		if ctx.Err() != nil {
			return KeyPair{}, ctx.Err()
		}
		if apierrors.IsUnauthorized(err) {
			return KeyPair{}, err // the caller reads its credential again
		}
		failures++
		r.Report(err)
		r.Log.Warn("no certificate yet", "error", err)
		delay := minPoll + backoff.FullJitter(failures, minPoll, maxPoll, r.Random())
		if errors.Is(err, errManyRequests) {
			delay = requestPause
		}
		if r.made >= maxRequests {
			delay = refusedPause
		}
		if err := backoff.Sleep(ctx, r.Clock, delay); err != nil {
			return KeyPair{}, err
		}
	}
}

// attempt makes one request and waits until it is signed or removed.
func (r *Requester) attempt(ctx context.Context) (KeyPair, error) {
	if err := r.checkCount(ctx); err != nil {
		return KeyPair{}, err
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return KeyPair{}, err
	}
	request, err := newRequest(r.Names, r.UID, r.Lifetime, key)
	if err != nil {
		return KeyPair{}, err
	}
	stored := &certificatesv1.CertificateSigningRequest{}
	if err := r.Hub.Create(ctx, client.CSR(""), request, stored); err != nil {
		return KeyPair{}, err //nolint:wrapcheck // the client names the object
	}
	r.made++
	r.Log.Info("certificate requested", "approve", "kubectl berth accept "+r.Names.Cluster, "request", stored.Name)
	certificate, err := r.await(ctx, stored.Name)
	if err != nil {
		return KeyPair{}, err
	}
	pair := KeyPair{Cert: certificate, Key: keyPEM}
	return pair, verify(pair, r.Names)
}

// checkCount refuses another request while the hub holds many of this agent. A bootstrap identity that may not list them is
// bound to one cluster, and the hub removes requests that are not decided.
func (r *Requester) checkCount(ctx context.Context) error {
	list := &certificatesv1.CertificateSigningRequestList{}
	err := r.Hub.List(ctx, client.CSR(""), metav1.ListOptions{
		LabelSelector: clusterv1.ClusterNameLabelKey + "=" + r.Names.Cluster, Limit: maxListed,
	}, list)
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // the client names the object
	}
	if len(list.Items) < maxRequests {
		return nil
	}
	user, err := r.user(ctx)
	if err != nil {
		return err
	}
	if count := countOf(list.Items, user, r.Names.User()); count >= maxRequests {
		return fmt.Errorf("%w; delete those with the label %s=%s of the users %s and %s, or wait until the hub removes them",
			errManyRequests, clusterv1.ClusterNameLabelKey, r.Names.Cluster, user, r.Names.User())
	}
	return nil
}

// user returns the user of the credential that sends the requests; that of the agent where the hub does not return it.
func (r *Requester) user(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	err := r.Hub.Create(ctx, client.SelfSubjectReview(), &authenticationv1.SelfSubjectReview{}, review)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return r.Names.User(), nil
	}
	return review.Status.UserInfo.Username, err //nolint:wrapcheck // the client names the object
}

// countOf returns the number of requests of some users. The hub records the user of a request, and any user may set the label.
func countOf(requests []certificatesv1.CertificateSigningRequest, users ...string) int {
	count := 0
	for i := range requests {
		if slices.Contains(users, requests[i].Spec.Username) {
			count++
		}
	}
	return count
}

// await polls a request by its name, because an agent may not watch requests, and returns its certificate.
func (r *Requester) await(ctx context.Context, name string) ([]byte, error) {
	for polls := 1; ; polls++ {
		request := &certificatesv1.CertificateSigningRequest{}
		err := r.Hub.Get(ctx, client.CSR(name), request)
		switch {
		case apierrors.IsNotFound(err):
			return nil, fmt.Errorf("the certificate request was removed before it was signed: %w", err)
		case apierrors.IsUnauthorized(err):
			return nil, err //nolint:wrapcheck // the client names the object
		case err != nil:
			r.Report(err)
		default:
			state, message := Inspect(request)
			if state == Issued {
				return request.Status.Certificate, nil
			}
			r.Report(waiting(name, state, message))
		}
		delay := minPoll + backoff.FullJitter(polls, minPoll, maxPoll, r.Random())
		if err := backoff.Sleep(ctx, r.Clock, delay); err != nil {
			return nil, err
		}
	}
}

// waiting describes what a request waits for.
func waiting(name string, state State, message string) error {
	switch state {
	case Denied:
		return fmt.Errorf("the certificate request %s was denied: %s; the agent makes another once it is deleted", name,
			message) //nolint:err113 // a state for the health page
	case Failed:
		return fmt.Errorf("the certificate request %s was approved and not signed: %s; the agent makes another once it is deleted", name,
			message) //nolint:err113 // a state for the health page
	default:
		return fmt.Errorf("the certificate request %s waits for its approval", name) //nolint:err113 // a state for the health page
	}
}

// verify returns an error for a certificate that is not of its key or of the agent.
func verify(pair KeyPair, names credential.Names) error {
	leaf, err := credential.Credential{Cert: pair.Cert, Key: pair.Key}.Leaf()
	if err != nil {
		return fmt.Errorf("%w: %w", errOtherKey, err)
	}
	if leaf.Subject.CommonName != names.User() {
		return fmt.Errorf("%w: it is for %q", errOtherKey, leaf.Subject.CommonName)
	}
	return nil
}
