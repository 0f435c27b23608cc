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

// The leader stores its address in the namespace of the election's Lease. Its own name every user may read.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=berth-system,resources=leases,verbs=get;create;update

const (
	// leaseName is the Lease that holds the address. It is not the election's, whose holder writes that one all the time.
	leaseName = "berth-views"
	// addressAnnotation is where the views of the leader are, as host:port.
	addressAnnotation = "berth-project.io/views-address"
	// retry is when what could not be stored is stored again.
	retry = 2 * time.Second
	// addressCacheTTL is how long a stored address is used before it is read again.
	addressCacheTTL = 2 * time.Second
)

// ErrNotFound reports that no other replica is known that leads.
var ErrNotFound = errors.New("no other replica is known to lead")

// Options configures a Leader.
type Options struct {
	// Hub has the credentials of the manager.
	Hub *rest.Config
	// Reader must read from the API server, not from a cache.
	Reader client.Reader
	Writer client.Client
	// Namespace is that of the election's Lease.
	Namespace string
	// Address is host:port under which other replicas reach the views of this one; empty where none does.
	Address string
	// ServerName is the name in the certificate of the views.
	ServerName string
	// CABundle returns the authorities, PEM, that the API server trusts for the views.
	CABundle func(ctx context.Context) ([]byte, error)
	Clock    clock.Clock
}

// Leader finds the replica that leads. Its methods may be called from any goroutine.
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

// Start implements manager.Runnable: it stores the address of this replica, which leads.
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
			log.FromContext(ctx).Error(err, "storing where the leader serves the views; other replicas cannot pass requests on")
		}
		select {
		case <-ctx.Done():
		case <-l.Clock.After(retry):
		}
	}
	return nil
}

// storeAddress stores the address, unless it is stored.
func (l *Leader) storeAddress(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	err := l.Reader.Get(ctx, l.key(), lease)
	if apierrors.IsNotFound(err) {
		lease.ObjectMeta = metav1.ObjectMeta{Namespace: l.Namespace, Name: leaseName, Annotations: map[string]string{addressAnnotation: l.Address}}
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

// findLeader returns the replica that leads, or ErrNotFound.
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

// ownUsername returns the name that the hub gives the manager.
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
