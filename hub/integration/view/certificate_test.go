//go:build slow

package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	viewconfig "github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// trustDelay is how long the next self-signed key pair waits before it is served.
const trustDelay = 2 * time.Minute

var errOtherCertificate = errors.New("not every replica serves the certificate")

// TestReplicasServeWithOneCertificate runs two replicas, a leader and another. The certificate is created, renewed together with its
// CA, and kept when the leader stops. Webhooks and views respond at every instant before that, and every served certificate is
// trusted.
func TestReplicasServeWithOneCertificate(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manifests: viewconfig.Local()})
	o := newObserver(t, hub)
	election := hubtest.ManagerOptions{AllowErrors: true, Args: []string{ // a replica that stops logs that it lost the lease
		"--leader-elect=true", "--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=200ms",
	}}
	one, two := startReplica(t, hub, election), startReplica(t, hub, election)
	all := func(ctx context.Context, replicas []*replica, want []byte) error {
		got, err := o.servedCertificates(ctx, replicas...)
		for _, certificate := range got {
			if !bytes.Equal(certificate, want) {
				err = errOtherCertificate
			}
		}
		return err
	}
	kit.Await(t, "both replicas serve with the stored certificate", func(ctx context.Context) error {
		return errors.Join(all(ctx, []*replica{one, two}, o.storedLeaf(ctx)), o.checkAnswers(ctx))
	})

	before, _ := o.secret(t)
	certificate, key := newAgedKeyPair(t, trustDelay-5*time.Second)
	patch := kit.Must(json.Marshal(map[string]any{"data": map[string][]byte{"next.crt": certificate, "next.key": key}})).In(t)
	kit.Must(o.typed.CoreV1().Secrets("berth-system").Patch(t.Context(), "berth-serving", types.MergePatchType, patch,
		metav1.PatchOptions{})).In(t)
	looks := 0
	kit.Await(t, "both replicas serve with the next certificate", func(ctx context.Context) error {
		err := all(ctx, []*replica{one, two}, leafDER(certificate))
		if err != nil && !errors.Is(err, errOtherCertificate) {
			t.Fatalf("after %d checks a server is not trusted: %v", looks, err)
		}
		if err := o.checkAnswers(ctx); err != nil {
			t.Fatalf("after %d checks there is no response: %v", looks, err)
		}
		looks++
		return err
	})
	t.Logf("checked %d times", looks)
	after, version := o.secret(t)
	if !bytes.Equal(after["tls.crt"], certificate) || !bytes.Contains(after["ca.crt"], before["ca.crt"]) {
		t.Error("the Secret does not have the next certificate, or the former CA is not trusted any more")
	}
	bundles := kit.Must(o.bundles(t.Context())).In(t)
	for _, bundle := range bundles {
		if !bytes.Equal(bundle.authorities, after["ca.crt"]) || bytes.Count(bundle.authorities, []byte("BEGIN")) != 2 {
			t.Errorf("for %s, the trusted CAs are not the current and the former CA", bundle.host)
		}
	}

	leader, heir := one, two
	if url, err := o.webhookURL(t.Context()); err != nil || strings.HasSuffix(url, two.WebhookAddress+"/validate-managedcluster") {
		leader, heir = two, one
	}
	leader.Kill()
	kit.Await(t, "the successor is registered", func(ctx context.Context) error {
		if err := all(ctx, []*replica{heir}, leafDER(certificate)); err != nil {
			t.Fatalf("while no replica leads: %v", err)
		}
		url, err := o.webhookURL(ctx)
		if err == nil && !strings.Contains(url, heir.WebhookAddress) {
			err = fmt.Errorf("the webhooks are at %s", url)
		}
		return errors.Join(err, o.checkAnswers(ctx))
	})
	if _, now := o.secret(t); now != version {
		t.Error("the next leader has written the certificate")
	}
}

// TestTwoLeadersAgree starts two managers that both lead, as after a configuration error. The certificate is created once.
func TestTwoLeadersAgree(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manifests: viewconfig.Local()})
	o := newObserver(t, hub)
	leading := hubtest.ManagerOptions{AllowErrors: true} // their writes conflict
	one, two := startReplica(t, hub, leading), startReplica(t, hub, leading)
	kit.Await(t, "both replicas respond", func(ctx context.Context) error {
		got, err := o.servedCertificates(ctx, one, two)
		for _, certificate := range got {
			if !bytes.Equal(certificate, o.storedLeaf(ctx)) {
				t.Fatal("a replica serves a certificate that is not the stored one")
			}
		}
		return errors.Join(err, o.checkAnswers(ctx))
	})
	for _, replica := range []*replica{one, two} {
		if got := strings.Count(replica.Log(), "serving a new certificate"); got != 1 {
			t.Errorf("a replica served %d certificates, want one", got)
		}
	}
}

// TestNoWebhookCallFailsWhileCertificatesRotate writes without a pause, while a replica with another name joins two others, and
// while the Secret is deleted, as after a leak of its key. Both leaders publish their address in turn, so requests reach either.
func TestNoWebhookCallFailsWhileCertificatesRotate(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manifests: viewconfig.Local()})
	o := newObserver(t, hub)
	both := hubtest.ManagerOptions{AllowErrors: true} // their writes conflict
	one := startReplica(t, hub, both)
	kit.Await(t, "webhooks and views respond", o.checkAnswers)
	first := o.storedLeaf(t.Context())

	requests := 0
	until := func(what string, reached func(context.Context) bool) {
		t.Helper()
		kit.Await(t, what, func(ctx context.Context) error {
			requests++
			if err := o.checkAnswers(ctx); err != nil {
				t.Fatalf("request %d, before %s: %v", requests, what, err)
			}
			if !reached(ctx) {
				return errors.New("not yet: " + what)
			}
			return nil
		})
	}
	address := strings.Replace(hubtest.FreeAddress(t), "127.0.0.1", "127.0.0.2", 1)
	startReplica(t, hub, hubtest.ManagerOptions{AllowErrors: true, Args: []string{
		"--webhook-bind-address=" + address, "--webhook-url=https://" + address,
	}})
	at := func(address string) func(context.Context) bool {
		return func(ctx context.Context) bool {
			url, err := o.webhookURL(ctx)
			return err == nil && strings.HasPrefix(url, "https://"+address+"/")
		}
	}
	until("the other name is registered", at(address))
	if second := o.storedLeaf(t.Context()); bytes.Equal(first, second) {
		t.Error("the other name is registered without a certificate for it")
	}
	until("the first replica registers itself again", at(one.WebhookAddress))

	leaked, _ := o.secret(t)
	kit.NoError(t, o.typed.CoreV1().Secrets("berth-system").Delete(t.Context(), "berth-serving", metav1.DeleteOptions{}))
	authority := leaked["tls.crt"][bytes.LastIndex(leaked["tls.crt"], []byte("-----BEGIN")):]
	until("another certificate is stored", func(ctx context.Context) bool {
		now := o.storedLeaf(ctx)
		return now != nil && !bytes.Equal(now, leafDER(leaked["tls.crt"]))
	})
	until("the CA of the deleted certificate is no longer trusted", func(ctx context.Context) bool {
		bundles, err := o.bundles(ctx)
		for _, bundle := range bundles {
			if err != nil || bytes.Contains(bundle.authorities, authority) {
				return false
			}
		}
		return true
	})
	t.Logf("%d requests of two kinds succeeded", requests)
}
