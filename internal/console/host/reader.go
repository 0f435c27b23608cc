package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/access"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/source/file"
	"github.com/berth-project/berth/internal/status"
	"github.com/berth-project/berth/internal/views/placementapi"
	"github.com/berth-project/berth/internal/views/visibility"
)

// maxNamespaces is for how many namespaces a state reviews the permissions of one user, who may not list placements everywhere.
const maxNamespaces = 200

// reader reads the fleet as one user may see it. It implements console.Reader, console.Deliveries,
// console.Members and console.HubReader.
type reader struct {
	users *users
	who   user.Info
	// used is when the user last looked, guarded by the lock of users.
	used time.Time

	mu    sync.Mutex
	state *model.State
	// built is the version of the changes that the state has, checked when the permissions were read for it.
	built   uint64
	checked time.Time
}

// Changed implements console.Reader.
func (r *reader) Changed() <-chan struct{} {
	_, changed := r.users.changes.current()
	return changed
}

// State implements console.Reader. All pages of a user share a state, and so do users who see the same.
func (r *reader) State(ctx context.Context) (*model.State, error) {
	version, _ := r.users.changes.current()
	now := r.users.options.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != nil && r.built == version && now.Sub(r.checked) < permissionTime {
		return r.state, nil
	}
	objects, note, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	r.state, r.built, r.checked = r.users.states.of(objects, note, now), version, now
	return r.state, nil
}

// read returns the objects that the user may see. They are those of the caches, so they are read-only.
func (r *reader) read(ctx context.Context) (out file.Objects, note string, err error) {
	view := r.users.options.Views.Current().Snapshot.ViewFor(r.subject())
	for entry := range view.Objects(visibility.Cluster) {
		if cluster, ok := entry.Object.(*clusterv1.ManagedCluster); ok {
			out.Clusters = append(out.Clusters, cluster)
		}
	}
	for entry := range view.Objects(visibility.Set) {
		if set, ok := entry.Object.(*clusterv1beta2.ManagedClusterSet); ok {
			out.Sets = append(out.Sets, set)
		}
	}
	var placements clusterv1beta1.PlacementList
	var decisions clusterv1beta1.PlacementDecisionList
	if err := errors.Join(r.users.objects.List(ctx, &placements, client.UnsafeDisableDeepCopy),
		r.users.objects.List(ctx, &decisions, client.UnsafeDisableDeepCopy)); err != nil {
		return out, "", fmt.Errorf("reading the placements: %w", err)
	}
	seen := newNamespaces(ctx, r, clusterv1beta1.SchemeGroupVersion.WithResource("placements"),
		clusterv1beta1.SchemeGroupVersion.WithResource("placementdecisions"))
	for i := range placements.Items {
		if seen.visible(placements.Items[i].Namespace) {
			out.Placements = append(out.Placements, &placements.Items[i])
		}
	}
	for i := range decisions.Items {
		if seen.visible(decisions.Items[i].Namespace) {
			out.Slices = append(out.Slices, &decisions.Items[i])
		}
	}
	if r.users.options.Deliveries != nil {
		err = r.readSets(ctx, &out)
	}
	sortByName(out.Placements)
	sortByName(out.Slices)
	sortByName(out.WorkSets)
	return out, seen.note(), err
}

