package status

import (
	"time"

	"github.com/berth-project/berth/internal/status/rule"
)

// Kind is the kind of reports in JSON.
const Kind = "ManagerStatus"

// Report is how a replica of the manager is, from its own metrics.
type Report struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	// At is the instant of the metrics.
	At time.Time `json:"at"`
	// Replica is the holder of the lease as the replica writes it. Leads is set if it leads; the others decide nothing.
	Replica string    `json:"replica"`
	Leads   bool      `json:"leads"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Queues are the work queues, those first that wait.
	Queues    []Queue   `json:"queues"`
	Decisions Decisions `json:"decisions"`
	Writes    Writes    `json:"writes"`
	// Certificates are those that the manager serves.
	Certificates []Certificate `json:"certificates"`
	// Alerts are the shipped alerts, those first that fire.
	Alerts []rule.Alert `json:"alerts"`
}

// Queue is a work queue of the manager.
type Queue struct {
	Name string `json:"name"`
	// Waiting is how many objects wait. Oldest is for how long the oldest object is being handled.
	Waiting int     `json:"waiting"`
	Oldest  float64 `json:"oldestSeconds"`
	// Retries counts the retries since reports are read one after the other, at most in the time of the figures.
	Retries int `json:"retries"`
}

// Decisions is how far decisions lag behind changes.
type Decisions struct {
	// Over is the time of the figures, in seconds; 0 before the first.
	Over float64 `json:"overSeconds"`
	// Count is how many decisions were stored, P50 and P99 the seconds from a change until its decision was stored.
	Count int     `json:"count"`
	P50   float64 `json:"p50Seconds"`
	P99   float64 `json:"p99Seconds"`
	// Evaluations counts the evaluations of placements.
	Evaluations int `json:"evaluations"`
}

// Writes is what the manager writes beside its limits.
type Writes struct {
	// PerSecond is the rate of writes of decisions and works, Limit that of all requests by --kube-api-qps; 0 for no limit.
	PerSecond float64 `json:"perSecond"`
	Limit     float64 `json:"limit"`
	// Stored, Conflicts and Failed count the attempted writes.
	Stored    int `json:"stored"`
	Conflicts int `json:"conflicts"`
	Failed    int `json:"failed"`
	// Bytes is how many bytes of works were stored, BytesLimit that of --fanout-bytes; 0 for no limit.
	Bytes      float64 `json:"bytes"`
	BytesLimit float64 `json:"bytesLimit"`
	// Held is how many clusters wait for a work because that limit is used up.
	Held int `json:"held"`
}

// Certificate is a certificate with its end.
type Certificate struct {
	// Name is what the certificate is for.
	Name string    `json:"name"`
	End  time.Time `json:"end"`
	// Action is what renews it.
	Action string `json:"action,omitempty"`
}
