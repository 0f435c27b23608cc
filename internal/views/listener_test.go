package views

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// fakeCAProvider has no CA at first.
type fakeCAProvider struct {
	dynamiccertificates.CAContentProvider
	known atomic.Bool
}

func (f *fakeCAProvider) CurrentCABundleContent() []byte {
	if !f.known.Load() {
		return nil
	}
	return []byte("authorities")
}

// fakeListener always has a connection to accept.
type fakeListener struct{ net.Listener }

func (fakeListener) Accept() (net.Conn, error) { return nil, nil } //nolint:nilnil // the test does not use the connection

func TestConnectionsWaitForTrustedCAs(t *testing.T) {
	for sentence, test := range map[string]struct{ known, want time.Duration }{
		"both have a CA at once":         {0, 0},
		"one has a CA later":             {time.Second, time.Second},
		"one has a CA after the timeout": {time.Hour, trustTimeout},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &fakeCAProvider{}, &fakeCAProvider{}
				first.known.Store(true)
				time.AfterFunc(test.known, func() { second.known.Store(true) })
				synctest.Wait()
				p := newGatedListener(t.Context(), fakeListener{}, []dynamiccertificates.CAContentProvider{first, second})
				began := time.Now()
				for range 2 {
					if _, err := p.Accept(); err != nil {
						t.Fatal(err)
					}
				}
				if got := time.Since(began).Truncate(time.Second); got != test.want {
					t.Errorf("accepted after %s, want %s", got, test.want)
				}
			})
		})
	}
}
