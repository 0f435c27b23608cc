//go:build unix

package process

import (
	"net"
	"strconv"
	"testing"
)

// TestFreeAddress: every address is another one, no process listens on it, and no outgoing connection gets its port.
func TestFreeAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		address, err := FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		_, text, err := net.SplitHostPort(address)
		if port, notNumber := strconv.Atoi(text); err != nil || notNumber != nil || port < firstPort || port > lastPort || seen[address] {
			t.Errorf("%s: error %v, seen before: %t", address, err, seen[address])
		}
		seen[address] = true
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
