package status

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/kube/version"
)

const (
	leaseName = "berth-manager"
	// versionLabel is on the lease.
	versionLabel = "app.kubernetes.io/version"
	// podSelector selects the pods of the manager.
	podSelector = "app.kubernetes.io/name=berth"
	// maxReplicas is how many pods are listed.
	maxReplicas = 20
	// keptTime is how long a reading is kept, readTime how long it may take.
	keptTime, readTime = 5 * time.Second, 5 * time.Second
	// certificateTime is how long the certificates of the hub are kept.
	certificateTime = time.Minute
)

var errNotTLS = errors.New("the hub is not reached over TLS")

// ReaderOptions configures a Reader.
type ReaderOptions struct {
	// Hub is the configuration by which the hub is reached. Its rights decide what is seen.
	Hub *rest.Config
	// Namespace is that of the lease and of the pods of the manager.
	Namespace string
	// Manager returns the report of the manager.
	Manager func(ctx context.Context) (*Report, error)
	// Pods is set if the pods of the manager are listed.
	Pods bool
	// Holder names the reader in texts, such as "your kubeconfig".
	Holder string
	Clock  clock.PassiveClock
}

// Reader reads how a hub is. Readings of the same few seconds are shared. It is safe for concurrent use.
type Reader struct {
	options ReaderOptions
	leases  coordinationclient.LeasesGetter
	pods    coreclient.PodsGetter

	mu   sync.Mutex
	last *Hub
	at   time.Time
	// certified is when the certificates of the last reading were read.
	certified time.Time
}

