package leader

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errBoom = errors.New("boom")

// leases stores one Lease.
type leases struct {
	client.Client

	lease  *coordinationv1.Lease
	writes int
	reads  int
}

func (l *leases) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	l.reads++
	if l.lease == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, key.Name)
	}
	l.lease.DeepCopyInto(into.(*coordinationv1.Lease))
	return nil
}

func (l *leases) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	l.writes++
	l.lease = object.(*coordinationv1.Lease).DeepCopy()
	return nil
}

func (l *leases) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	l.writes++
	l.lease = object.(*coordinationv1.Lease).DeepCopy()
	return nil
}

// hub returns a client config for an API server with one user.
func hub(t *testing.T, name string) *rest.Config {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		review := authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"}}
		review.Status.UserInfo.Username = name
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	out := &rest.Config{Host: server.URL, BearerToken: "token of " + name}
	out.CAData = authority(server)
	out.ContentType = "application/json"
	return out
}

func authority(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// views is the server of a leader. It records the last request.
type views struct {
	*httptest.Server

	last *http.Request
}

func newViews(t *testing.T) *views {
	t.Helper()
	out := &views{}
	out.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out.last = r
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"from":"leader"}`))
	}))
	t.Cleanup(out.Close)
	return out
}

// replica returns a replica that does not lead.
func replica(t *testing.T, stored *leases, authorities []byte) *Leader {
	t.Helper()
	return New(Options{
		Hub: hub(t, "manager"), Reader: stored, Writer: stored, Namespace: "ns", Address: "10.0.0.1:8443", ServerName: "example.com",
		CABundle: func(context.Context) ([]byte, error) { return authorities, nil }, Clock: clocktesting.NewFakeClock(time.Unix(0, 0)),
	})
}

// leading returns the Lease of a leader at an address.
func leading(t *testing.T, address string) *leases {
	t.Helper()
	stored := &leases{}
	if err := (&Leader{Options: Options{Reader: stored, Writer: stored, Address: address}}).storeAddress(t.Context()); err != nil {
		t.Fatal(err)
	}
	return stored
}

func jane() *user.DefaultInfo {
	return &user.DefaultInfo{Name: "jane\n", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{"scopes": {"x", "y"}}}
}

// TestLeaderResponds forwards a request, and reads the caller from it as the leader does.
func TestLeaderResponds(t *testing.T) {
	server := newViews(t)
	follower := replica(t, leading(t, strings.TrimPrefix(server.URL, "https://")), authority(server.Server))
	request := httptest.NewRequest(http.MethodGet, "/apis/g/v1/namespaces/n/placements/p/history?since=x", nil)
	for name, value := range map[string]string{
		"Accept": "application/json", "Authorization": "Bearer of jane", "Impersonate-User": "root", "X-Remote-User": "root",
		callerHeader: "forged", "Cookie": "c",
	} {
		request.Header.Set(name, value)
	}
	answer := httptest.NewRecorder()
	if err := follower.Forward(answer, request.WithContext(t.Context()), jane()); err != nil {
		t.Fatal(err)
	}
	if answer.Code != http.StatusNotFound || answer.Body.String() != `{"from":"leader"}` {
		t.Errorf("response %d %s, want the response of the leader", answer.Code, answer.Body)
	}
	if got, want := server.last.URL.String(), request.URL.String(); got != want {
		t.Errorf("requested %s, want %s", got, want)
	}
	if got := server.last.Header.Get("Authorization"); got != "Bearer token of manager" {
		t.Errorf("sent as %q, want the manager's own credentials", got)
	}
	for _, name := range []string{"Impersonate-User", "X-Remote-User", "Cookie"} {
		if got := server.last.Header.Get(name); got != "" {
			t.Errorf("the header %s was forwarded: %q", name, got)
		}
	}
	caller, forwarded, err := replica(t, &leases{}, nil).Caller(server.last.WithContext(t.Context()), &user.DefaultInfo{Name: "manager"})
	if err != nil || !forwarded {
		t.Fatalf("Caller = %t, %v, want a forwarded request", forwarded, err)
	}
	if diff := cmp.Diff(jane(), caller); diff != "" {
		t.Errorf("caller (-want +got):\n%s", diff)
	}
}

// TestOnlyTheManagerMayNameTheCaller sends the header as other users, and as the manager in a wrong form.
func TestOnlyTheManagerMayNameTheCaller(t *testing.T) {
	forged, err := encodeUser(&user.DefaultInfo{Name: "root", Groups: []string{"system:masters"}})
	if err != nil {
		t.Fatal(err)
	}
	unnamed, err := encodeUser(&user.DefaultInfo{Groups: []string{"system:masters"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		header, sender string
		want           string
		err            error
	}{
		"a user without the header":                {"", "jane", "jane", nil},
		"a user with the header":                   {forged, "jane", "jane", nil},
		"a user with the manager's name as prefix": {forged, "manager2", "manager2", nil},
		"the manager without the header":           {"", "manager", "manager", nil},
		"the manager with an empty header":         {unnamed, "manager", "", errNoUserInHeader},
		"the manager with an undecodable header":   {"%%%", "manager", "", errNoUserInHeader},
		"the manager without a user in the header": {"e3s=", "manager", "", errNoUserInHeader},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(t.Context())
			if tc.header != "" {
				request.Header.Set(callerHeader, tc.header)
			}
			caller, _, err := replica(t, &leases{}, nil).Caller(request, &user.DefaultInfo{Name: tc.sender})
			if !errors.Is(err, tc.err) {
				t.Fatalf("Caller = %v, want %v", err, tc.err)
			}
			if err == nil && caller.GetName() != tc.want {
				t.Errorf("the caller is %s, want %s", caller.GetName(), tc.want)
			}
		})
	}
}

// TestRequestsAreNotForwardedToAnUntrustedServer forwards to leaders that do not exist or are not trusted.
func TestRequestsAreNotForwardedToAnUntrustedServer(t *testing.T) {
	server, other := newViews(t), newViews(t)
	address := strings.TrimPrefix(server.URL, "https://")
	other.Close()
	for name, tc := range map[string]struct {
		stored      *leases
		authorities []byte
		want        error
	}{
		"no leader has stored its address":   {&leases{}, authority(server.Server), ErrNotFound},
		"the stored leader is this replica":  {leading(t, "10.0.0.1:8443"), authority(server.Server), ErrNotFound},
		"no CA is trusted":                   {leading(t, address), nil, errNoCABundle},
		"the leader is gone":                 {leading(t, strings.TrimPrefix(other.URL, "https://")), authority(server.Server), nil},
		"the leader has another certificate": {leading(t, address), foreign(t), nil},
	} {
		t.Run(name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			err := replica(t, tc.stored, tc.authorities).Forward(answer, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(t.Context()),
				jane())
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("Forward = %v, want %v", err, tc.want)
			}
			if answer.Body.Len() > 0 || server.last != nil {
				t.Error("a request was sent")
			}
		})
	}
}

// foreign returns the CA of another server.
func foreign(t *testing.T) []byte {
	t.Helper()
	out, _, err := cert.GenerateSelfSignedCertKey("example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAddressIsStoredOnce(t *testing.T) {
	stored := leading(t, "10.0.0.1:8443")
	l := replica(t, stored, nil)
	for range 2 {
		if err := l.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if stored.writes != 1 {
		t.Errorf("the address was stored %d times, want once", stored.writes)
	}
	l.Address = "10.0.0.2:8443"
	if err := l.Start(t.Context()); err != nil || stored.writes != 2 || stored.lease.Annotations[addressAnnotation] != l.Address {
		t.Errorf("Start = %v after %d writes; stored is %v", err, stored.writes, stored.lease.Annotations)
	}
}

// TestAddressIsReadAgainAfterAWhile finds the leader many times at one instant, and again later.
func TestAddressIsReadAgainAfterAWhile(t *testing.T) {
	server := newViews(t)
	stored := leading(t, strings.TrimPrefix(server.URL, "https://"))
	l := replica(t, stored, authority(server.Server))
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	l.Clock, stored.reads = clock, 0
	for range 10 {
		if _, err := l.findLeader(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first := l.peer
	clock.SetTime(time.Unix(0, 0).Add(addressCacheTTL))
	if again, err := l.findLeader(t.Context()); err != nil || again != first || stored.reads != 2 {
		t.Errorf("find = %v after %d reads, want the same connections after two", err, stored.reads)
	}
	l.CABundle = func(context.Context) ([]byte, error) { return nil, errBoom }
	clock.SetTime(time.Unix(0, 0).Add(2 * addressCacheTTL))
	if _, err := l.findLeader(t.Context()); !errors.Is(err, errBoom) {
		t.Errorf("find = %v, want the failure", err)
	}
}
