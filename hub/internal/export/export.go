package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/join"
	"github.com/berth-project/berth/internal/membership/registration"
)

// Reasons why an export does not begin or end.
var (
	ErrObstacles = errors.New("the obstacles above must go first; nothing was written")
	errSameHub   = errors.New("the kubeconfig of --to-kubeconfig is that of the hub itself")
	errWaiting   = errors.New("agents have not moved: keep the hub running, and run the command again to look after them")
)

// Export moves a hub.
type Export struct {
	// Source and Target are administrators of the hubs.
	Source, Target *rest.Config
	// DryRun prints the plan and writes nothing.
	DryRun bool
	// Endpoint is where agents reach the target; its empty fields are those that the target publishes, or those of Target.
	Endpoint join.Endpoint
	// TokenTTL is how long the token of a hand-over is valid.
	TokenTTL time.Duration
	// Timeout is how long to wait for the agents; 0 hands them over and does not wait.
	Timeout time.Duration
	Out     io.Writer
	Clock   clock.Clock
}

// hubs are the clients of both hubs.
type hubs struct {
	source, target     kubernetes.Interface
	from, to           dynamic.Interface
	heads              metadata.Interface
	sourceUID, toUID   string
	sourceLock, toLock lock
}

// Run moves the objects, and then the agents. It may be called again after an interruption.
func (e Export) Run(ctx context.Context) error {
	h, err := e.connect(ctx)
	if err != nil {
		return err
	}
	if e.Endpoint, err = e.endpoint(ctx); err != nil {
		return err
	}
	state, err := h.sourceLock.state(ctx)
	if err != nil {
		return err
	}
	if to := state[targetAnnotation]; to != "" && to != h.toUID {
		return fmt.Errorf("the hub moves to %s already: run the command with the kubeconfig of that hub", state[urlAnnotation])
	}
	if state[completeAnnotation] == "" {
		if done, err := e.moveObjects(ctx, h); err != nil || !done {
			return err
		}
	} else if e.DryRun {
		return e.print("All objects have moved to %s.\n", state[urlAnnotation])
	}
	if err := h.toLock.release(ctx); err != nil {
		return err
	}
	return e.moveAgents(ctx)
}

func (e Export) print(format string, args ...any) error {
	if _, err := fmt.Fprintf(e.Out, format, args...); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// connect makes the clients and reads the identities of both hubs.
func (e Export) connect(ctx context.Context) (*hubs, error) {
	h := &hubs{}
	var errs [5]error
	h.source, errs[0] = kubernetes.NewForConfig(e.Source)
	h.target, errs[1] = kubernetes.NewForConfig(e.Target)
	h.from, errs[2] = dynamic.NewForConfig(e.Source)
	h.to, errs[3] = dynamic.NewForConfig(e.Target)
	h.heads, errs[4] = metadata.NewForConfig(e.Target)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("making the clients: %w", err)
	}
	var err error
	if h.sourceUID, err = uidOf(ctx, h.source); err != nil {
		return nil, fmt.Errorf("reading the hub: %w", err)
	}
	if h.toUID, err = uidOf(ctx, h.target); err != nil {
		return nil, fmt.Errorf("reading the target: %w", err)
	}
	if h.sourceUID == h.toUID {
		return nil, errSameHub
	}
	h.sourceLock = lock{hub: h.source, clock: e.Clock, holder: "berth-hub export to " + h.toUID}
	h.toLock = lock{hub: h.target, clock: e.Clock, holder: "berth-hub export from " + h.sourceUID}
	return h, nil
}

// uidOf returns the UID of a cluster.
func uidOf(ctx context.Context, cluster kubernetes.Interface) (string, error) {
	found, err := cluster.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", err //nolint:wrapcheck // the caller names the cluster
	}
	return string(found.UID), nil
}

// endpoint returns where agents reach the target.
func (e Export) endpoint(ctx context.Context) (join.Endpoint, error) {
	out := e.Endpoint
	if out.URL == "" || len(out.Authority) == 0 {
		target, err := newClient(e.Target)
		if err != nil {
			return out, err
		}
		found, err := join.FindEndpoint(ctx, target, e.Target)
		if err != nil {
			return out, err //nolint:wrapcheck // it names what it reads
		}
		if out.URL == "" {
			out.URL = found.URL
		}
		if len(out.Authority) == 0 {
			out.Authority = found.Authority
		}
	}
	if err := registration.CheckHub(out.URL, out.Authority); err != nil {
		return out, fmt.Errorf("the URL or the CA of the target for agents is not usable; give --hub-url and --hub-ca-file: %w", err)
	}
	return out, nil
}

