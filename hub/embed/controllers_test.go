package embed

import (
	"strings"
	"testing"
)

// TestTheSignerOfAgentsIsOffWithoutItsKey: without a key, the controllers would not start, or sign with that of another signer.
func TestTheSignerOfAgentsIsOffWithoutItsKey(t *testing.T) {
	for ca, want := range map[string]bool{"": false, "agents-ca.crt": true} {
		flags := strings.Join(ControllerOptions{AgentCA: ca, AgentCAKey: ca}.Flags(), " ")
		if strings.Contains(flags, "certificatesigningrequest-signing-controller") != want ||
			strings.Contains(flags, "--cluster-signing-") != want {
			t.Errorf("with the CA %q the flags are %s", ca, flags)
		}
	}
}
