package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/agent/backoff"
	agentclient "github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/member"
	"github.com/berth-project/berth/internal/agent/token"
	"github.com/berth-project/berth/internal/bridge/probe/target"
)

const (
	// minRenewalRetry and maxRenewalRetry bound the delay after a renewal.
	minRenewalRetry, maxRenewalRetry = 30 * time.Second, 5 * time.Minute
	// maxRenewalSleep bounds how long the clock is not read, so that a machine that slept renews soon.
	maxRenewalSleep = 10 * time.Minute
	// minTokenLife is the shortest life that an API server issues. maxTokenLife bounds what the token of a Secret states.
	minTokenLife, maxTokenLife = 10 * time.Minute, 366 * 24 * time.Hour
	// tokenKey is the key of the faults of the renewal.
	tokenKey = "token"
)

var (
	errOtherToken  = errors.New("the member issued a token of another account")
	errOtherMember = errors.New("the new token reaches another member")
)

// creator creates an object in the member.
type creator interface {
	Create(ctx context.Context, object agentclient.Object, body, into runtime.Object) error
}

// renewal replaces the token of a session when half of its life has passed. The old token stays in use until the new one has read
// the member. A token without an end, or of another user than a service account, is not renewed.
type renewal struct {
	member creator
	// read reads the UID of the member with a token.
	read func(ctx context.Context, token string) (uid string, err error)
	// use makes the session use a token, and store keeps it for the next session.
	use   func(token string)
	store func(ctx context.Context, token string) error
	// report receives the outcome of each attempt.
	report func(outcome)

	clock  clock.Clock
	random func() float64
	log    *slog.Logger

	uid string
	// current is the token in use.
	current string
	// unstored is whether current is only in memory.
	unstored bool
}

func (s *session) renewal(uid string) *renewal {
	read := func(ctx context.Context, next string) (string, error) {
		to := s.target
		to.Renewed = next
		connection, reader, err := connect(to, s.allowed, func(string, int, error) {})
		if err != nil {
			return "", err
		}
		defer connection.Close()
		return member.ReadUID(ctx, reader) //nolint:wrapcheck // it names the namespace
	}
	return &renewal{
		member: s.member, read: read, use: s.connection.SetToken, store: s.store,
		report: func(found outcome) { s.faults.record(tokenKey, found) },
		clock:  s.clock, random: s.random, log: s.log, uid: uid, current: s.target.BestToken(),
	}
}

// run renews until the context ends. It returns at once where the token cannot be renewed.
func (r *renewal) run(ctx context.Context) {
	random, failures := r.random(), 0
	for ctx.Err() == nil {
		if _, ok := target.ReadAccount(r.current); !ok {
			return
		}
		if delay := r.delay(random); delay > 0 && !r.unstored {
			_ = backoff.Sleep(ctx, r.clock, min(delay, maxRenewalSleep)) // the loop ends with the context
			continue
		}
		err := r.attempt(ctx, random)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failures = 0
			r.report(outcome{})
		default:
			failures++
			r.log.Warn("the token was not renewed", "error", err)
			r.report(r.failure())
		}
		// A success has this pause as well: the clocks of the hub and of the member may differ by more than the life of a token.
		_ = backoff.Sleep(ctx, r.clock, minRenewalRetry+backoff.FullJitter(failures, minRenewalRetry, maxRenewalRetry, r.random())) // as above
	}
}

// failure returns what a failed attempt means for the cluster.
func (r *renewal) failure() outcome {
	if r.unstored {
		return outcome{ReasonTokenNotRenewed, "the hub reads the member and reports it with a new token that it cannot " +
			"store in the Secret, so that " +
			"a manager that starts later does not have it; apply config/probe, and see the log of the manager"}
	}
	return outcome{ReasonTokenNotRenewed, "the hub reads the member and reports it, but obtains no new token; let the " +
		"account create tokens of itself, " +
		"as config/probe/member does, or replace the token in the Secret before it expires"}
}

// delay returns how long the current token is not due. random is from 0 up to 1 and stays the same for a session.
func (r *renewal) delay(random float64) time.Duration {
	account, _ := target.ReadAccount(r.current)
	return token.RenewAt(account.From, account.Until, random).Sub(r.clock.Now())
}

// attempt obtains and uses a token where it is due, and stores it. A token that is not due and was not stored is only stored.
func (r *renewal) attempt(ctx context.Context, random float64) error {
	if r.delay(random) <= 0 {
		next, err := r.obtain(ctx)
		if err != nil {
			return err
		}
		r.use(next)
		r.current, r.unstored = next, true
		r.log.Info("the token of the member was renewed")
	}
	if !r.unstored {
		return nil
	}
	if err := r.store(ctx, r.current); err != nil {
		return err
	}
	r.unstored = false
	return nil
}

// obtain returns a token with the life of the current one, once it has read the member.
func (r *renewal) obtain(ctx context.Context) (string, error) {
	account, _ := target.ReadAccount(r.current)
	life := min(max(account.Until.Sub(account.From), minTokenLife), maxTokenLife)
	request := &authenticationv1.TokenRequest{}
	request.Spec.ExpirationSeconds = new(int64(life / time.Second))
	if err := r.member.Create(ctx, account.Tokens(), request, request); err != nil {
		return "", err //nolint:wrapcheck // the client names the object
	}
	next := request.Status.Token
	if !target.Renews(r.current, next) {
		return "", errOtherToken
	}
	uid, err := r.read(ctx, next)
	switch {
	case err != nil:
		return "", fmt.Errorf("trying the new token: %w", err)
	case uid != r.uid:
		return "", errOtherMember
	}
	return next, nil
}

// storeToken stores a token beside the one of a Secret that it replaces, unless the Secret is another one now.
func (r *reconciler) storeToken(ctx context.Context, secret *corev1.Secret, former, next string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": secret.UID},
		"data":     map[string][]byte{target.RenewedTokenKey: []byte(next), target.RenewedFromKey: []byte(target.Hash(former))},
	})
	if err != nil {
		return fmt.Errorf("encoding a token: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, agentclient.RequestTimeout)
	defer cancel()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}}
	if err := r.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("storing the token in Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}
