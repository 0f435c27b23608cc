// Package token obtains and renews the token of an agent with the driver token.
//
// It requests tokens of the service account of the agent, at first with the join token, and reports on the ManagedCluster that the
// agent uses them, which ends the use of the join token. The invariant: no token is requested for a cluster that the hub has
// recorded as another member.
package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/agent/credential"
	"github.com/berth-project/berth/internal/agent/csr"
	"github.com/berth-project/berth/internal/membership/registration"
)

const minPoll, maxPoll = time.Second, 30 * time.Second

var (
	errOther       = errors.New("the hub has recorded another member, so this member gets no token")
	errNotAccepted = errors.New("the hub has not accepted the cluster; accept it with `kubectl berth accept`")
	errNoAccount   = errors.New("the hub has no service account for this agent: the cluster was just accepted, or the account was " +
		"deleted, which revokes the agent; " +
		"to let it join again, run `kubectl berth token create --rejoin` and `kubectl berth accept`")
	errRefused = errors.New("the hub issues no token: the cluster was just accepted, its join token was used or is of the driver csr; " +
		"for another one, run `kubectl berth token create --driver token --rejoin`")
)

// Hub reads the ManagedCluster and issues tokens.
type Hub = csr.Hub

// Requester obtains tokens. Report receives what it waits for, for the health page; nil when it waits for nothing.
type Requester struct {
	Hub    Hub
	Clock  clock.Clock
	Random func() float64
	Names  credential.Names
	// UID is that of the member.
	UID    string
	Report func(error)
	Log    *slog.Logger

	// announcer reports this member to a hub that has recorded another one.
	announcer *csr.Announcer
}

// Obtain requests a token and returns it. It retries until the context ends, or the hub does not accept the credential.
func (r *Requester) Obtain(ctx context.Context) (string, error) {
	defer r.Report(nil)
	for failures := 1; ; failures++ {
		token, err := r.attempt(ctx)
		if err == nil || apierrors.IsUnauthorized(err) {
			return token, err
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		r.Report(err)
		r.Log.Warn("no token yet", "error", err)
		delay := minPoll + backoff.FullJitter(failures, minPoll, maxPoll, r.Random())
		if err := backoff.Sleep(ctx, r.Clock, delay); err != nil {
			return "", err
		}
	}
}

func (r *Requester) attempt(ctx context.Context) (string, error) {
	stored := &clusterv1.ManagedCluster{}
	if err := r.Hub.Get(ctx, client.ManagedCluster(r.Names.Cluster), stored); err != nil {
		return "", err //nolint:wrapcheck // the client names the object
	}
	state := cluster.State{Cluster: stored, UID: r.UID}
	if other := state.OtherMember(); other != "" {
		return "", errors.Join(fmt.Errorf("%w: ManagedCluster %s is the member with the UID %q, and this one has the UID %q; if "+
			"this member takes its place, "+
			"run `kubectl berth accept %s --replace` on the hub", errOther, r.Names.Cluster, other, r.UID, r.Names.Cluster), r.announce(ctx))
	}
	if !state.Accepted() {
		return "", errNotAccepted
	}
	request := &authenticationv1.TokenRequest{}
	seconds := int64(registration.MaxTokenLife.Seconds())
	request.Spec.ExpirationSeconds = &seconds
	err := r.Hub.Create(ctx, client.AccountToken(r.Names.Cluster, registration.AgentAccount), request, request)
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("%w: %w", errNoAccount, err)
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("%w: %w", errRefused, err)
	}
	return request.Status.Token, err //nolint:wrapcheck // the client names the object
}

// announce reports this member to the hub by a certificate request, the only object that a join token may create. The hub shows it as a
// conflict, and approves no such request.
func (r *Requester) announce(ctx context.Context) error {
	if r.announcer == nil {
		r.announcer = &csr.Announcer{Hub: r.Hub, Names: r.Names, UID: r.UID, Log: r.Log}
	}
	return r.announcer.Announce(ctx) //nolint:wrapcheck // it names the object
}
