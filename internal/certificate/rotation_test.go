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
	if got, want := s.authorities(), bytes.Join([][]byte{first.authority, second.authority}, nil); !bytes.Equal(got, want) {
		t.Error("while the next pair waits, both authorities must be trusted")
	}
	if after := step(s, second.since.Add(overlap-time.Second), never); !after.same(s) {
		t.Error("the next pair was served before everybody could trust it")
	}
	s = step(s, second.since.Add(overlap), never)
	if !s.same(state{current: second, retired: retired(first)}) {
		t.Fatal("after the overlap the next pair must be the current one, and the former be trusted still")
	}
	if s = step(s, first.until, never); !s.same(state{current: second}) {
		t.Error("a pair that has ended must not be trusted any more")
	}
}

// retired returns the authorities of former pairs.
func retired(pairs ...*pair) []authority {
	var out []authority
	for _, p := range pairs {
		out = append(out, authority{p.authority, p.until})
	}
	return out
}

func TestStepsOutOfTurn(t *testing.T) {
	good, other, wide := made(t, "svc.ns.svc"), made(t, "svc.ns.svc", "localhost"), made(t, "svc.ns.svc", "localhost")
	one, two := []string{"svc.ns.svc"}, []string{"svc.ns.svc", "localhost"}
	for name, tc := range map[string]struct {
		before state
		names  []string
		at     time.Time
		want   state
	}{
		"a pair that has ended is replaced at once":             {state{current: good}, one, good.until.Add(time.Minute), state{current: other}},
		"no pair that can be read is replaced at once":          {state{next: good}, two, good.since, state{current: other}},
		"a pair without a name stays until the next is there":   {state{current: good}, two, good.since, state{current: good, next: other}},
		"and then the next need not wait for the overlap":       {state{current: good, next: wide}, two, good.since, state{current: wide, retired: retired(good)}},
		"a next pair without a name makes room for another":     {state{current: good, next: good}, two, good.since, state{current: good, next: other}},
		"names that a pair has beside those wanted are no harm": {state{current: wide}, one, good.since, state{current: wide}},
		"a revoked pair stays until the next is there": {
			state{current: good, revoked: good.authority},
			one,
			good.since,
			state{current: good, next: other, revoked: good.authority},
		},
		"and then stays trusted for the replicas that serve it": {
			state{current: good, next: other, revoked: good.authority},
			one,
			good.since,
			state{current: other, retired: retired(good), revoked: good.authority},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.before.step(tc.names, tc.at, func([]string) (*pair, error) { return other, nil })
			if err != nil || !got.same(tc.want) {
				t.Errorf("step = %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

// TestNamesOfReplicasOfTwoVersions takes turns between leaders that have different names: none takes away the other's.
func TestNamesOfReplicasOfTwoVersions(t *testing.T) {
	issued := 0
	quick := func(names []string) (*pair, error) {
		issued++
		return issueAt(t, time.Unix(0, 0), names...), nil
	}
	s := state{current: issueAt(t, time.Unix(0, 0), "a")}
	for range 10 {
		for _, names := range [][]string{{"a", "b"}, {"a", "c"}} {
			var err error
			if s, err = s.step(names, time.Unix(1, 0), quick); err != nil {
				t.Fatal(err)
			}
		}
	}
	if issued > 2 || !s.current.covers([]string{"a", "b", "c"}) {
		t.Errorf("made %d pairs, the last for %v; want all names in the second", issued, s.current.names())
	}
}

func TestRevokedAuthorityLeavesOnceAnotherPairIsServed(t *testing.T) {
	leaked, fresh := made(t, "svc"), made(t, "svc")
	after := state{current: leaked, next: fresh, revoked: leaked.authority}.promote().forget()
	if bytes.Contains(after.authorities(), leaked.authority) || after.revoked != nil {
		t.Error("the revoked authority stays trusted")
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
