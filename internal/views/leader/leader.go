package leader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The leader stores its address in the namespace of the election's Lease. Every user may read its own name.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=berth-system,resources=leases,verbs=get;create;update

const (
	// leaseName is the Lease with the address. It is not the Lease of the election, which is updated every few seconds.
	leaseName = "berth-views"
	// addressAnnotation holds host:port of the leader's views.
	addressAnnotation = "berth-project.io/views-address"
	// retry is the interval after a failed update of the Lease.
	retry = 2 * time.Second
	// addressCacheTTL is how long the address is cached.
	addressCacheTTL = 2 * time.Second
)

// ErrNotFound reports that no other replica has stored its address as leader.
var ErrNotFound = errors.New("no other replica is known to lead")

// Options configures a Leader.
type Options struct {
	// Hub has the credentials of the manager.
	Hub *rest.Config
	// Reader must read from the API server, not from a cache.
	Reader client.Reader
	Writer client.Client
	// Namespace contains the Lease of the election.
	Namespace string
	// Address is host:port under which other replicas reach the views of this one. It is empty where they do not reach it.
	Address string
	// ServerName is the name in the certificate of the views.
	ServerName string
	// CABundle returns the CA bundle, PEM, with which the API server verifies the views.
	CABundle func(ctx context.Context) ([]byte, error)
	Clock    clock.Clock
}

// Leader finds the leader and forwards requests to it. It is safe for concurrent use.
type Leader struct {
	Options

	mu             sync.Mutex
	peer           *leaderClient
	peerValidUntil time.Time
	username       string
}

// New returns a Leader.
func New(options Options) *Leader { return &Leader{Options: options} }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Leader) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. It runs on the leader only, and stores the address of this replica.
func (l *Leader) Start(ctx context.Context) error {
	if l.Address == "" {
		return nil
	}
	for ctx.Err() == nil {
		err := l.storeAddress(ctx)
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "cannot store the address of the views in the Lease; other replicas cannot "+
				"forward requests to this leader")
		}
		select {
		case <-ctx.Done():
		case <-l.Clock.After(retry):
		}
	}
	return nil
}

// storeAddress stores the address, unless it is stored already.
func (l *Leader) storeAddress(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	err := l.Reader.Get(ctx, l.key(), lease)
	if apierrors.IsNotFound(err) {
		lease.ObjectMeta = metav1.ObjectMeta{
			Namespace: l.Namespace, Name: leaseName,
			Annotations: map[string]string{addressAnnotation: l.Address},
		}
		if err := l.Writer.Create(ctx, lease); err != nil {
			return fmt.Errorf("creating the Lease %s: %w", l.key(), err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the Lease %s: %w", l.key(), err)
	}
	if lease.Annotations[addressAnnotation] == l.Address {
		return nil
	}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, addressAnnotation, l.Address)
	if err := l.Writer.Update(ctx, lease); err != nil {
		return fmt.Errorf("updating the Lease %s: %w", l.key(), err)
	}
	return nil
}

func (l *Leader) key() types.NamespacedName {
	return types.NamespacedName{Namespace: l.Namespace, Name: leaseName}
}

// findLeader returns a client for the leader, or ErrNotFound.
func (l *Leader) findLeader(ctx context.Context) (*leaderClient, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Clock.Now()
	if l.peer != nil && now.Before(l.peerValidUntil) {
		return l.peer, nil
	}
	lease := &coordinationv1.Lease{}
	if err := l.Reader.Get(ctx, l.key(), lease); apierrors.IsNotFound(err) {
		return nil, ErrNotFound
	} else if err != nil {
		return nil, fmt.Errorf("reading the Lease %s: %w", l.key(), err)
	}
	address := lease.Annotations[addressAnnotation]
	if address == "" || address == l.Address {
		return nil, ErrNotFound
	}
	authorities, err := l.CABundle(ctx)
	if err != nil {
		return nil, err
	}
	if !l.peer.matches(address, authorities) {
		if l.peer, err = l.newLeaderClient(address, authorities); err != nil {
			return nil, err
		}
	}
	l.peerValidUntil = now.Add(addressCacheTTL)
	return l.peer, nil
}

// ownUsername returns the manager's user name on the hub.
func (l *Leader) ownUsername(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.username != "" {
		return l.username, nil
	}
	hub, err := kubernetes.NewForConfig(l.Hub)
	if err != nil {
		return "", fmt.Errorf("reaching the hub: %w", err)
	}
	review, err := hub.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the user of the manager: %w", err)
	}
	l.username = review.Status.UserInfo.Username
	return l.username, nil
}
