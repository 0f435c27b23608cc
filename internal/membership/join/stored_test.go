package join_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-project/berth/internal/membership/join"
)

func TestStoredBootstrapIsThatOfAnAgentThatHasJoined(t *testing.T) {
	const hub = "https://hub.example"
	bootstrap, err := join.BootstrapKubeconfig(join.Endpoint{URL: hub, Authority: []byte("CA")}, "token")
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		files map[string][]byte
		hub   string
		want  bool
	}{
		"an agent has joined":         {map[string][]byte{join.BootstrapFile: bootstrap, "hub/kubeconfig": nil}, hub, true},
		"it has joined another hub":   {map[string][]byte{join.BootstrapFile: bootstrap, "hub/kubeconfig": nil}, "https://other.example", false},
		"it has not joined":           {map[string][]byte{join.BootstrapFile: bootstrap}, hub, false},
		"its kubeconfig is lost":      {map[string][]byte{"hub/kubeconfig": nil}, hub, false},
		"its kubeconfig is damaged":   {map[string][]byte{join.BootstrapFile: []byte("{"), "hub/kubeconfig": nil}, hub, false},
		"its kubeconfig names no hub": {map[string][]byte{join.BootstrapFile: nil, "hub/kubeconfig": nil}, hub, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, join.HubFolder), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, ok := join.StoredBootstrap(dir, test.hub)
			if ok != test.want || ok && !bytes.Equal(got, bootstrap) {
				t.Errorf("StoredBootstrap = %q, %t, want %t", got, ok, test.want)
			}
		})
	}
}
