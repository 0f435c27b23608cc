package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/join"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// pollInterval is how often the leases on the target are read.
	pollInterval = 2 * time.Second
	// expiryAnnotation on a hand-over is when its token expires.
	expiryAnnotation = "berth-project.io/expires"
	// usePatience is how long an agent may take from the use of its token to its first lease on the target.
	usePatience = 6 * time.Minute
)

// handOver hands the agents of the source over to the target.
type handOver struct {
	source, target client.Client
	endpoint       join.Endpoint
	ttl            time.Duration
	clock          clock.Clock
}

// Progress is which clusters have moved to the target.
type Progress struct {
	Moved, Waiting []string
	// Faults are why agents were not handed over, by cluster.
	Faults map[string]error
}

// String returns the progress in one line.
func (p Progress) String() string {
	out := fmt.Sprintf("%d of %d agents have moved", len(p.Moved), len(p.Moved)+len(p.Waiting))
	if len(p.Waiting) > 0 {
		out += "; not yet: " + named(p.Waiting)
	}
	return out
}

// waitingError returns the error of an export that ends while agents have not moved, with the first reason why one was not handed over.
func (p Progress) waitingError() error {
	for _, cluster := range p.Waiting {
		if fault := p.Faults[cluster]; fault != nil {
			return fmt.Errorf("%w; %w", errWaiting, fault)
		}
	}
	return errWaiting
}

// newClient returns a client for the kinds of Kubernetes and for clusters.
func newClient(config *rest.Config) (client.Client, error) {
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), clusterv1.AddToScheme(types)); err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	out, err := client.New(config, client.Options{Scheme: types})
	if err != nil {
		return nil, fmt.Errorf("making a client of a hub: %w", err)
	}
	return out, nil
}

// pass hands over every agent that has not moved, ends the hand-overs of the others, and returns the progress.
func (h *handOver) pass(ctx context.Context) (Progress, error) {
	out := Progress{Faults: map[string]error{}}
	clusters, err := h.clusters(ctx)
	if err != nil {
		return out, err
	}
	renewed, err := h.renewed(ctx)
	if err != nil {
		return out, err
	}
	for _, cluster := range clusters {
		if renewed[cluster.Name] {
			out.Moved = append(out.Moved, cluster.Name)
			err = h.end(ctx, cluster)
		} else {
			out.Waiting = append(out.Waiting, cluster.Name)
			err = h.offer(ctx, cluster)
		}
		if err != nil {
			out.Faults[cluster.Name] = err
		}
	}
	return out, ctx.Err()
}

// clusters returns the clusters of the source that have an agent, by name.
func (h *handOver) clusters(ctx context.Context) ([]*clusterv1.ManagedCluster, error) {
	list, probed := &clusterv1.ManagedClusterList{}, &corev1.SecretList{}
	if err := h.source.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing the clusters of the hub: %w", err)
	}
	if err := h.source.List(ctx, probed, client.InNamespace(probeNamespace), client.HasLabels{clusterv1.ProbeClusterLabelKey}); err != nil {
		return nil, fmt.Errorf("listing the clusters without an agent: %w", err)
	}
	agentless := map[string]bool{}
	for i := range probed.Items {
		agentless[probed.Items[i].Labels[clusterv1.ProbeClusterLabelKey]] = true
	}
	var out []*clusterv1.ManagedCluster
	for i := range list.Items {
		cluster := &list.Items[i]
		if registration.AdmitsAgent(cluster) && registration.Reported(cluster) && !agentless[cluster.Name] {
			out = append(out, cluster)
		}
	}
	slices.SortFunc(out, func(a, b *clusterv1.ManagedCluster) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// renewed returns the clusters whose lease was renewed on the target. The export moves leases without their times.
func (h *handOver) renewed(ctx context.Context) (map[string]bool, error) {
	list := &coordinationv1.LeaseList{}
	if err := h.target.List(ctx, list, client.MatchingFields{metav1.ObjectNameField: clusterv1.ManagedClusterLeaseName}); err != nil {
		return nil, fmt.Errorf("listing the leases of the target: %w", err)
	}
	out := map[string]bool{}
	for i := range list.Items {
		out[list.Items[i].Namespace] = list.Items[i].Spec.RenewTime != nil
	}
	return out, nil
}

// offer hands an agent over, unless it has a hand-over that is good.
func (h *handOver) offer(ctx context.Context, cluster *clusterv1.ManagedCluster) error {
	on := &clusterv1.ManagedCluster{}
	if err := h.target.Get(ctx, client.ObjectKey{Name: cluster.Name}, on); err != nil {
		return fmt.Errorf("reading ManagedCluster %s of the target: %w", cluster.Name, err)
	}
	stored := &corev1.Secret{}
	err := h.source.Get(ctx, client.ObjectKey{Namespace: cluster.Name, Name: registration.HandOverName}, stored)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the hand-over of %s: %w", cluster.Name, err)
	}
	if err == nil && h.good(stored, cluster, on) {
		return nil
	}
	token, _, err := join.Token{Cluster: cluster.Name, TTL: h.ttl, Rejoin: true}.Create(ctx, h.target)
	if err != nil {
		return fmt.Errorf("creating the token of %s: %w", cluster.Name, err)
	}
	return h.publish(ctx, cluster, registration.HandOver{Server: h.endpoint.URL, CA: h.endpoint.Authority, Token: token})
}

