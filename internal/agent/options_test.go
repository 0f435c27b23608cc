package agent

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/cluster"
)

func TestOptionsNameEveryFault(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"the defaults":            {func(*Options) {}, ""},
		"a URL without TLS":       {func(o *Options) { o.ExternalURL = "http://edge.example" }, "--external-url"},
		"a certificate too long":  {func(o *Options) { o.ExpirationSeconds = maxExpiration + 1 }, "--client-cert-expiration-seconds"},
		"too short":               {func(o *Options) { o.ExpirationSeconds = 60 }, "--client-cert-expiration-seconds"},
		"a deletion without wait": {func(o *Options) { o.DeletionWait = 0 }, "--deletion-wait"},
		"an eviction at once":     {func(o *Options) { o.EvictionGrace = 0 }, "--appliedmanifestwork-eviction-grace-period"},
		"a negative rate":         {func(o *Options) { o.QPS = -1 }, "--qps"},
		"usage in a hurry":        {func(o *Options) { o.UsageInterval = time.Second }, "--usage-interval"},
		"an unknown driver":       {func(o *Options) { o.Driver = "grpc" }, "--driver"},
		"an unknown format":       {func(o *Options) { o.LogFormat = "xml" }, "--log-format"},
		"an unknown level":        {func(o *Options) { o.LogLevel = "loud" }, "--log-level"},
	} {
		t.Run(sentence, func(t *testing.T) {
			options := DefaultOptions()
			test.change(&options)
			err := options.validate()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("validate = %v, want %q", err, test.want)
			}
		})
	}
}

func TestTheRateForWorks(t *testing.T) {
	for rate, want := range map[float32][2]float32{0: {-1, 0}, 0.5: {0.5, 1}, 20: {20, 40}} {
		options := Options{QPS: rate}
		if got := options.forWorks(&rest.Config{}); got.QPS != want[0] || got.Burst != int(want[1]) {
			t.Errorf("--qps %g gives %g with a burst of %d", rate, got.QPS, got.Burst)
		}
	}
}

func TestReadyListsWhatThePartsWaitFor(t *testing.T) {
	page := newHealthPage()
	read := func() (int, string) {
		recorder := httptest.NewRecorder()
		page.ready(recorder, nil)
		return recorder.Code, recorder.Body.String()
	}
	if code, text := read(); code != http.StatusOK || text != "ok\n" {
		t.Errorf("without faults: %d %q", code, text)
	}
	page.reporter("status")(errors.New("refused"))
	page.reporter("lease")(errors.New("two\nlines"))
	if code, text := read(); code != http.StatusServiceUnavailable || text != "lease: \"two\\nlines\"\nstatus: \"refused\"\n" {
		t.Errorf("with faults: %d %q", code, text)
	}
	page.reporter("status")(nil)
	page.reporter("lease")(nil)
	page.note("works", "held")
	if code, text := read(); code != http.StatusOK || text != "ok\nworks: \"held\"\n" {
		t.Errorf("after the faults, with a note: %d %q", code, text)
	}
	page.note("works", "")
	if _, text := read(); text != "ok\n" {
		t.Errorf("after the note: %q", text)
	}
}

func TestRegistrationFault(t *testing.T) {
	accepted, denied := &clusterv1.ManagedCluster{}, &clusterv1.ManagedCluster{}
	accepted.Spec.HubAcceptsClient = true
	for sentence, test := range map[string]struct {
		state cluster.State
		want  error
	}{
		"nothing is read":          {cluster.State{}, errNotRead},
		"accepted":                 {cluster.State{Cluster: accepted, Access: cluster.Present}, nil},
		"not accepted":             {cluster.State{Cluster: denied, Access: cluster.Present}, errNotAccepted},
		"not readable":             {cluster.State{Cluster: accepted, Access: cluster.Forbidden}, errNotReadable},
		"gone":                     {cluster.State{Access: cluster.Absent}, errDeleted},
		"the certificate is wrong": {cluster.State{Access: cluster.Unauthorized}, errRefused},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := registrationFault(test.state); !errors.Is(got, test.want) {
				t.Errorf("fault = %v, want %v", got, test.want)
			}
		})
	}
}