// sortByName sorts objects, which a cache lists in any order.
func sortByName[T client.Object](of []T) {
	slices.SortFunc(of, func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
}

// readSets adds the sets of works that the user may see.
func (r *reader) readSets(ctx context.Context, out *file.Objects) error {
	var sets workv1alpha1.ManifestWorkReplicaSetList
	if err := r.users.objects.List(ctx, &sets, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("reading the sets of works: %w", err)
	}
	seen := newNamespaces(ctx, r, workv1alpha1.GroupVersion.WithResource("manifestworkreplicasets"))
	for i := range sets.Items {
		if seen.visible(sets.Items[i].Namespace) {
			out.WorkSets = append(out.WorkSets, &sets.Items[i])
		}
	}
	return nil
}

func (r *reader) subject() access.Subject {
	return access.Subject{User: r.who.GetName(), Groups: slices.Clone(r.who.GetGroups())}
}

// allowed reports whether the user has a permission; in every namespace where it is empty. An error is a no.
func (r *reader) allowed(ctx context.Context, verb string, of schema.GroupVersionResource, namespace, name string) bool {
	decision, _, err := r.users.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: r.who, Verb: verb, Namespace: namespace, Name: name, APIGroup: of.Group, APIVersion: of.Version, Resource: of.Resource,
		ResourceRequest: true,
	})
	return err == nil && decision == authorizer.DecisionAllow
}

// visibleTo returns a function that reports whether the user may see an object of a kind. Only one goroutine may use it.
func (r *reader) visibleTo(kind visibility.Kind) func(name string) bool {
	view := r.users.options.Views.Current().Snapshot.ViewFor(r.subject())
	return func(name string) bool { return view.Visible(kind, name) }
}

// mayGet reports whether the user may get a placement.
func (r *reader) mayGet(ctx context.Context, key fleet.Key) bool {
	return r.allowed(ctx, "get", clusterv1beta1.SchemeGroupVersion.WithResource("placements"), key.Namespace, key.Name)
}

// Explain implements console.Reader.
func (r *reader) Explain(ctx context.Context, key fleet.Key, cluster string) (*explain.Explanation, error) {
	if !r.mayGet(ctx, key) {
		return nil, console.ErrNotFound
	}
	answer, err := r.users.options.Record.Explain(ctx, key)
	if errors.Is(err, history.ErrUnknown) {
		return nil, console.ErrNotFound
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it is about the placement
	}
	out := answer.Explanation(r.visibleTo(visibility.Cluster))
	if cluster == "" {
		return &out, nil
	}
	found, ok := out.Find(cluster)
	if !ok {
		return nil, console.ErrNotFound
	}
	if fix, ok := answer.Fix(cluster, r.visibleTo(visibility.Set)); ok {
		found.Fix = &fix
	}
	out.Clusters = []explain.Cluster{*found}
	return &out, nil
}

// Verdict implements console.Reader.
func (r *reader) Verdict(ctx context.Context, key fleet.Key, cluster string) (*explain.Cluster, error) {
	visible := r.visibleTo(visibility.Cluster)
	if !r.mayGet(ctx, key) || !visible(cluster) {
		return nil, console.ErrNotFound
	}
	answer, err := r.users.options.Record.Explain(ctx, key)
	if errors.Is(err, history.ErrUnknown) {
		return nil, console.ErrNotFound
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it is about the placement
	}
	found, ok := answer.Cluster(cluster, visible)
	if !ok {
		return nil, console.ErrNotFound
	}
	return &found, nil
}

// History implements console.Reader.
func (r *reader) History(ctx context.Context, key fleet.Key) (*explain.History, error) {
	if !r.mayGet(ctx, key) {
		return nil, console.ErrNotFound
	}
	out, err := r.users.options.Record.History(key, time.Time{}, "", r.visibleTo(visibility.Cluster))
	return &out, err //nolint:wrapcheck // it is about the placement
}

