package report

import (
	"fmt"
	"strconv"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// Remedy returns what a user does to let a rollout go on that stands still; empty while it moves by itself.
func Remedy(set *workv1alpha1.ManifestWorkReplicaSet, step plan.Rollout) string {
	if step.Phase == rollout.PhaseMissing {
		return "finishes when as many clusters are selected again, or after `" + plan.ApproveWithoutMissing(set) + "`"
	}
	code, stands := map[rollout.Phase]rollout.Code{
		rollout.PhaseBreached: rollout.WaitsForRepair, rollout.PhasePaused: rollout.WaitsForResume,
		rollout.PhaseUnapproved: rollout.WaitsForApproval, rollout.PhaseUnproven: rollout.WaitsForProof,
		rollout.PhaseFailed: rollout.WaitsForRepair, rollout.PhaseMisconfigured: rollout.WaitsForStrategy,
	}[step.Phase]
	if !stands {
		return ""
	}
	return remedy(set, step.Placement, step.Step, code, step.Group)
}

// remedy returns what a user does about a code that waits for a user.
func remedy(set *workv1alpha1.ManifestWorkReplicaSet, placement string, step rollout.Step, code rollout.Code,
	group decision.GroupKey,
) string {
	command := func(verb, flags string) string {
		if len(set.Spec.PlacementRefs) > 1 && verb != "undo" {
			flags += " --placement " + placement
		}
		return fmt.Sprintf("kubectl berth rollout %s %s -n %s%s", verb, set.Name, set.Namespace, flags)
	}
	if code == rollout.WaitsForApproval && plan.HeldForFormer(set) {
		return "starts after `" + plan.ApproveWithoutFormer(set) +
			"`, without a way back, or once the former template was in the set again and is kept"
	}
	switch code {
	case rollout.WaitsForApproval:
		return "starts after `" + command("approve", " --group "+groupFlag(group)) + "`"
	case rollout.WaitsForResume:
		return "starts after `" + command("resume", "") + "`"
	case rollout.WaitsForProof:
		if step.Unproven != nil {
			group = decision.GroupKey{Index: int(step.Unproven.GroupIndex), Name: step.Unproven.GroupName}
		}
		return "starts when a cluster of the mandatory group has succeeded, or after `" + command("approve", " --group "+groupFlag(group)) + "`"
	case rollout.WaitsForRepair:
		if set.Status.AbortedTime != nil {
			return "starts with another template, or without failureStrategy; raising maxFailures does nothing after an abort"
		}
		raise := ", raise maxFailures,"
		if step.Mandatory {
			raise = ","
		}
		what, back := "template", "return with `"+command("undo", "")+"`"
		if record := set.Status.Rollout; record != nil && record.Overrides {
			what, back = "overrides", "apply the former ones"
		}
		return "starts when the failed clusters succeed: correct the " + what + ", forgive with `" +
			fmt.Sprintf("kubectl berth rollout forgive %s CLUSTER -n %s --reason WHY", set.Name, set.Namespace) + "`" + raise + " or " + back
	case rollout.WaitsForStrategy:
		return "starts when the rolloutStrategy of placement " + placement + " is valid and the template has a manifest"
	default:
		return ""
	}
}

// groupFlag names a group as --group takes it.
func groupFlag(group decision.GroupKey) string {
	if group.Name != "" {
		return group.Name
	}
	return strconv.Itoa(group.Index)
}