// moveObjects moves all objects while the managers of both hubs hold still. It returns whether they have moved.
func (e Export) moveObjects(ctx context.Context, h *hubs) (done bool, err error) {
	if _, err := e.plan(ctx, h, true); err != nil || e.DryRun {
		return false, err
	}
	if err := e.print("The managers of both hubs stop.\n"); err != nil {
		return false, err
	}
	if err := e.stopManagers(ctx, h); err != nil {
		return false, err
	}
	found, err := e.plan(ctx, h, false)
	if err != nil {
		return false, err
	}
	if err := newWriter(h.to, e.Clock).writeAll(ctx, found); err != nil {
		return false, fmt.Errorf("%w; both managers hold still until the command is run again and has moved everything", err)
	}
	if err := h.sourceLock.complete(ctx); err != nil {
		return false, err
	}
	return true, e.print("All objects have moved, and the manager of the target starts. The hub decides nothing any more.\n")
}

// stopManagers returns once neither manager acts any more, and the hub refuses changes. The target comes first: where its lease cannot be
// taken, the hub goes on.
func (e Export) stopManagers(ctx context.Context, h *hubs) error {
	if _, err := h.toLock.claim(ctx, nil); err != nil {
		return fmt.Errorf("stopping the manager of the target: %w", err)
	}
	if err := freeze(ctx, h.source, e.Endpoint.URL); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.toLock.hold(ctx, nil) })
	group.Go(func() error {
		return h.sourceLock.hold(ctx, map[string]string{targetAnnotation: h.toUID, urlAnnotation: e.Endpoint.URL})
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("stopping the managers: %w", err)
	}
	return nil
}

// plan reads the hub, and returns an error where there are obstacles.
func (e Export) plan(ctx context.Context, h *hubs, show bool) (inventory, error) {
	found, err := readInventory(ctx, h.from)
	if err != nil {
		return nil, err
	}
	plan, err := makePlan(ctx, found, h.heads)
	if err != nil {
		return nil, err
	}
	more, err := readiness(ctx, h.target)
	if err != nil {
		return nil, err
	}
	plan.Obstacles = append(plan.Obstacles, more...)
	if show || len(plan.Obstacles) > 0 {
		if err := plan.Print(e.Out); err != nil {
			return nil, err
		}
	}
	if len(plan.Obstacles) > 0 {
		return nil, ErrObstacles
	}
	return found, nil
}

// readiness returns what the target lacks for an export.
func readiness(ctx context.Context, target kubernetes.Interface) (obstacles []string, err error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"},
	}}
	review, err = target.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("reviewing the permissions on the target: %w", err)
	}
	if !review.Status.Allowed {
		obstacles = append(obstacles, "the user of the kubeconfig is no administrator of the target: bind it to the ClusterRole cluster-admin")
	}
	for _, namespace := range []string{managerNamespace, registration.JoinNamespace} {
		_, err := target.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			obstacles = append(obstacles, fmt.Sprintf("the target has no namespace %s: install the chart there, with the registration of clusters",
				namespace))
		} else if err != nil {
			return nil, fmt.Errorf("reading namespace %s of the target: %w", namespace, err)
		}
	}
	return obstacles, nil
}

// moveAgents hands over the agents, and waits for them.
func (e Export) moveAgents(ctx context.Context) error {
	source, err := newClient(e.Source)
	if err != nil {
		return err
	}
	target, err := newClient(e.Target)
	if err != nil {
		return err
	}
	hand := &handOver{source: source, target: target, endpoint: e.Endpoint, ttl: e.TokenTTL, clock: e.Clock}
	end, last := e.Clock.Now().Add(e.Timeout), ""
	for {
		progress, err := hand.pass(ctx)
		if err != nil {
			return err
		}
		if line := progress.String(); line != last {
			last = line
			if err := e.print("%s\n", line); err != nil {
				return err
			}
		}
		if len(progress.Waiting) == 0 {
			return nil
		}
		if !e.Clock.Now().Before(end) {
			return progress.waitingError()
		}
		select {
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // it needs no explanation
		case <-e.Clock.After(pollInterval):
		}
	}
}

// clusterOf returns a ManagedCluster as a typed object.
func clusterOf(from object) (*clusterv1.ManagedCluster, error) {
	out := &clusterv1.ManagedCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, out); err != nil {
		return nil, fmt.Errorf("reading ManagedCluster %s: %w", from.GetName(), err)
	}
	return out, nil
}
