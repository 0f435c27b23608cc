package certificate

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

var errBoom = errors.New("boom")

func newKeyPair(t *testing.T, names ...string) *keyPair {
	t.Helper()
	out, err := issue(names)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLife steps through the lifetime of a certificate, by days and by less around each change.
func TestLife(t *testing.T) {
	names := []string{"svc.ns.svc", "127.0.0.1"}
	first, second := newKeyPair(t, names...), newKeyPair(t, names...)
	begin := first.createdAt
	second.createdAt, second.notAfter = first.renewalTime(), first.renewalTime().Add(lifetime)
	makes := func(p *keyPair) func([]string) (*keyPair, error) {
		return func([]string) (*keyPair, error) { return p, nil }
	}
	never := func([]string) (*keyPair, error) { return nil, errBoom }
	step := func(s rotationState, at time.Time, issue func([]string) (*keyPair, error)) rotationState {
		t.Helper()
		out, err := s.step(names, at, issue)
		if err != nil {
			t.Fatalf("step at %s: %v", at.Sub(begin), err)
		}
		return out
	}
	s := step(rotationState{}, begin, makes(first))
	if !s.equal(rotationState{current: first}) {
		t.Fatalf("first state = %v, want the first pair", s)
	}
	for at := begin; at.Before(first.renewalTime()); at = at.Add(24 * time.Hour) {
		if after := step(s, at, never); !after.equal(s) {
			t.Fatalf("changed after %s", at.Sub(begin))
		}
	}
	s = step(s, first.renewalTime(), makes(second))
	if !s.equal(rotationState{current: first, next: second}) {
		t.Fatal("when due, the next pair must wait beside the current one")
	}
	if got, want := s.caBundle(), bytes.Join([][]byte{first.caBundle, second.caBundle}, nil); !bytes.Equal(got, want) {
		t.Error("while the next pair waits, both authorities must be trusted")
	}
	if after := step(s, second.createdAt.Add(trustDelay-time.Second), never); !after.equal(s) {
		t.Error("the next pair was served before it was trusted")
	}
	s = step(s, second.createdAt.Add(trustDelay), never)
	if !s.equal(rotationState{current: second, retired: retiredCAs(first)}) {
		t.Fatal("after the overlap the next pair must be the current one, and the former be trusted still")
	}
	if s = step(s, first.notAfter, never); !s.equal(rotationState{current: second}) {
		t.Error("a pair that has ended must not be trusted any more")
	}
}

// retiredCAs returns the CAs of former key pairs.
func retiredCAs(pairs ...*keyPair) []caCertificate {
	var out []caCertificate
	for _, p := range pairs {
		out = append(out, caCertificate{p.caBundle, p.notAfter})
	}
	return out
}

func TestImmediateSteps(t *testing.T) {
	good, other, wide := newKeyPair(t, "svc.ns.svc"), newKeyPair(t, "svc.ns.svc", "localhost"), newKeyPair(t, "svc.ns.svc", "localhost")
	one, two := []string{"svc.ns.svc"}, []string{"svc.ns.svc", "localhost"}
	for name, tc := range map[string]struct {
		before rotationState
		names  []string
		at     time.Time
		want   rotationState
	}{
		"a pair that has ended is replaced at once": {
			rotationState{current: good},
			one, good.notAfter.Add(time.Minute),
			rotationState{current: other},
		},
		"no pair that can be read is replaced at once": {rotationState{next: good}, two, good.createdAt, rotationState{current: other}},
		"a pair without a name stays until the next is there": {
			rotationState{current: good},
			two, good.createdAt,
			rotationState{current: good, next: other},
		},
		"and then the next need not wait for the overlap": {
			rotationState{current: good, next: wide},
			two, good.createdAt,
			rotationState{current: wide, retired: retiredCAs(good)},
		},
		"a next pair without a name makes room for another": {
			rotationState{current: good, next: good},
			two, good.createdAt,
			rotationState{current: good, next: other},
		},
		"names that a pair has beside those wanted are no harm": {
			rotationState{current: wide},
			one, good.createdAt,
			rotationState{current: wide},
		},
		"a revoked pair stays until the next is there": {
			rotationState{current: good, revoked: good.caBundle},
			one,
			good.createdAt,
			rotationState{current: good, next: other, revoked: good.caBundle},
		},
		"and then stays trusted for the replicas that serve it": {
			rotationState{current: good, next: other, revoked: good.caBundle},
			one,
			good.createdAt,
			rotationState{current: other, retired: retiredCAs(good), revoked: good.caBundle},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.before.step(tc.names, tc.at, func([]string) (*keyPair, error) { return other, nil })
			if err != nil || !got.equal(tc.want) {
				t.Errorf("step = %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

// TestNamesOfReplicasOfTwoVersions alternates between leaders with different names. Neither removes the names of the other.
func TestNamesOfReplicasOfTwoVersions(t *testing.T) {
	issued := 0
	quick := func(names []string) (*keyPair, error) {
		issued++
		return issueAt(t, time.Unix(0, 0), names...), nil
	}
	s := rotationState{current: issueAt(t, time.Unix(0, 0), "a")}
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

func TestRevokedCAIsRemovedOnceAnotherPairIsServed(t *testing.T) {
	leaked, fresh := newKeyPair(t, "svc"), newKeyPair(t, "svc")
	after := rotationState{current: leaked, next: fresh, revoked: leaked.caBundle}.promote().withoutRevoked()
	if bytes.Contains(after.caBundle(), leaked.caBundle) || after.revoked != nil {
		t.Error("the revoked authority stays trusted")
	}
}

func TestStepKeepsWhatIsServedWhenMakingFails(t *testing.T) {
	current := newKeyPair(t, "svc")
	_, err := rotationState{current: current}.step([]string{"svc"}, current.renewalTime(),
		func([]string) (*keyPair, error) { return nil, errBoom })
	if !errors.Is(err, errBoom) {
		t.Errorf("step = %v, want the failure", err)
	}
}

func TestParseRequiresTheCA(t *testing.T) {
	p := newKeyPair(t, "svc")
	leaf, _, _ := bytes.Cut(p.certificate, []byte("-----END CERTIFICATE-----\n"))
	if _, err := parseWithCA(append(bytes.Clone(leaf), "-----END CERTIFICATE-----\n"...), p.key); !errors.Is(err, errNoAuthority) {
		t.Errorf("parse = %v, want %v", err, errNoAuthority)
	}
}
