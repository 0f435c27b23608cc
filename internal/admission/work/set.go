package work

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/admission/permission"
	"github.com/berth-project/berth/internal/admission/review"
	"github.com/berth-project/berth/internal/delivery/validation"
)

const (
	// SetPath is where the API server calls the webhook of sets of works.
	SetPath = "/validate-work-open-cluster-management-io-v1alpha1-manifestworkreplicaset"

	// maxPlacementReads is how many placements of a set are looked up for warnings.
	maxPlacementReads = 10
	// fanOutWarning is how many bytes one change may write to the hub before a warning: the default quota of etcd is 2 GiB, and each
	// change is stored with its statuses until compaction.
	fanOutWarning = 250_000_000
)

// ValidatingSet serves the rules about sets of works. The author of a set, and not the manager that creates its works, needs the
// permission for the executor, in the namespace of the set, and without an executor for the agent's account. Placements are read
// for warnings only.
func ValidatingSet(validator *validation.Validator, rights permission.Checker, placements client.Reader) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Request[workv1alpha1.ManifestWorkReplicaSet]) (review.Response, error) {
		var old *workv1alpha1.ManifestWorkReplicaSetSpec
		if c.Old != nil {
			old = &c.Old.Spec
		}
		warnings, err := validate(validator.Set, old, &c.New.Spec, schema.GroupKind{Group: workv1.GroupName, Kind: "ManifestWorkReplicaSet"},
			c.New.Name)
		if err != nil {
			return review.Response{}, err
		}
		of := schema.GroupResource{Group: workv1.GroupName, Resource: "manifestworkreplicasets"}
		if err := executorOf(&c.New.Spec.ManifestWorkTemplate).review(ctx, rights, c.User, of, c.New.Namespace, c.New.Name); err != nil {
			return review.Response{}, err
		}
		warnings = append(warnings, approvalWarnings(old, &c.New.Spec)...)
		return review.Response{Warnings: append(warnings, placementWarnings(ctx, placements, c.New)...)}, nil
	})
}

// approvalWarnings warns of approvals that were for the former template and count for the present one too.
func approvalWarnings(old, after *workv1alpha1.ManifestWorkReplicaSetSpec) []string {
	if old == nil || equality.Semantic.DeepEqual(old.ManifestWorkTemplate, after.ManifestWorkTemplate) {
		return nil
	}
	var out []string
	for i, ref := range after.PlacementRefs {
		if approval := ref.RolloutStrategy.Approval; approval != nil && approval.Revision == "" && len(approval.Approved) > 0 {
			out = append(out, fmt.Sprintf("spec.placementRefs[%d].rolloutStrategy.approval: the template changes, and the %d "+
				"approved groups start with it "+
				"without another approval: empty approved in the same change, or set revision, as kubectl berth rollout approve does", i,
				len(approval.Approved)))
		}
	}
	return out
}

// placementWarnings warns of placements that do not exist yet, and of a change that is large for the storage of the hub.
func placementWarnings(ctx context.Context, placements client.Reader, set *workv1alpha1.ManifestWorkReplicaSet) []string {
	var out []string
	clusters := 0
	for i, ref := range set.Spec.PlacementRefs[:min(len(set.Spec.PlacementRefs), maxPlacementReads)] {
		placement := &clusterv1beta1.Placement{}
		err := placements.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: ref.Name}, placement)
		switch {
		case apierrors.IsNotFound(err):
			out = append(out, fmt.Sprintf("spec.placementRefs[%d]: there is no Placement %q in the namespace %q yet, so it selects no cluster", i,
				ref.Name, set.Namespace))
		case err != nil: // a warning is no reason to refuse
			log.FromContext(ctx).Info("reading a placement for the warnings about a set failed", "namespace", set.Namespace, "placement", ref.Name,
				"error", err.Error())
		default:
			clusters += int(placement.Status.NumberOfSelectedClusters)
			out = append(out, groupWarnings(ctx, placements, set, i)...)
		}
	}
	size := 0
	for _, manifest := range set.Spec.ManifestWorkTemplate.Workload.Manifests {
		size += len(manifest.Raw)
	}
	if total := size * clusters; total > fanOutWarning {
		out = append(out, fmt.Sprintf("each change writes %d MB to the hub, %d kB for each of %d clusters; two such changes within 5 "+
			"minutes may fill its storage",
			total/1_000_000, size/1000, clusters))
	}
	return out
}