// Delivery implements console.Deliveries.
func (r *reader) Delivery(ctx context.Context, set fleet.Key) (*report.Report, error) {
	if !r.allowed(ctx, "get", workv1alpha1.GroupVersion.WithResource("manifestworkreplicasets"), set.Namespace, set.Name) {
		return nil, console.ErrNotFound
	}
	in, err := r.users.options.Deliveries.Input(ctx, types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
	if apierrors.IsNotFound(err) {
		return nil, console.ErrNotFound
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it is about the set
	}
	found := report.New(in)
	out := found.Visible(r.visibleTo(visibility.Cluster))
	return &out, nil
}

// Past implements console.Deliveries: the kept templates, where the user may list them. The manager reads no events.
func (r *reader) Past(ctx context.Context, set fleet.Key) (*model.Past, error) {
	if !r.allowed(ctx, "get", workv1alpha1.GroupVersion.WithResource("manifestworkreplicasets"), set.Namespace, set.Name) {
		return nil, console.ErrNotFound
	}
	const command = "kubectl get events -n "
	out := &model.Past{Problem: "The manager reads no events. This lists them: " + command + set.Namespace}
	if !r.allowed(ctx, "list", appsv1.SchemeGroupVersion.WithResource("controllerrevisions"), set.Namespace, "") {
		out.Problem = "You may not list the former templates: this needs list on controllerrevisions in the namespace. " + out.Problem
		return out, nil
	}
	owner := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := r.users.objects.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: set.Name}, owner); err != nil {
		return nil, fmt.Errorf("reading the set %s: %w", set, err)
	}
	kept := &appsv1.ControllerRevisionList{}
	of := client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)}
	if err := r.users.objects.List(ctx, kept, client.InNamespace(set.Namespace), of); err != nil {
		return nil, fmt.Errorf("reading the former templates of the set %s: %w", set, err)
	}
	for i := range kept.Items {
		hash := plan.RevisionHash(owner, &kept.Items[i])
		if hash == "" {
			continue // it is of another owner
		}
		out.Revisions = append(out.Revisions, model.Revision{
			Number: kept.Items[i].Revision, Hash: hash, Created: kept.Items[i].CreationTimestamp.Time,
			Update: hash == owner.Status.UpdateRevision, Current: hash == owner.Status.CurrentRevision,
		})
	}
	return out, nil
}

// Hub implements console.HubReader. The figures count the whole fleet, so the user needs the permission to read metrics.
func (r *reader) Hub(ctx context.Context) (*status.Hub, error) {
	attributes := authorizer.AttributesRecord{User: r.who, Verb: "get", Path: placementapi.MetricsPath}
	if decision, _, err := r.users.authorizer.Authorize(ctx, attributes); err != nil || decision != authorizer.DecisionAllow {
		return nil, status.ErrNotPermitted
	}
	return r.users.hub.Read(ctx), nil
}

// Graces implements console.HubReader.
func (r *reader) Graces(ctx context.Context) []hold.Hold {
	found, err := r.users.options.Record.Graces()
	if err != nil {
		return nil // another manager leads
	}
	bindings := clusterv1beta2.SchemeGroupVersion.WithResource("managedclustersetbindings")
	return placementapi.GraceHolds(found, r.visibleTo(visibility.Cluster), r.visibleTo(visibility.Set),
		func(namespace string) bool { return r.allowed(ctx, "list", bindings, namespace, "") })
}

// namespaces are those in which a user may list kinds.
type namespaces struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one reading
	reader *reader
	kinds  []schema.GroupVersionResource
	all    bool
	known  map[string]bool
	capped bool
}

func newNamespaces(ctx context.Context, r *reader, kinds ...schema.GroupVersionResource) *namespaces {
	out := &namespaces{ctx: ctx, reader: r, kinds: kinds, known: map[string]bool{}}
	out.all = out.allowed("")
	return out
}

func (n *namespaces) allowed(namespace string) bool {
	for _, kind := range n.kinds {
		if !n.reader.allowed(n.ctx, "list", kind, namespace, "") {
			return false
		}
	}
	return true
}

// visible reports whether the user may list the kinds in a namespace.
func (n *namespaces) visible(namespace string) bool {
	if n.all {
		return true
	}
	found, known := n.known[namespace]
	if known {
		return found
	}
	if len(n.known) >= maxNamespaces {
		n.capped = true
		return false
	}
	n.known[namespace] = n.allowed(namespace)
	return n.known[namespace]
}

// note describes what a page may lack.
func (n *namespaces) note() string {
	if !n.capped {
		return ""
	}
	return fmt.Sprintf("Only %d namespaces were checked for placements that you may list.", maxNamespaces)
}
