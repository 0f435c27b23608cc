package certificate

import (
	"crypto/tls"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

var errNotYet = errors.New("no certificate yet: the leader creates it")

// served holds the served key pair. It implements Source.
type served struct {
	pair  atomic.Pointer[keyPair]
	once  sync.Once
	ready chan struct{}

	mu        sync.Mutex
	listeners []dynamiccertificates.Listener
}

func newServed() *served { return &served{ready: make(chan struct{})} }

// ConfigureTLS implements Source.
func (s *served) ConfigureTLS(config *tls.Config) {
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		current := s.pair.Load()
		if current == nil {
			return nil, errNotYet
		}
		return &current.parsed, nil
	}
}

// Ready implements Source.
func (s *served) Ready() <-chan struct{} { return s.ready }

// NotAfter implements Source.
func (s *served) NotAfter() (end time.Time, ok bool) {
	current := s.pair.Load()
	if current == nil {
		return time.Time{}, false
	}
	return current.notAfter, true
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (*served) Name() string { return "berth-serving" }

// AddListener implements dynamiccertificates.Notifier.
func (s *served) AddListener(listener dynamiccertificates.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, listener)
}

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider. It returns nothing before the first key pair.
func (s *served) CurrentCertKeyContent() (certificate, key []byte) {
	current := s.pair.Load()
	if current == nil {
		return nil, nil
	}
	return current.certificate, current.key
}

// serve serves a key pair from now on, if it is not nil. It reports whether the key pair has changed.
func (s *served) serve(current *keyPair) bool {
	if current == nil || current.equal(s.pair.Load()) {
		return false
	}
	s.pair.Store(current)
	s.once.Do(func() { close(s.ready) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, listener := range s.listeners {
		listener.Enqueue()
	}
	return true
}
