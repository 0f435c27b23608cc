package probe

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/bridge/probe/target"
)

// The reasons of the condition Probed. All but ReasonProbing and ReasonTokenNotRenewed go with the status False.
const (
	// ReasonProbing means that the hub reads the member and reports it.
	ReasonProbing = "Probing"
	// ReasonTokenNotRenewed means that the hub reads the member and reports it, until its token expires.
	ReasonTokenNotRenewed = "TokenNotRenewed"
	// ReasonClusterNotAccepted means that the ManagedCluster is not accepted, or is simulated or deleted. Nothing is read.
	ReasonClusterNotAccepted = "ClusterNotAccepted"
	// ReasonSecretNotUsable means that the Secret holds no kubeconfig that the probe may use. Nothing is read.
	ReasonSecretNotUsable = "SecretNotUsable"
	// ReasonTooManyClusters means that the probe has no room. Nothing is read.
	ReasonTooManyClusters = "TooManyClusters"
	// ReasonIdentityConflict means that the hub has recorded another member. Nothing is reported.
	ReasonIdentityConflict = "IdentityConflict"
	// ReasonAgentReports means that an agent renews the lease, so that the probe reports nothing.
	ReasonAgentReports = "AgentReports"
	// ReasonAddressNotAllowed means that the server has an address that --probe-allow does not permit.
	ReasonAddressNotAllowed = "AddressNotAllowed"
	// ReasonServerNotVerified means that the CA in the Secret does not certify the server.
	ReasonServerNotVerified = "ServerNotVerified"
	// ReasonUnauthorized means that the member refuses the credential.
	ReasonUnauthorized = "Unauthorized"
	// ReasonRedirected means that the server redirects, which is not followed.
	ReasonRedirected = "Redirected"
	// ReasonUnreachable means that the server does not respond in time.
	ReasonUnreachable = "Unreachable"
	// ReasonForbidden means that the credential may not read what a report is made of.
	ReasonForbidden = "Forbidden"
	// ReasonResponseTooLarge means that a response is above the limit.
	ReasonResponseTooLarge = "ResponseTooLarge"
	// ReasonUnexpectedResponse means that an API server would not respond in this way.
	ReasonUnexpectedResponse = "UnexpectedResponse"
	// ReasonLeaseNotRenewed means that the hub refuses the renewal of the lease.
	ReasonLeaseNotRenewed = "LeaseNotRenewed"
)

const (
	// faultDelay is how long a fault lasts before it is reported, so that a moment's fault is no write.
	faultDelay = 20 * time.Second
	// largeDelay is how long after a response that was too large the next success ends the fault: it begins like a success.
	largeDelay = time.Minute
)

// outcome is a reason of the condition Probed and its message, without the Secret.
type outcome struct{ reason, message string }

// byOrder are the reasons of what a request may meet, the most basic first: it hides those that follow from it.
func byOrder() []string {
	return []string{
		ReasonAddressNotAllowed, ReasonServerNotVerified, ReasonUnauthorized, ReasonRedirected, ReasonUnreachable, ReasonUnexpectedResponse,
		ReasonForbidden,
		ReasonResponseTooLarge, ReasonLeaseNotRenewed,
	}
}

// fault is a fault of one path.
type fault struct {
	outcome

	since, last time.Time
}

// faults holds the last outcome of each path that a session reads. A session reads fewer than ten paths. It is safe for concurrent use.
type faults struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	byPath map[string]fault
}

func newFaults(c clock.PassiveClock) *faults { return &faults{clock: c, byPath: map[string]fault{}} }

// observe records the outcome of a request to the member.
func (f *faults) observe(path string, code int, err error) { f.record(path, classify(path, code, err)) }

// record records an outcome under a key; the zero outcome is a success.
func (f *faults) record(key string, found outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, before := f.clock.Now(), f.byPath[key]
	switch {
	case found == outcome{}:
		if before.reason != ReasonResponseTooLarge || now.Sub(before.last) >= largeDelay {
			delete(f.byPath, key)
		}
	case before.outcome == found:
		before.last = now
		f.byPath[key] = before
	default:
		f.byPath[key] = fault{outcome: found, since: now, last: now}
	}
}

// current returns the most basic fault of reading and reporting that has lasted; the zero outcome without one.
func (f *faults) current() outcome {
	for _, reason := range byOrder() {
		if out := f.lasting(reason); out.reason != "" {
			return out
		}
	}
	return outcome{}
}

// lasting returns the fault with a reason that has lasted; the zero outcome without one.
func (f *faults) lasting(reason string) outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out outcome
	now := f.clock.Now()
	for _, found := range f.byPath {
		if found.reason == reason && now.Sub(found.since) >= faultDelay && (out.message == "" || found.message < out.message) {
			out = found.outcome
		}
	}
	return out
}

// classify returns what a response or an error means. Messages hold no text of the member and no address, and never change without
// a change of the cause: the log of the manager has the details.
func classify(path string, code int, err error) outcome {
	if err != nil {
		return classifyError(path, err)
	}
	health := path == "/livez" || path == "/healthz"
	switch {
	case code >= 200 && code < 300, code == http.StatusNotFound, code == http.StatusForbidden && path == "/livez",
		code == http.StatusInternalServerError && health:
		return outcome{} // a failed check of the member is its health, and not a fault of the probe
	case code == http.StatusUnauthorized:
		return outcome{ReasonUnauthorized, "the member refuses the credential; renew the token or the certificate in the Secret"}
	case code == http.StatusForbidden:
		return outcome{ReasonForbidden, fmt.Sprintf("the credential may not read %s; bind it to the ClusterRole berth-probe-member of "+
			"config/probe/member on the member", path)}
	default:
		return outcome{ReasonUnexpectedResponse, fmt.Sprintf("%s has the status %d; see the API server of the member, and "+
			"what is between it and the hub", path, code)}
	}
}

func classifyError(path string, err error) outcome {
	var verification *tls.CertificateVerificationError
	switch {
	case errors.Is(err, target.ErrAddress):
		return outcome{ReasonAddressNotAllowed, "the address of the server is not allowed; add it to --probe-allow of the manager, or " +
			"correct the server in the Secret"}
	case errors.As(err, &verification):
		return outcome{ReasonServerNotVerified, "the certificate of the server is not valid for it; correct the CA, the server or " +
			"tls-server-name in the Secret"}
	case errors.Is(err, target.ErrRedirect):
		return outcome{ReasonRedirected, "the server redirects, which is not followed; set the final server in the Secret"}
	case errors.Is(err, target.ErrTooLarge):
		return outcome{ReasonResponseTooLarge, fmt.Sprintf("the response to %s is above the limit of a probe; run an agent in the member", path)}
	default:
		return outcome{ReasonUnreachable, "the server does not respond in time; see the network between the hub and the " +
			"member, and its API server"}
	}
}
