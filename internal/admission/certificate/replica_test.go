package certificate

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// issueAt makes a key pair like the one of issue, but faster, at an instant.
func issueAt(t *testing.T, now time.Time, names ...string) *keyPair {
	t.Helper()
	authorityKey, serverKey := newKey(t), newKey(t)
	serial, err := cryptorand.Int(cryptorand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	signer := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "authority " + serial.String()}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-backdated), NotAfter: now.Add(lifetime), KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "server"}, NotBefore: signer.NotBefore, NotAfter: signer.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	var chain bytes.Buffer
	for _, made := range []struct {
		certificate *x509.Certificate
		key         *ecdsa.PrivateKey
	}{{leaf, serverKey}, {signer, authorityKey}} {
		der, err := x509.CreateCertificate(cryptorand.Reader, made.certificate, signer, made.key.Public(), authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		chain.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	der, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}
	out, err := parseWithCA(chain.Bytes(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	out, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// replicaSet are several managers that share a Secret and an API server. The first of them leads.
type replicaSet struct {
	t        *testing.T
	clock    *clocktesting.FakeClock
	secret   *fakeHub
	api      *fakeAPIServer
	all      []*SelfSigned
	rotated  int
	previous *keyPair
}

func (r *replicaSet) start(names ...string) {
	r.all = append(r.all, &SelfSigned{
		served: newServed(), names: names, clock: r.clock, publisher: fakePublisher{r.api, names},
		store: secretStore{reader: r.secret, writer: r.secret, key: types.NamespacedName{Namespace: "ns", Name: secretName}},
		issue: func(names []string) (*keyPair, error) { return issueAt(r.t, r.clock.Now(), names...), nil },
	})
}

// checkTrusted fails the test if the API server does not trust the certificate of a replica for a registered name.
func (r *replicaSet) checkTrusted(seed uint64, after string) {
	r.t.Helper()
	if r.api.names == nil {
		return
	}
	for number, replica := range r.all {
		served := replica.pair.Load()
		if served == nil {
			continue // it is not ready, so no request reaches it
		}
		if !served.trusted(r.api.authorities, r.clock.Now()) || !r.clock.Now().Before(served.notAfter) {
			r.t.Fatalf("seed %d, %s: replica %d of %d serves a pair that the API server does not trust", seed, after, number, len(r.all))
		}
		if !served.covers(r.api.names) {
			r.t.Fatalf("seed %d, %s: the API server connects by the names %v, replica %d serves a key pair for %v", seed, after, r.api.names, number,
				served.names())
		}
	}
	if current := r.all[0].pair.Load(); !current.equal(r.previous) {
		r.previous = current
		r.rotated++
	}
}

// TestEveryPairServedIsTrusted starts and stops replicas, changes the leader, adds names, deletes and damages the Secret, and
// advances time by days. After each step the API server must trust the certificate of every replica.
func TestEveryPairServedIsTrusted(t *testing.T) {
	rotated := 0
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 20))
		r := &replicaSet{t: t, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), secret: &fakeHub{}, api: &fakeAPIServer{}}
		wanted := []string{"svc"}
		r.start(wanted...)
		for range 25 {
			event := "time passes"
			r.all = r.all[:min(len(r.all), 4)]
			switch random.IntN(8) {
			case 0, 1:
				r.start(wanted...)
				event = "a replica starts"
			case 2:
				if len(r.all) > 1 {
					r.all = r.all[1:]
					event = "the leader goes"
				}
			case 3:
				wanted = append(wanted, string(rune('a'+len(wanted)))+".test")
				r.start(wanted...)
				event = "a replica with another name starts"
				if random.IntN(2) == 0 {
					r.all = append(r.all[len(r.all)-1:], r.all[:len(r.all)-1]...)
					event += " and leads"
				}
			case 4:
				r.secret.secret = nil
				event = "the Secret is deleted"
			case 5:
				if r.secret.secret != nil {
					r.secret.secret.Data["tls.crt"] = []byte("spoilt")
					event = "the Secret is spoilt"
				}
			case 6:
				event = "days pass"
				r.advance(seed, "before days pass", 2*trustDelay, random) // a replica that is asleep meanwhile reads nothing
				r.clock.Step(time.Duration(random.IntN(20)) * 24 * time.Hour)
				r.advance(seed, event, 2*trustDelay, random)
			}
			r.advance(seed, event, time.Duration(random.IntN(6))*time.Minute, random)
		}
		rotated += r.rotated
	}
	if rotated < 20 {
		t.Errorf("rotated %d times in all, too few to mean anything", rotated)
	}
}

// advance advances time. Within each ten seconds every replica reads the Secret once and the leader renews once, in any order.
func (r *replicaSet) advance(seed uint64, event string, period time.Duration, random *rand.Rand) {
	r.t.Helper()
	ctx := context.WithoutCancel(r.t.Context())
	for passed := time.Duration(0); passed <= period; passed += pollInterval {
		r.clock.Step(pollInterval / 2)
		for _, turn := range random.Perm(len(r.all) + 1) {
			var err error
			if turn == len(r.all) {
				err = r.all[0].renew(ctx)
			} else {
				err = r.all[turn].syncStored(ctx)
			}
			if err != nil {
				r.t.Fatalf("seed %d, %s: %v", seed, event, err)
			}
			r.checkTrusted(seed, event)
		}
		r.clock.Step(pollInterval / 2)
	}
}
