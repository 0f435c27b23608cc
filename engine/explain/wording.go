package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-project/berth/engine/verdict"
)

// Why returns the reason for a verdict in a few words; empty if the verdict is enough.
func Why(v verdict.Verdict) string {
	switch argument := v.Argument.(type) {
	case verdict.Mismatches:
		return clausesText(argument)
	case verdict.Taint:
		return taintReason(argument)
	case verdict.Constraint:
		return constraintText(argument)
	case verdict.Wait:
		return "in an earlier tier again, takes over at " + timeText(argument.Until)
	case verdict.Rank:
		return fmt.Sprintf("others rank higher; the last selected has score %d", argument.Cut)
	case verdict.Hold:
		return holdText(argument)
	}
	switch v.Code {
	case verdict.OutsideSets:
		return "in no set that the placement may choose from"
	case verdict.Withdrawing:
		return "not chosen while its set, a binding, a label or a claim is being withdrawn"
	case verdict.Terminating:
		return "being deleted"
	case verdict.OutsideTiers:
		return "in no tier"
	case verdict.Undecided:
		return "the placement is misconfigured or its last edit is held"
	default:
		return ""
	}
}

// clausesText returns the unmet clause of each predicate.
func clausesText(in verdict.Mismatches) string {
	var out []string
	for _, clause := range in {
		text := "not " + clause.Text
		if clause.Problem != "" {
			text = clause.Text + ": " + clause.Problem
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, " and ")
}

func taintReason(in verdict.Taint) string {
	text := "taint " + TaintText(in.Key, in.Value, in.Effect)
	if !in.ExpiredAt.IsZero() {
		text += ", tolerated until " + timeText(in.ExpiredAt)
	}
	return text
}

func constraintText(in verdict.Constraint) string {
	switch {
	case in.Lacks:
		return in.Term.String() + ", which it lacks"
	case in.TakenBy != "":
		return fmt.Sprintf("%s: %s has %s already", in.Term, in.TakenBy, in.Domain)
	default:
		return fmt.Sprintf("%s: %s has enough", in.Term, in.Domain)
	}
}

// holdText returns why a held cluster stays.
func holdText(in verdict.Hold) string {
	if in.Underlying == 0 {
		return in.Problem
	}
	text := in.Underlying.String() + ", the disruption policy drops it "
	if in.Until.IsZero() {
		text += "never"
	} else {
		text += "at " + timeText(in.Until)
	}
	if in.Problem != "" {
		text = in.Problem + "; " + text
	}
	return text
}

func timeText(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// TaintText returns a taint as kubectl prints it, such as "gpu=true:NoSelect".
func TaintText(key, value, effect string) string {
	if value != "" {
		key += "=" + value
	}
	return key + ":" + effect
}
