package manager

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/config"
	viewconfig "github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/internal/admission/certificate/cabundle"
)

// TestCertificateHosts checks that a certificate is valid for every address that the API server may use. It checks the
// certificate of the manager and of the optional manifest.
func TestCertificateHosts(t *testing.T) {
	services := []string{"berth-views.berth-system.svc", "berth.berth-system.svc"}
	for sentence, test := range map[string]struct {
		address cabundle.Address
		want    []string
	}{
		"by Services": {cabundle.Address{}, []string{"127.0.0.1", services[0], services[1], "localhost"}},
		"by an address of this host": {
			cabundle.Address{URL: "https://127.0.0.1:9443"},
			[]string{"127.0.0.1", services[0], services[1], "localhost"},
		},
		"by an address of another": {
			cabundle.Address{URL: "https://hub.test"},
			[]string{"127.0.0.1", services[0], services[1], "hub.test", "localhost"},
		},
		"by another port of the view": {cabundle.Address{Port: 8443}, []string{"127.0.0.1", services[0], services[1], "localhost"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			registered, err := cabundle.New(nil, test.address, config.Webhooks())
			if err != nil {
				t.Fatal(err)
			}
			got, err := certificateHosts(nil, registered)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
		})
	}
	all, err := cabundle.New(nil, cabundle.Address{}, config.Webhooks(), viewconfig.Registration())
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("../../config/certmanager/certificate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(manifest), "\n---\n")
	var certificate struct {
		Spec struct{ DNSNames []string }
	}
	if err := yaml.Unmarshal([]byte(text), &certificate); err != nil {
		t.Fatal(err)
	}
	slices.Sort(certificate.Spec.DNSNames)
	if diff := cmp.Diff(all.Hosts(), certificate.Spec.DNSNames); diff != "" {
		t.Errorf("names in the optional manifest (-want +got):\n%s", diff)
	}
}
