package managedcluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	jsonpatch "gomodules.xyz/jsonpatch/v2"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/admission/review"
)

// Default completes a cluster with valid URLs: it sets the times of taints, maintains the taints about its registration, and
// puts a cluster without a set into the default set.
func (r Request) Default(ctx context.Context, state JoinOptions) (review.Response, error) {
	out := review.Response{Warnings: r.leaseWarnings()}
	if err := r.checkURLs(); err != nil {
		return out, err
	}
	if err := r.setTaintTimes(ctx, &out); err != nil {
		return out, err
	}
	if err := r.taintUnjoined(ctx, state, &out); err != nil {
		return out, err
	}
	if err := r.addDefaultSet(ctx, &out); err != nil {
		return out, err
	}
	r.removeDenied(&out)
	return out, nil
}

// setTaintTimes sets the time of every taint. Another time needs the permission for taints. Without it, the times of a new cluster
// are replaced and not rejected, since clusters are restored from files.
func (r Request) setTaintTimes(ctx context.Context, out *review.Response) error {
	before, after := r.taints()
	for i, taint := range after {
		own, claimed := timeAdded(before, taint, r.Now)
		switch {
		case claimed && r.Old != nil:
			if err := r.requireTaintTime(ctx, i, taint); err != nil {
				return err
			}
			continue
		case claimed:
			held, err := r.User.HasAny(ctx, r.taintPermission())
			if err != nil {
				return err
			}
			if held {
				continue
			}
			out.Warnings = append(out.Warnings, fmt.Sprintf("spec.taints[%d].timeAdded is set to now, since %s may not set it", i, userText(r.User)))
		case sameTime(own, taint.TimeAdded):
			continue
		}
		out.Patches = append(out.Patches, addOperation(fmt.Sprintf("/spec/taints/%d/timeAdded", i), own.UTC().Format(time.RFC3339)))
	}
	return nil
}

// addDefaultSet puts a cluster into the default set where it is created without a set, or its label is removed. The removal is a move,
// which needs both permissions. A cluster without a set stays without when another field changes, as does a new cluster whose
// creator may not put it into the default set.
func (r Request) addDefaultSet(ctx context.Context, out *review.Response) error {
	const key, set = clusterv1beta2.ClusterSetLabel, clusterv1beta2.DefaultClusterSetName
	before, after := r.labels()
	if after[key] != "" || !r.New.DeletionTimestamp.IsZero() || r.Old != nil && before[key] == "" {
		return nil
	}
	if r.Old == nil {
		held, err := r.User.HasAny(ctx, labelPermissions(key, set)...)
		if err != nil {
			return err
		}
		if !held {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the cluster is in no exclusive set, since %s may not put it into %q", userText(r.User),
				set))
			return nil
		}
	} else {
		out.Warnings = append(out.Warnings, fmt.Sprintf("without the label %s the cluster moves to the set %q", key, set))
	}
	if after == nil {
		out.Patches = append(out.Patches, addOperation("/metadata/labels", map[string]string{key: set}))
		return nil
	}
	out.Patches = append(out.Patches, addOperation("/metadata/labels/"+strings.ReplaceAll(key, "/", "~1"), set))
	return nil
}

// addOperation sets a field whether it exists or not.
func addOperation(path string, value any) jsonpatch.Operation {
	return jsonpatch.Operation{Operation: "add", Path: path, Value: value}
}