// NewReader returns a reader. It sends no request.
func NewReader(options ReaderOptions) (*Reader, error) {
	leases, err := coordinationclient.NewForConfig(options.Hub)
	if err != nil {
		return nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	pods, err := coreclient.NewForConfig(options.Hub)
	if err != nil {
		return nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	return &Reader{options: options, leases: leases, pods: pods}, nil
}

// Read returns how the hub is. The result is shared and read-only.
func (r *Reader) Read(ctx context.Context) *Hub {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.options.Clock.Now()
	if r.last != nil && now.Sub(r.at) < keptTime {
		return r.last
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	out := &Hub{}
	out.Lease, out.LeaseProblem = r.lease(ctx)
	out.Replicas, out.ReplicasProblem = r.replicas(ctx)
	report, err := r.options.Manager(ctx)
	if out.Manager = report; err != nil {
		out.Manager, out.ManagerProblem = nil, managerProblem(err)
	}
	if r.last != nil && now.Sub(r.certified) < certificateTime {
		out.Certificates, out.CertificatesProblem = r.last.Certificates, r.last.CertificatesProblem
	} else {
		out.Certificates, err = hubCertificates(ctx, r.options.Hub, r.options.Holder)
		if r.certified = now; err != nil {
			out.CertificatesProblem = "The certificate of the API server cannot be read: " + err.Error()
		}
	}
	if ctx.Err() == nil { // a reading that was cut off is not kept
		r.last, r.at = out, now
	}
	return out
}

func (r *Reader) lease(ctx context.Context) (found *Lease, problem string) {
	stored, err := r.leases.Leases(r.options.Namespace).Get(ctx, leaseName, metav1.GetOptions{})
	what := "the lease " + leaseName + " in the namespace " + r.options.Namespace
	switch {
	case apierrors.IsForbidden(err):
		return nil, "You may not get " + what + ", which has the leader."
	case apierrors.IsNotFound(err):
		return nil, "There is no lease " + leaseName + " in the namespace " + r.options.Namespace +
			": no manager has led on this hub, or it runs without leader election."
	case err != nil:
		return nil, "Reading " + what + ": " + err.Error()
	}
	out := &Lease{Version: version.FromLabel(stored.Labels[versionLabel])}
	if of := stored.Spec; of.HolderIdentity != nil {
		out.Holder = *of.HolderIdentity
	}
	if of := stored.Spec; of.AcquireTime != nil && of.RenewTime != nil {
		out.Acquired, out.Renewed = of.AcquireTime.Time, of.RenewTime.Time
	}
	if of := stored.Spec; of.LeaseDurationSeconds != nil {
		out.Duration = time.Duration(*of.LeaseDurationSeconds) * time.Second
	}
	if of := stored.Spec; of.LeaseTransitions != nil {
		out.Transitions = int(*of.LeaseTransitions)
	}
	return out, ""
}

func (r *Reader) replicas(ctx context.Context) (found []Replica, problem string) {
	see := "kubectl get pods -n " + r.options.Namespace + " -l " + podSelector
	if !r.options.Pods {
		return nil, "The manager may not list its own pods. This shows them: " + see
	}
	list, err := r.pods.Pods(r.options.Namespace).List(ctx, metav1.ListOptions{LabelSelector: podSelector, Limit: maxReplicas})
	switch {
	case apierrors.IsForbidden(err):
		return nil, "You may not list the pods of the manager. A user who may sees them with: " + see
	case err != nil:
		return nil, "Listing the pods of the manager: " + err.Error()
	case len(list.Items) == 0:
		return nil, "No pod of the manager is in the namespace " + r.options.Namespace + ": it runs elsewhere, such as in berth-hub."
	}
	for i := range list.Items {
		found = append(found, newReplica(&list.Items[i]))
	}
	slices.SortFunc(found, func(a, b Replica) int { return strings.Compare(a.Name, b.Name) })
	return found, ""
}

func newReplica(pod *corev1.Pod) Replica {
	out := Replica{Name: pod.Name, Node: pod.Spec.NodeName, Phase: string(pod.Status.Phase), Started: pod.CreationTimestamp.Time}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			out.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	for _, container := range pod.Status.ContainerStatuses {
		out.Restarts += int(container.RestartCount)
	}
	return out
}

// managerProblem words why the report of the manager is not visible.
func managerProblem(err error) string {
	switch {
	case apierrors.IsForbidden(err) || errors.Is(err, ErrNotPermitted):
		return "You may not read the figures of the manager: this needs get on the path /metrics, as the ClusterRole system:monitoring gives it."
	case apierrors.IsNotFound(err):
		return "The manager does not serve its figures: it is older, or runs without its views. Its metrics are at --metrics-bind-address."
	default:
		return "The figures of the manager cannot be read now: " + err.Error()
	}
}

// ErrNotPermitted reports that a reader lacks the permission to read the metrics of the manager.
var ErrNotPermitted = errors.New("the permission to get /metrics is missing")

// hubCertificates returns the certificates of a connection to the hub with their ends: that which the API server serves, those that its
// reader trusts, and that of the reader.
func hubCertificates(ctx context.Context, hub *rest.Config, holder string) ([]Certificate, error) {
	const renewServing = "The hub renews its own certificates while it runs; those of another API server are renewed by its tool, " +
		"such as kubeadm certs renew."
	served, err := servedCertificate(ctx, hub)
	if err != nil {
		return nil, err
	}
	out := []Certificate{{Name: "the hub's API server", End: served.NotAfter, Action: renewServing}}
	add := func(name, action string, data []byte) {
		end := time.Time{}
		for block, remaining := pem.Decode(data); block != nil; block, remaining = pem.Decode(remaining) {
			parsed, err := x509.ParseCertificate(block.Bytes)
			if err == nil && (end.IsZero() || parsed.NotAfter.Before(end)) {
				end = parsed.NotAfter
			}
		}
		if !end.IsZero() {
			out = append(out, Certificate{Name: name, End: end, Action: action})
		}
	}
	loaded := rest.CopyConfig(hub)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return nil, fmt.Errorf("reading the files of the kubeconfig: %w", err)
	}
	add("the CA that "+holder+" trusts", "Replace the CA before it ends: docs/operations/hub-ca.md has the steps.", loaded.CAData)
	add("the client in "+holder, "Get a new one before it ends.", loaded.CertData)
	return out, nil
}

// servedCertificate returns the certificate that the API server of a hub serves.
func servedCertificate(ctx context.Context, hub *rest.Config) (*x509.Certificate, error) {
	address, _, err := rest.DefaultServerUrlFor(hub)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the hub: %w", err)
	}
	if address.Scheme != "https" {
		return nil, errNotTLS
	}
	config, err := rest.TLSConfigFor(hub)
	if err != nil {
		return nil, fmt.Errorf("reading the certificates of the kubeconfig: %w", err)
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", hostPort(address))
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	defer connection.Close() //nolint:errcheck // nothing was sent
	over, ok := connection.(*tls.Conn)
	if !ok || len(over.ConnectionState().PeerCertificates) == 0 {
		return nil, errNotTLS
	}
	return over.ConnectionState().PeerCertificates[0], nil
}

func hostPort(address *url.URL) string {
	if address.Port() != "" {
		return address.Host
	}
	return net.JoinHostPort(address.Hostname(), "443")
}
