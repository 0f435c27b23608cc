package apiserver

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/util/cert"
	"k8s.io/kube-openapi/pkg/validation/spec"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewv1 "github.com/berth-project/berth/api/view/v1"
)

func TestTypesHaveOneName(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	for kind, object := range map[string]runtime.Object{
		"ManagedCluster": &clusterv1.ManagedCluster{}, "ManagedClusterList": &clusterv1.ManagedClusterList{},
		"ManagedClusterSet": &clusterv1beta2.ManagedClusterSet{}, "ManagedClusterSetList": &clusterv1beta2.ManagedClusterSetList{},
	} {
		got, _, err := scheme.ObjectKinds(object)
		if err != nil || len(got) != 1 || got[0] != viewv1.SchemeGroupVersion.WithKind(kind) {
			t.Errorf("%T is %v, %v", object, got, err)
		}
	}
}

func TestOnlyTextIsSpoken(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, info := range (textual{serializer.NewCodecFactory(scheme)}).SupportedMediaTypes() {
		got = append(got, info.MediaType)
	}
	if diff := cmp.Diff([]string{"application/json", "application/yaml"}, got); diff != "" {
		t.Errorf("media types (-want +got):\n%s", diff)
	}
}

func TestSchemasAreThoseOfTheDefinitions(t *testing.T) {
	definitions, err := readDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	config := server.NewConfig(serializer.NewCodecFactory(scheme))
	definitions.describe(config, scheme)
	schemas := definitions.schemas(func(string) spec.Ref { return spec.Ref{} })
	for kind, resource := range map[string]string{
		"github.com/berth-project/berth/api/cluster/v1.ManagedCluster":         "managedclusters",
		"github.com/berth-project/berth/api/cluster/v1beta2.ManagedClusterSet": "managedclustersets",
	} {
		if got, want := schemas[kind].Schema.Description, definitions[resource].Schema.OpenAPIV3Schema.Description; got != want || got == "" {
			t.Errorf("%s is described as %q, want %q", kind, got, want)
		}
		if _, extensions := config.OpenAPIV3Config.GetDefinitionName(kind); len(extensions) == 0 {
			t.Errorf("%s is published without its group, version and kind", kind)
		}
		if len(definitions[resource].AdditionalPrinterColumns) == 0 {
			t.Errorf("%s has no columns", resource)
		}
	}
}

func TestCertificates(t *testing.T) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	errBoom := errors.New("boom")
	for sentence, test := range map[string]struct {
		set  func(*tls.Config)
		want error
	}{
		"none is given":  {},
		"one that stays": {set: func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} }},
		"one that is renewed": {set: func(c *tls.Config) {
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
		}},
		"one that is not had": {set: func(c *tls.Config) {
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errBoom }
		}, want: errBoom},
		"one that was not set": {set: func(*tls.Config) {}, want: errNoCertificate},
	} {
		t.Run(sentence, func(t *testing.T) {
			info, err := serving(Options{TLS: test.set})
			if !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			if err != nil {
				return
			}
			if _, err := tls.X509KeyPair(info.Cert.CurrentCertKeyContent()); err != nil {
				t.Errorf("it cannot be served with: %v", err)
			}
		})
	}
}
