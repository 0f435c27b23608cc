package kit

import (
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// SharedManager is the manager of the tests of a package. It starts with the first test that needs it, and again after Stop. TestMain calls
// Shutdown. Only one test may use it at a time.
type SharedManager struct {
	// Start starts a manager with the option Shared.
	Start   func(t testing.TB) *hubtest.Manager
	current *hubtest.Manager
}

// Require returns the manager, and checks its log at the end of the test. The test must not stop it but by Stop.
func (s *SharedManager) Require(t testing.TB) *hubtest.Manager {
	t.Helper()
	if s.current == nil {
		s.current = s.Start(t)
	}
	out := s.current
	t.Cleanup(func() { out.CheckLog(t) })
	return out
}

// Stop stops the manager, if it runs, for a test that starts its own, and checks its log.
func (s *SharedManager) Stop(t testing.TB) {
	t.Helper()
	if s.current != nil {
		s.current.Stop()
		s.current.CheckLog(t)
		s.current = nil
	}
}

// Shutdown stops the manager after all tests.
func (s *SharedManager) Shutdown() {
	if s.current != nil {
		s.current.Stop()
	}
}
