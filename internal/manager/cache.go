package manager

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/bridge/probe"
	"github.com/berth-project/berth/internal/bridge/profile"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/membership/acceptance"
	"github.com/berth-project/berth/internal/membership/grant"
	"github.com/berth-project/berth/internal/membership/health"
	"github.com/berth-project/berth/internal/source/informer"
	"github.com/berth-project/berth/internal/source/transform"
)

// newCaches returns the options of the caches. leases observes the watch of the leases, and profiles is the name of the cluster manager in
// profiles.
func newCaches(leases *health.LeaseWatch, profiles string) cache.Options {
	out := cacheOptions(profiles)
	out.NewInformer = func(
		lists toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers,
	) toolscache.SharedIndexInformer {
		if _, ok := kind.(*coordinationv1.Lease); ok {
			lists = leases.Lists(lists)
		}
		return informer.New(lists, kind, resync, indexers)
	}
	return out
}

// cacheOptions keeps out of memory what no controller reads: all Secrets but those of probes, most service accounts, leases of other
// components, namespaces, role bindings and certificate requests without the label of a cluster, decisions of other cluster managers, and
// the parts of objects that the transforms drop. It must not name a kind that a hub may lack, such as FormerTemplate: the manager would not
// start.
func cacheOptions(profiles string) cache.Options {
	slimmer := transform.New()
	return cache.Options{
		DefaultTransform: slimmer.Object,
		ByObject: map[client.Object]cache.ByObject{
			&clusterv1.ManagedCluster{}:                 {Transform: slimmer.Cluster},
			&clusterv1beta1.Placement{}:                 {Transform: slimmer.Placement},
			&clusterv1beta1.PlacementDecision{}:         {Transform: slimmer.Slice},
			&multiclusterv1alpha1.ClusterProfile{}:      {Transform: slimmer.Profile},
			&multiclusterv1alpha1.PlacementDecision{}:   {Label: profile.Decisions(profiles), Transform: slimmer.Object},
			&workv1.ManifestWork{}:                      {Transform: delivery.Transform},
			&appsv1.ControllerRevision{}:                {Label: delivery.Revisions(), Transform: slimmer.Object},
			grant.AccountKind():                         {Field: fields.OneTermEqualSelector(metav1.ObjectNameField, grant.Account)},
			&certificatesv1.CertificateSigningRequest{}: {Label: acceptance.ClusterObjects(), Transform: slimmer.Object},
			&corev1.Secret{}:                            {Namespaces: map[string]cache.Config{probe.Namespace: {LabelSelector: probe.Secrets()}}},
			&corev1.Namespace{}:                         {Label: acceptance.ClusterObjects(), Transform: slimmer.Object},
			&rbacv1.RoleBinding{}:                       {Label: acceptance.ClusterObjects(), Transform: slimmer.Object},
			&coordinationv1.Lease{}: {
				Field: fields.OneTermEqualSelector(metav1.ObjectNameField, clusterv1.ManagedClusterLeaseName), Transform: health.Slim,
			},
		},
	}
}
