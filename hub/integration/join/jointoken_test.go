package join

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/join"
	"github.com/berth-project/berth/internal/membership/registration"
)

var errTokenAccepted = errors.New("the hub accepts the token")

// joinToken creates a join token as the administrator.
func joinToken(t *testing.T, name, driver string, rejoin bool) string {
	t.Helper()
	hub := kit.Must(join.NewClient(shared.Config())).In(t)
	out, _, err := join.Token{Cluster: name, Driver: driver, TTL: time.Hour, Rejoin: rejoin}.Create(t.Context(), hub)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// uses reads a cluster with a token.
func (t *testHub) uses(ctx context.Context, token, name string) error {
	config := rest.AnonymousClientConfig(shared.Config())
	config.BearerToken = token
	return kit.For(t.t, config).Get(ctx, client.ObjectKey{Name: name}, &clusterv1.ManagedCluster{})
}

func (t *testHub) awaitEnded(token, name string) {
	t.t.Helper()
	t.Await("the token is refused", func(ctx context.Context) error {
		switch err := t.uses(ctx, token, name); {
		case apierrors.IsUnauthorized(err):
			return nil
		case err == nil:
			return errTokenAccepted
		default:
			return err
		}
	})
}

// TestFormerJoinTokensEnd: a token to rejoin ends the former one, and so does the replacement of the member. The hub does not accept them.
func TestFormerJoinTokensEnd(t *testing.T) {
	s := newTestHub(t)
	startManager(t)
	const name = "former"
	s.cluster(name, func(c *clusterv1.ManagedCluster) {
		c.Annotations[clusterv1.DriverAnnotationKey] = registration.DriverToken
	})
	s.awaitAccepted(name)
	first := joinToken(t, name, "", false)
	s.Await("the first token is accepted", func(ctx context.Context) error { return s.uses(ctx, first, name) })
	second := joinToken(t, name, "", false)
	if err := s.uses(t.Context(), first, name); err != nil {
		t.Errorf("a second token ended the first one: %v", err)
	}

	third := joinToken(t, name, "", true)
	s.awaitEnded(first, name)
	s.awaitEnded(second, name)
	s.Await("the third token is accepted", func(ctx context.Context) error { return s.uses(ctx, third, name) })

	wantReplaced(t, name, "the next that joins by a token")
	s.awaitEnded(third, name)
}
