package managedcluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	jsonpatch "gomodules.xyz/jsonpatch/v2"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/webhook/review"
)

// Default completes a cluster whose URLs are right: it stamps taints, keeps the ones about its registration, and puts a cluster that names no set
// into the default one.
func (c Case) Default(ctx context.Context, state Registration) (review.Answer, error) {
	out := review.Answer{Warnings: c.leaseWarnings()}
	if err := c.checkURLs(); err != nil {
		return out, err
	}
	if err := c.stamp(ctx, &out); err != nil {
		return out, err
	}
	if err := c.taintUnjoined(ctx, state, &out); err != nil {
		return out, err
	}
	if err := c.join(ctx, &out); err != nil {
		return out, err
	}
	c.removeDenied(&out)
	return out, nil
}

// stamp gives every taint the time that it has by itself. Other times are for those with the right to the taints; a
// new cluster's are replaced where the caller lacks it, since restoring a cluster from a file is no attempt at anything.
func (c Case) stamp(ctx context.Context, out *review.Answer) error {
	before, after := c.taints()
	for i, taint := range after {
		own, claimed := added(before, taint, c.Now)
		switch {
		case claimed && c.Old != nil:
			if err := c.needTime(ctx, i, taint); err != nil {
				return err
			}
			continue
		case claimed:
			held, err := c.User.Has(ctx, c.taintRight())
			if err != nil {
				return err
			}
			if held {
				continue
			}
			out.Warnings = append(out.Warnings, fmt.Sprintf("spec.taints[%d].timeAdded is set to now, since %s may not set it", i, who(c.User)))
		case sameTime(own, taint.TimeAdded):
			continue
		}
		out.Patches = append(out.Patches, add(fmt.Sprintf("/spec/taints/%d/timeAdded", i), own.UTC().Format(time.RFC3339)))
	}
	return nil
}

// join puts a cluster into the default set where it is created without a set, or taken out of its own: that is a move,
// for which both rights are needed later. A cluster that has been without a set stays so when something else about it
// changes, and so does a new one whose creator may not put it into the default set.
func (c Case) join(ctx context.Context, out *review.Answer) error {
	const key, set = clusterv1beta2.ClusterSetLabel, clusterv1beta2.DefaultClusterSetName
	before, after := c.labels()
	if after[key] != "" || !c.New.DeletionTimestamp.IsZero() || c.Old != nil && before[key] == "" {
		return nil
	}
	if c.Old == nil {
		held, err := c.User.Has(ctx, labelRights(key, set)...)
		if err != nil {
			return err
		}
		if !held {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the cluster is in no exclusive set, since %s may not put it into %q", who(c.User), set))
			return nil
		}
	} else {
		out.Warnings = append(out.Warnings, fmt.Sprintf("without the label %s the cluster moves to the set %q", key, set))
	}
	if after == nil {
		out.Patches = append(out.Patches, add("/metadata/labels", map[string]string{key: set}))
		return nil
	}
	out.Patches = append(out.Patches, add("/metadata/labels/"+strings.ReplaceAll(key, "/", "~1"), set))
	return nil
}

// add sets a field whether it is there or not.
func add(path string, value any) jsonpatch.Operation {
	return jsonpatch.Operation{Operation: "add", Path: path, Value: value}
}
