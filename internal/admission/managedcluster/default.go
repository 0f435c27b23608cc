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
func (c Request) Default(ctx context.Context, state JoinOptions) (review.Response, error) {
	out := review.Response{Warnings: c.leaseWarnings()}
	if err := c.checkURLs(); err != nil {
		return out, err
	}
	if err := c.setTaintTimes(ctx, &out); err != nil {
		return out, err
	}
	if err := c.taintUnjoined(ctx, state, &out); err != nil {
		return out, err
	}
	if err := c.addDefaultSet(ctx, &out); err != nil {
		return out, err
	}
	c.removeDenied(&out)
	return out, nil
}

// setTaintTimes sets the time of every taint. Another time needs the permission for taints. Without it, the times of a new cluster
// are replaced and not rejected, since clusters are restored from files.
func (c Request) setTaintTimes(ctx context.Context, out *review.Response) error {
	before, after := c.taints()
	for i, taint := range after {
		own, claimed := timeAdded(before, taint, c.Now)
		switch {
		case claimed && c.Old != nil:
			if err := c.requireTaintTime(ctx, i, taint); err != nil {
				return err
			}
			continue
		case claimed:
			held, err := c.User.HasAny(ctx, c.taintPermission())
			if err != nil {
				return err
			}
			if held {
				continue
			}
			out.Warnings = append(out.Warnings, fmt.Sprintf("spec.taints[%d].timeAdded is set to now, since %s may not set it", i, userText(c.User)))
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
func (c Request) addDefaultSet(ctx context.Context, out *review.Response) error {
	const key, set = clusterv1beta2.ClusterSetLabel, clusterv1beta2.DefaultClusterSetName
	before, after := c.labels()
	if after[key] != "" || !c.New.DeletionTimestamp.IsZero() || c.Old != nil && before[key] == "" {
		return nil
	}
	if c.Old == nil {
		held, err := c.User.HasAny(ctx, labelPermissions(key, set)...)
		if err != nil {
			return err
		}
		if !held {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the cluster is in no exclusive set, since %s may not put it into %q", userText(c.User), set))
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
