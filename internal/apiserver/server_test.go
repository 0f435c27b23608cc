package apiserver

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
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

func TestOnlyTextMediaTypesAreServed(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, info := range (textCodecs{serializer.NewCodecFactory(scheme)}).SupportedMediaTypes() {
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
	config := newOpenAPIConfig(t)
	published := config.OpenAPIConfig.GetDefinitions(func(string) spec.Ref { return spec.Ref{} })
	for kind, resource := range map[string]string{clusterModel: "managedclusters", setModel: "managedclustersets"} {
		if got, want := published[kind].Schema.Description, definitions[resource].Schema.OpenAPIV3Schema.Description; got != want || got == "" {
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

// fakeSource is a certificate that a test changes.
type fakeSource struct {
	pair    *tls.Certificate
	err     error
	changed func()
}

func (s *fakeSource) ConfigureTLS(config *tls.Config) {
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.pair, s.err }
}

func (s *fakeSource) Ready() <-chan struct{} { return nil }

func (s *fakeSource) NotAfter() (end time.Time, ok bool) { return time.Time{}, false }

func (s *fakeSource) OnChange(call func()) { s.changed = call }

// enqueueCounter counts calls of Enqueue.
type enqueueCounter int

func (l *enqueueCounter) Enqueue() { *l++ }

func pair(t *testing.T) *tls.Certificate {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// TestCertificate serves with whatever certificate the source has at the moment, and with the last while it has none.
func TestCertificate(t *testing.T) {
	from, told := &fakeSource{pair: pair(t)}, enqueueCounter(0)
	info, err := secureServing(Options{Certificate: from})
	if err != nil {
		t.Fatal(err)
	}
	info.Cert.AddListener(&told)
	for range 2 {
		got, err := tls.X509KeyPair(info.Cert.CurrentCertKeyContent())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(from.pair.Certificate, got.Certificate); diff != "" {
			t.Errorf("served with (-want +got):\n%s", diff)
		}
		from.pair = pair(t)
		from.changed()
	}
	if told != 2 {
		t.Errorf("the server got %d changes, want 2", told)
	}
	from.err = errors.New("boom")
	if certificate, key := info.Cert.CurrentCertKeyContent(); certificate != nil || key != nil {
		t.Error("there is something to serve with when there is no certificate")
	}
}

func TestNoCertificate(t *testing.T) {
	errBoom := errors.New("boom")
	if _, err := secureServing(Options{Certificate: &fakeSource{err: errBoom}}); !errors.Is(err, errBoom) {
		t.Errorf("serving = %v, want %v", err, errBoom)
	}
}
