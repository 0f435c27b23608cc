package probe

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/agent/client"
)

// reader returns a token of an account, valid from noon on, which no server verifies.
func reader(account string, life time.Duration) string {
	claims := fmt.Sprintf(`{"sub":"system:serviceaccount:berth-probe:%s","iat":%d,"exp":%d}`, account, noon.Unix(), noon.Add(life).Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

// fakeMember issues a token.
type fakeMember struct {
	issues    string
	err       error
	requested []string
}

func (m *fakeMember) Create(_ context.Context, object client.Object, body, into runtime.Object) error {
	m.requested = append(m.requested, fmt.Sprintf("%s for %ds", object.Path(), *body.(*authenticationv1.TokenRequest).Spec.ExpirationSeconds))
	into.(*authenticationv1.TokenRequest).Status.Token = m.issues
	return m.err
}

// TestTheOldTokenIsUsedUntilANewOneHasReadTheMember: a renewal runs until its first report.
func TestTheOldTokenIsUsedUntilANewOneHasReadTheMember(t *testing.T) {
	const hour, own = time.Hour, "/api/v1/namespaces/berth-probe/serviceaccounts/reader/token"
	current, next := reader("reader", hour), reader("reader", 3*hour)
	type result struct {
		Requested     []string
		Used, Stored  string
		Reason        string
		Reads, Stores int
	}
	for sentence, test := range map[string]struct {
		current           string
		after             time.Duration
		issues            string
		err, read, stores error
		uid               string
		want              result
	}{
		"half of its life has passed": {current, hour, next, nil, nil, nil, "a", result{[]string{own + " for 3600s"}, next, next, "", 1, 1}},
		"the life is below the shortest": {
			reader("reader", time.Minute), hour, next, nil, nil, nil, "a",
			result{[]string{own + " for 600s"}, next, next, "", 1, 1},
		},
		"the member refuses it": {
			current, hour, "", errBoom, nil, nil, "a",
			result{[]string{own + " for 3600s"}, "", "", ReasonTokenNotRenewed, 0, 0},
		},
		"the new token is no token": {
			current, hour, "abc", nil, nil, nil, "a",
			result{[]string{own + " for 3600s"}, "", "", ReasonTokenNotRenewed, 0, 0},
		},
		"the new token is of another": {
			current, hour, reader("admin", hour), nil, nil, nil, "a",
			result{[]string{own + " for 3600s"}, "", "", ReasonTokenNotRenewed, 0, 0},
		},
		"the new token does not work": {
			current, hour, next, nil, errBoom, nil, "a",
			result{[]string{own + " for 3600s"}, "", "", ReasonTokenNotRenewed, 1, 0},
		},
		"the new token reaches another": {
			current, hour, next, nil, nil, nil, "b",
			result{[]string{own + " for 3600s"}, "", "", ReasonTokenNotRenewed, 1, 0},
		},
		"the Secret does not take it": {
			current, hour, next, nil, nil, errBoom, "a",
			result{[]string{own + " for 3600s"}, next, "", ReasonTokenNotRenewed, 1, 1},
		},
		"a token that never expires":       {"abc", hour, next, nil, nil, nil, "a", result{}},
		"a client certificate is no token": {"", hour, next, nil, nil, nil, "a", result{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			m, got := &fakeMember{issues: test.issues, err: test.err}, result{}
			r := &renewal{
				member: m, uid: "a", current: test.current, clock: testingclock.NewFakeClock(noon.Add(test.after)),
				random: func() float64 { return 0 }, log: slog.New(slog.DiscardHandler),
				read: func(_ context.Context, token string) (string, error) {
					if got.Reads++; token != test.issues {
						return "", errors.New("another token than the new one is tried")
					}
					return test.uid, test.read
				},
				use: func(token string) { got.Used = token },
				store: func(_ context.Context, token string) error {
					if got.Stores++; test.stores == nil {
						got.Stored = token
					}
					return test.stores
				},
				report: func(found outcome) {
					got.Reason = found.reason
					end() // the test does not wait for the next attempt
				},
			}
			r.run(ctx)
			got.Requested = m.requested
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// TestATokenThatWasNotStored is stored again, and another one is requested only when its time has come.
func TestATokenThatWasNotStored(t *testing.T) {
	m, stored := &fakeMember{issues: reader("reader", time.Hour)}, []error{errBoom, errBoom, nil}
	r := &renewal{
		member: m, uid: "a", current: reader("reader", time.Minute), log: slog.New(slog.DiscardHandler),
		read: func(context.Context, string) (string, error) { return "a", nil }, use: func(string) {},
		store: func(context.Context, string) error {
			err := stored[0]
			stored = stored[1:]
			return err
		},
	}
	clock := testingclock.NewFakeClock(noon.Add(time.Minute))
	r.clock = clock
	attempt := func(requests int, unstored bool) {
		t.Helper()
		if err := r.attempt(t.Context(), 0); (err != nil) != unstored || len(m.requested) != requests || r.unstored != unstored {
			t.Errorf("error %v, unstored %t, requests %v, want %d", err, r.unstored, m.requested, requests)
		}
	}
	attempt(1, true)
	attempt(1, true)
	attempt(1, false)
	attempt(1, false)
	stored = []error{nil}
	clock.Step(time.Hour)
	attempt(2, false)
}

func TestTheTokenOfAClusterThatIsNotRenewed(t *testing.T) {
	clock := testingclock.NewFakeClock(noon)
	f := newFaults(clock)
	f.record(tokenKey, (&renewal{}).failure())
	clock.Step(faultDelay)
	if got := f.current(); got.reason != "" {
		t.Errorf("the reading has the fault %+v", got)
	}
	found := f.lasting(ReasonTokenNotRenewed)
	if got := condition("c1", found, metav1.NewTime(noon)); got.Status != "True" || got.Reason != ReasonTokenNotRenewed {
		t.Errorf("condition %+v", got)
	}
}
