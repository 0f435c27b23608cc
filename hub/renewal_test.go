package hub

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/pki"
)

// renewing is a renewal with a clock that the test moves, in a folder without a hub.
type renewing struct {
	*renewal
	t     *testing.T
	clock *clocktesting.FakeClock
	// trusted is what the API server trusts, and published what servers of aggregated APIs read.
	trusted, published bool
}

func newRenewing(t *testing.T) *renewing {
	t.Helper()
	dir, clock := newDataDir(t), clocktesting.NewFakeClock(today)
	issued, err := issueKeys(dir.Path(datadir.PKIFolder), nil, clock)
	if err != nil {
		t.Fatal(err)
	}
	users := &systemUsers{dir: dir, users: issued.users, server: "https://127.0.0.1:1", manager: Identity{User: "manager"}}
	if err := users.writeKubeconfigs(today); err != nil {
		t.Fatal(err)
	}
	if err := users.publish(); err != nil {
		t.Fatal(err)
	}
	out := &renewing{t: t, clock: clock}
	out.renewal = &renewal{
		dir: dir, users: users, keys: issued, clock: clock, issued: today,
		agentsTrusted:    func(context.Context, time.Time) (bool, error) { return out.trusted, nil },
		proxiesPublished: func(context.Context, string) (bool, error) { return out.published, nil },
	}
	return out
}

// step moves the clock and renews what is due.
func (r *renewing) step(by time.Duration) {
	r.t.Helper()
	r.clock.Step(by)
	if err := r.renew(r.t.Context(), r.clock.Now()); err != nil {
		r.t.Fatal(err)
	}
}

