package certificate

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

var errBoom = errors.New("boom")

func made(t *testing.T, names ...string) *pair {
	t.Helper()
	out, err := issue(names)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLife goes through the life of a certificate, a day at a time and in smaller steps where something happens.
func TestLife(t *testing.T) {
	names := []string{"svc.ns.svc", "127.0.0.1"}
	first, second := made(t, names...), made(t, names...)
	begin := first.since
	second.since, second.until = first.due(), first.due().Add(life)
	makes := func(p *pair) func([]string) (*pair, error) {
		return func([]string) (*pair, error) { return p, nil }
	}
	never := func([]string) (*pair, error) { return nil, errBoom }
	step := func(s state, at time.Time, issue func([]string) (*pair, error)) state {
		t.Helper()
		out, err := s.step(names, at, issue)
		if err != nil {
			t.Fatalf("step at %s: %v", at.Sub(begin), err)
		}
		return out
	}
	s := step(state{}, begin, makes(first))
	if !s.same(state{current: first}) {
		t.Fatalf("first state = %v, want the first pair", s)
	}
	for at := begin; at.Before(first.due()); at = at.Add(24 * time.Hour) {
		if after := step(s, at, never); !after.same(s) {
			t.Fatalf("changed after %s", at.Sub(begin))
		}
	}
	s = step(s, first.due(), makes(second))
	if !s.same(state{current: first, next: second}) {
		t.Fatal("when due, the next pair must wait beside the current one")
	}
	if got, want := s.authorities(), append(bytes.Clone(first.authority), second.authority...); !bytes.Equal(got, want) {
		t.Error("while the next pair waits, both authorities must be trusted")
	}
	if after := step(s, second.since.Add(overlap-time.Second), never); !after.same(s) {
		t.Error("the next pair was served before everybody could trust it")
	}
	s = step(s, second.since.Add(overlap), never)
	if !s.same(state{current: second, former: first}) {
		t.Fatal("after the overlap the next pair must be the current one, and the former be trusted still")
	}
	if s = step(s, first.until, never); !s.same(state{current: second}) {
		t.Error("a pair that has ended must not be trusted any more")
	}
}

func TestPairsThatCannotBeServed(t *testing.T) {
	good, other, wide := made(t, "svc.ns.svc"), made(t, "svc.ns.svc", "localhost"), made(t, "svc.ns.svc", "localhost")
	for name, tc := range map[string]struct {
		before state
		names  []string
		at     time.Time
		want   state
	}{
		"one that has ended":            {state{current: good}, []string{"svc.ns.svc"}, good.until.Add(time.Minute), state{current: other}},
		"one without a name":            {state{current: good}, []string{"svc.ns.svc", "localhost"}, good.since, state{current: other}},
		"one without a name, next has":  {state{current: good, next: wide}, []string{"svc.ns.svc", "localhost"}, good.since, state{current: wide}},
		"one without a name, next fits": {state{current: other, next: good}, []string{"svc.ns.svc", "localhost"}, good.since, state{current: other}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.before.step(tc.names, tc.at, func([]string) (*pair, error) { return other, nil })
			if err != nil || !got.same(tc.want) {
				t.Errorf("step = %v, %v, want another pair", got, err)
			}
		})
	}
}

func TestStepKeepsWhatIsServedWhenMakingFails(t *testing.T) {
	current := made(t, "svc")
	_, err := state{current: current}.step([]string{"svc"}, current.due(), func([]string) (*pair, error) { return nil, errBoom })
	if !errors.Is(err, errBoom) {
		t.Errorf("step = %v, want the failure", err)
	}
}

func TestParseWantsTheAuthority(t *testing.T) {
	p := made(t, "svc")
	leaf, _, _ := bytes.Cut(p.certificate, []byte("-----END CERTIFICATE-----\n"))
	if _, err := parse(append(bytes.Clone(leaf), "-----END CERTIFICATE-----\n"...), p.key); !errors.Is(err, errNoAuthority) {
		t.Errorf("parse = %v, want %v", err, errNoAuthority)
	}
}
