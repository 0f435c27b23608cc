package rollout

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// noDeadline is the progressDeadline of a strategy without one.
const noDeadline = "None"

// hasUnit is the pattern of a deadline in the schema of objects that embed a strategy.
var hasUnit = regexp.MustCompile(`^[0-9]+[hms]`)

// threshold is a number, or a percentage, which is rounded up.
type threshold struct {
	value   int
	percent bool
}

// of returns the threshold for a total, at most the total.
func (t threshold) of(total int) int {
	if !t.percent {
		return min(t.value, total)
	}
	return min((t.value*total+99)/100, total)
}

// rules is a compiled strategy.
type rules struct {
	kind           clusterv1alpha1.RolloutType
	minSuccessTime time.Duration
	deadline       time.Duration
	maxFailures    threshold
	concurrency    threshold
	mandatory      []clusterv1alpha1.MandatoryDecisionGroup
	paused         bool
	approval       *clusterv1alpha1.RolloutApproval
}

// Validate returns the invalid fields of a strategy and what to write instead. The default type is All.
func Validate(strategy *clusterv1alpha1.RolloutStrategy, path *field.Path) field.ErrorList {
	_, errs := compile(strategy, path)
	return errs
}

// compile reads a strategy. The parts of other types are not read.
func compile(strategy *clusterv1alpha1.RolloutStrategy, path *field.Path) (rules, field.ErrorList) {
	out := rules{kind: clusterv1alpha1.All, deadline: never}
	if strategy == nil {
		return out, nil
	}
	out.paused, out.approval = strategy.Paused, strategy.Approval
	if strategy.Type != "" {
		out.kind = strategy.Type
	}
	var errs field.ErrorList
	switch out.kind {
	case clusterv1alpha1.All:
		if all := strategy.All; all != nil {
			errs = out.configure(all.RolloutConfig, path.Child("all"))
		}
		out.minSuccessTime = 0
	case clusterv1alpha1.Progressive:
		if progressive := strategy.Progressive; progressive != nil {
			at := path.Child("progressive")
			errs = out.configure(progressive.RolloutConfig, at)
			errs = append(errs, out.require(progressive.MandatoryDecisionGroups, at)...)
			var err *field.Error
			out.concurrency, err = parse(progressive.MaxConcurrency, at.Child("maxConcurrency"))
			errs = appendError(errs, err)
		}
	case clusterv1alpha1.ProgressivePerGroup:
		if perGroup := strategy.ProgressivePerGroup; perGroup != nil {
			at := path.Child("progressivePerGroup")
			errs = out.configure(perGroup.RolloutConfig, at)
			errs = append(errs, out.require(perGroup.MandatoryDecisionGroups, at)...)
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("type"), out.kind, []clusterv1alpha1.RolloutType{
			clusterv1alpha1.All, clusterv1alpha1.Progressive, clusterv1alpha1.ProgressivePerGroup,
		}))
	}
	if approval := out.approval; approval != nil {
		errs = append(errs, references(approval.Required, path.Child("approval", "required"))...)
		errs = append(errs, references(approval.Approved, path.Child("approval", "approved"))...)
	}
	return out, errs
}

// configure reads the part that all types have.
func (r *rules) configure(config clusterv1alpha1.RolloutConfig, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.minSuccessTime = config.MinSuccessTime.Duration; r.minSuccessTime < 0 {
		errs = append(errs, field.Invalid(path.Child("minSuccessTime"), r.minSuccessTime.String(),
			"must not be negative; write 0 to continue at once"))
	}
	var err *field.Error
	if r.deadline, err = deadline(config.ProgressDeadline, path.Child("progressDeadline")); err != nil {
		errs = append(errs, err)
	}
	r.maxFailures, err = parse(config.MaxFailures, path.Child("maxFailures"))
	return appendError(errs, err)
}

// require reads the mandatory groups.
func (r *rules) require(groups clusterv1alpha1.MandatoryDecisionGroups, path *field.Path) field.ErrorList {
	r.mandatory = groups.MandatoryDecisionGroups
	return references(r.mandatory, path.Child("mandatoryDecisionGroups"))
}

func appendError(errs field.ErrorList, err *field.Error) field.ErrorList {
	if err == nil {
		return errs
	}
	return append(errs, err)
}

func references(to []clusterv1alpha1.MandatoryDecisionGroup, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, reference := range to {
		if reference.GroupName == "" && reference.GroupIndex < 0 {
			errs = append(errs, field.Invalid(path.Index(i).Child("groupIndex"), reference.GroupIndex,
				"must be 0 or more; groups are counted from 0"))
		}
	}
	return errs
}

// deadline reads a duration with a unit, or None.
func deadline(text string, path *field.Path) (time.Duration, *field.Error) {
	if text == "" || text == noDeadline {
		return never, nil
	}
	if hasUnit.MatchString(text) {
		if out, err := time.ParseDuration(text); err == nil {
			return out, nil
		}
	}
	return never, field.Invalid(path, text, `must be a duration with a unit, such as "30m" or "1h30m", or "None"`)
}

// parse reads a number or a percentage.
func parse(from intstr.IntOrString, path *field.Path) (threshold, *field.Error) {
	const form = `must be a number from 0, such as 3, or a percentage from 0% to 100%, such as "10%"`
	if from.Type == intstr.Int {
		if from.IntVal < 0 {
			return threshold{}, field.Invalid(path, from.IntVal, form)
		}
		return threshold{value: int(from.IntVal)}, nil
	}
	digits, percent := strings.CutSuffix(from.StrVal, "%")
	value, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || percent && value > 100 {
		return threshold{}, field.Invalid(path, from.StrVal, form)
	}
	return threshold{int(value), percent}, nil
}

// ordered reports whether clusters start in the order of their groups.
func (r rules) ordered() bool { return r.kind != clusterv1alpha1.All }

// blocksLaterGroups reports whether the whole group must be done before a later group starts.
func (r rules) blocksLaterGroups(mandatory bool) bool {
	return mandatory || r.kind == clusterv1alpha1.ProgressivePerGroup
}

// approved reports whether the approval of the strategy lets a group start.
func (r rules) approved(key decision.GroupKey) bool {
	if r.approval == nil {
		return true
	}
	in := func(references []clusterv1alpha1.MandatoryDecisionGroup) bool {
		return slices.ContainsFunc(references, func(to clusterv1alpha1.MandatoryDecisionGroup) bool { return refersTo(to, key) })
	}
	return len(r.approval.Required) > 0 && !in(r.approval.Required) || in(r.approval.Approved)
}

// references returns every reference of the strategy.
func (r rules) references() []clusterv1alpha1.MandatoryDecisionGroup {
	out := slices.Clone(r.mandatory)
	if r.approval != nil {
		out = append(append(out, r.approval.Required...), r.approval.Approved...)
	}
	return out
}

// NeedsApproval reports whether a group must not start until it is approved.
func NeedsApproval(strategy *clusterv1alpha1.RolloutStrategy, group decision.GroupKey) bool {
	r, _ := compile(strategy, nil)
	return !r.approved(group)
}
