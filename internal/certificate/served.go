package certificate

import (
	"crypto/tls"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var errNotYet = errors.New("no certificate yet: the leader creates it")

// served holds the served key pair. It implements Source.
type served struct {
	pair  atomic.Pointer[keyPair]
	once  sync.Once
	ready chan struct{}

	mu      sync.Mutex
	changed []func()
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

// OnChange implements Source.
func (s *served) OnChange(call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = append(s.changed, call)
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
	for _, call := range s.changed {
		call()
	}
	return true
}