// good returns whether an agent can use a hand-over: it is announced and for this target, and its token is neither old nor used up.
func (h *handOver) good(stored *corev1.Secret, cluster, on *clusterv1.ManagedCluster) bool {
	found, err := registration.ReadHandOver(stored.Data, cluster.Annotations[clusterv1.HandOverAnnotationKey])
	if err != nil || found.Server != h.endpoint.URL || string(found.CA) != string(h.endpoint.Authority) {
		return false
	}
	now := h.clock.Now()
	expires, err := time.Parse(time.RFC3339, stored.Annotations[expiryAnnotation])
	if err != nil || now.After(expires) {
		return false
	}
	unused := on.Annotations[clusterv1.JoinRequesterAnnotationKey] == registration.JoinUser(cluster.Name)
	return unused || now.Sub(stored.CreationTimestamp.Time) < usePatience
}

// publish stores a hand-over where only the agent of the cluster reads it, and announces it on the ManagedCluster.
func (h *handOver) publish(ctx context.Context, cluster *clusterv1.ManagedCluster, to registration.HandOver) error {
	own := metav1.ObjectMeta{Namespace: cluster.Name, Name: registration.HandOverName}
	agents := &rbacv1.RoleBinding{}
	if err := h.source.Get(ctx, client.ObjectKey{Namespace: cluster.Name, Name: registration.AgentBinding(cluster.Name)}, agents); err != nil {
		return fmt.Errorf("reading who is the agent of %s: %w", cluster.Name, err)
	}
	secret := &corev1.Secret{ObjectMeta: own, Data: to.Data()}
	secret.Annotations = map[string]string{expiryAnnotation: h.clock.Now().Add(h.ttl / 2).UTC().Format(time.RFC3339)}
	for _, object := range []client.Object{
		secret,
		&rbacv1.Role{ObjectMeta: own, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, ResourceNames: []string{registration.HandOverName},
				Verbs: []string{"get"},
			},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: own, Subjects: agents.Subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: own.Name},
		},
	} {
		if err := h.source.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("replacing the former hand-over of %s: %w", cluster.Name, err)
		}
		if err := h.source.Create(ctx, object, client.FieldOwner(fieldManager)); err != nil {
			return fmt.Errorf("storing the hand-over of %s: %w", cluster.Name, err)
		}
	}
	return h.announce(ctx, cluster, to.Hash())
}

// announce writes the hash of a hand-over on the ManagedCluster; an empty one ends it.
func (h *handOver) announce(ctx context.Context, cluster *clusterv1.ManagedCluster, hash string) error {
	next := cluster.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[clusterv1.HandOverAnnotationKey] = hash
	if hash == "" {
		delete(next.Annotations, clusterv1.HandOverAnnotationKey)
	}
	if err := h.source.Patch(ctx, next, client.MergeFrom(cluster), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("announcing the hand-over of %s: %w", cluster.Name, err)
	}
	return nil
}

// end removes the hand-over of an agent that has moved.
func (h *handOver) end(ctx context.Context, cluster *clusterv1.ManagedCluster) error {
	if cluster.Annotations[clusterv1.HandOverAnnotationKey] == "" {
		return nil
	}
	own := metav1.ObjectMeta{Namespace: cluster.Name, Name: registration.HandOverName}
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: own}, &rbacv1.RoleBinding{ObjectMeta: own},
		&rbacv1.Role{ObjectMeta: own},
	} {
		if err := h.source.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("ending the hand-over of %s: %w", cluster.Name, err)
		}
	}
	return h.announce(ctx, cluster, "")
}
