package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/cluster"
)

func TestRegistrationFaultSaysWhyAClusterIsNotReported(t *testing.T) {
	recorded := func(uid string, accepted bool) *clusterv1.ManagedCluster {
		out := &clusterv1.ManagedCluster{}
		out.Name, out.Spec.HubAcceptsClient = "c1", accepted
		out.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: uid}
		return out
	}
	for sentence, test := range map[string]struct {
		state cluster.State
		want  error
		text  string
	}{
		"accepted": {cluster.State{Access: cluster.Present, UID: "u1", Cluster: recorded("u1", true)}, nil, ""},
		"not accepted": {
			cluster.State{Access: cluster.Present, UID: "u1", Cluster: recorded("u1", false)},
			errNotAccepted,
			"kubectl berth accept",
		},
		"the hub has another member": {
			cluster.State{Access: cluster.Present, UID: "u2", Cluster: recorded("u1", true)},
			errOther,
			`UID "u1", and this one has the UID "u2"`,
		},
		"another member that is refused": {
			cluster.State{Access: cluster.Present, UID: "u2", Cluster: recorded("u1", false)},
			errOther,
			"accept --replace",
		},
		"deleted":                    {cluster.State{Access: cluster.Absent}, errDeleted, ""},
		"not readable":               {cluster.State{Access: cluster.Forbidden}, errNotReadable, ""},
		"the certificate is refused": {cluster.State{Access: cluster.Unauthorized}, errRefused, ""},
		"nothing is read":            {cluster.State{}, errNotRead, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := registrationFault(test.state)
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("registrationFault = %v, want %v with %q", err, test.want, test.text)
			}
		})
	}
}

func TestEachLookReadsTheBootstrapKubeconfigAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	s := &session{process: &process{options: Options{BootstrapKubeconfig: file}, log: slog.New(slog.DiscardHandler)}}
	if s.mustJoin(t.Context(), cluster.Join) != nil {
		t.Error("the agent joins without a bootstrap kubeconfig")
	}
	for _, token := range []string{"first", "second"} {
		text := fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"hub","user":"u"}}],
			"clusters":[{"name":"hub","cluster":{"server":"https://hub.example"}}],"users":[{"name":"u","user":{"token":%q}}]}`, token)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.mustJoin(t.Context(), cluster.Join); got == nil || got.Config.BearerToken != token {
			t.Errorf("the agent joins with %+v, want the token %s", got, token)
		}
	}
}