// changed returns the names of the files in the folder of certificates whose content differs from earlier, and the files now.
func (r *renewing) changed(earlier map[string]string) (names []string, now map[string]string) {
	r.t.Helper()
	now = map[string]string{}
	paths, err := filepath.Glob(r.dir.Path(datadir.PKIFolder, "*.crt"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, path := range append(paths, r.dir.Path(datadir.AdminKubeconfig)) {
		text, err := os.ReadFile(path)
		if err != nil {
			r.t.Fatal(err)
		}
		name := filepath.Base(path)
		now[name] = string(text)
		if earlier[name] != now[name] {
			names = append(names, name)
		}
	}
	return names, now
}

// leaf returns the first certificate of a file.
func (r *renewing) leaf(name string) *x509.Certificate {
	r.t.Helper()
	text, err := os.ReadFile(r.dir.Path(datadir.PKIFolder, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return parsed(r.t, text)
}

func parsed(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	out, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// signedParts are the files with the certificates that a running hub signs for its own parts.
func signedParts() []string {
	return []string{
		"admin.crt", "controllers.crt", "etcd-client.crt", "etcd-server.crt", "manager.crt", "proxy.crt", "serving.crt",
		datadir.AdminKubeconfig,
	}
}

func TestCertificatesAreRenewedAfterHalfOfTheirLife(t *testing.T) {
	r := newRenewing(t)
	_, files := r.changed(nil)
	for _, name := range signedParts()[:7] {
		if end := r.leaf(name).NotAfter; end.After(today.Add(certificateLife)) {
			t.Errorf("%s is valid until %s, want a year at most", name, end)
		}
	}
	r.step(certificateLife/2 - time.Minute)
	if names, _ := r.changed(files); len(names) > 0 {
		t.Errorf("%v were renewed before they are due", names)
	}
	r.step(time.Minute)
	names, files := r.changed(files)
	if diff := cmp.Diff(signedParts(), names); diff != "" {
		t.Errorf("renewed when they are due (-want +got):\n%s", diff)
	}
	for _, name := range signedParts()[:7] {
		leaf := r.leaf(name)
		if want := r.clock.Now().Add(certificateLife); !leaf.NotAfter.Equal(want) {
			t.Errorf("%s is valid until %s, want %s", name, leaf.NotAfter, want)
		}
		if leaf.NotBefore.After(today.Add(-time.Hour)) {
			t.Errorf("%s is valid from %s, which is late for a clock that is behind or set back", name, leaf.NotBefore)
		}
	}
	r.step(time.Hour)
	if names, _ := r.changed(files); len(names) > 0 {
		t.Errorf("%v were renewed again", names)
	}
}

// TestTheCAOfAgentsIsReplaced checks that the next CA is trusted before it signs, and the former one for as long as its certificates last.
func TestTheCAOfAgentsIsReplaced(t *testing.T) {
	r := newRenewing(t)
	former := r.keys.agents.Signing()
	joined, err := former.Client(today.Add(6*365*24*time.Hour), "system:open-cluster-management:c1:a")
	if err != nil {
		t.Fatal(err)
	}
	r.step(pki.Lifetime/2 - time.Hour)
	if r.keys.agents.Next() != nil || r.keys.proxies.Next() != nil {
		t.Fatal("a CA is replaced before half of its life has passed")
	}
	r.step(2 * time.Hour)
	if r.keys.agents.Next() == nil || r.keys.agents.Signing() != former {
		t.Fatal("the next CA does not exist, or signs before it is trusted")
	}
	next := parsed(t, r.keys.agents.Next().CertPEM())
	if _, err := next.Verify(verifiedBy(t, r.keys.clientCAs, r.clock.Now())); err != nil {
		t.Errorf("the API server does not trust the next CA: %v", err)
	}
	r.trusted = true
	r.step(time.Minute)
	replaced := r.clock.Now()
	if got := r.leaf("agents-ca.crt"); !got.Equal(next) || r.keys.agents.Next() != nil {
		t.Errorf("%s signs, want the next CA", got.Subject)
	}
	agent := parsed(t, joined.Cert)
	for after, want := range map[time.Duration]bool{0: true, 91 * 24 * time.Hour: true, 93 * 24 * time.Hour: false} {
		if _, err := agent.Verify(verifiedBy(t, r.keys.clientCAs, replaced.Add(after))); (err == nil) != want {
			t.Errorf("%s after the replacement, a certificate of the former CA: %v, want it valid: %t", after, err, want)
		}
	}
	again, err := openAuthorities(r.keys.dir, replaced)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(r.keys.agents.Bundle()), string(again.agents.Bundle())); diff != "" {
		t.Errorf("after a restart the hub trusts others (-want +got):\n%s", diff)
	}
}

func verifiedBy(t *testing.T, bundle string, at time.Time) x509.VerifyOptions {
	t.Helper()
	text, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
}

// TestTheCAOfTheAggregatorIsReplaced checks that servers have read the next CA for a while before it signs.
func TestTheCAOfTheAggregatorIsReplaced(t *testing.T) {
	r := newRenewing(t)
	if err := os.WriteFile(r.dir.Path("renew-certificates"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first := r.leaf("proxy.crt").Issuer.String()
	r.step(time.Second)
	if requested, err := r.dir.RenewalRequested(); err != nil || requested {
		t.Errorf("the request is still there: %v", err)
	}
	r.step(time.Hour)
	if got := r.leaf("proxy.crt").Issuer.String(); got != first {
		t.Errorf("%s signs before a server reads it", got)
	}
	r.published = true
	r.step(time.Second)
	r.step(proxyTrustDelay - time.Second)
	if got := r.leaf("proxy.crt").Issuer.String(); got != first {
		t.Errorf("%s signs before servers had the time to follow", got)
	}
	r.step(time.Second)
	if got := r.leaf("proxy.crt").Issuer.String(); got == first || !strings.Contains(got, "proxies-ca@") {
		t.Errorf("%s signs, want the next CA", got)
	}
	if _, err := r.leaf("proxy.crt").Verify(verifiedBy(t, r.keys.proxyCAs, r.clock.Now())); err != nil {
		t.Errorf("the new certificate of the aggregator: %v", err)
	}
}

// TestTheCAOfEtcdIsReplacedAtAStart checks that the CA of etcd never expires in a hub that is restarted within five years.
func TestTheCAOfEtcdIsReplacedAtAStart(t *testing.T) {
	dir := t.TempDir()
	first, err := openEtcdAuthority(dir, today)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after    time.Duration
		replaced bool
	}{{pki.Lifetime/2 - time.Hour, false}, {pki.Lifetime/2 + time.Hour, true}} {
		got, err := openEtcdAuthority(dir, today.Add(step.after))
		if err != nil {
			t.Fatal(err)
		}
		if replaced := string(got.CertPEM()) != string(first.CertPEM()); replaced != step.replaced {
			t.Errorf("after %s the CA is replaced: %t, want %t", step.after, replaced, step.replaced)
		}
	}
}
