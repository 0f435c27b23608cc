package engine

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/internal/selection"
)

// maxDomainNames is how many domains the condition names for each constraint and rank.
const maxDomainNames = 5

// spreadConsequence is the end of the message about exceeded constraints.
const spreadConsequence = "Selected ManagedClusters leave for that only if a replacement is selected, " +
	"and a domain that exceeds maxSkew gets no more"

// spreadExceeded returns SpreadExceeded: the domains that exceed a DoNotSchedule constraint.
func (t *Trace) spreadExceeded() Condition {
	excesses := t.Ranking.SpreadExcesses()
	if len(excesses) == 0 {
		return Condition{
			Type: clusterv1beta1.PlacementConditionSpreadExceeded, Status: metav1.ConditionFalse,
			Reason: clusterv1beta1.ReasonWithinMaxSkew, Message: "No domain exceeds maxSkew of a DoNotSchedule constraint",
		}
	}
	texts := make([]string, 0, len(excesses))
	for _, excess := range excesses {
		texts = append(texts, excessText(excess))
	}
	return Condition{
		Type: clusterv1beta1.PlacementConditionSpreadExceeded, Status: metav1.ConditionTrue,
		Reason: clusterv1beta1.ReasonMaxSkewExceeded, Message: truncated(strings.Join(texts, "; ") + ". " + spreadConsequence),
	}
}

// excessText returns an exceeded constraint with its domains.
func excessText(of selection.SpreadExcess) string {
	within := ""
	if len(of.Within) > 0 {
		within = " within " + strings.Join(of.Within, ", ")
	}
	fullest := domainNames(of.Fullest, func(d selection.SpreadDomain) string { return fmt.Sprintf("%s has %d", d.Name, d.Clusters) })
	emptiest := domainNames(of.Emptiest, func(d selection.SpreadDomain) string { return d.Name })
	return fmt.Sprintf("%s%s exceeds maxSkew %d: %s, and the fewest, %d, are in %s",
		of.Term, within, of.MaxSkew, fullest, of.Emptiest[0].Clusters, emptiest)
}

// domainNames returns the first domains, and how many more there are.
func domainNames(of []selection.SpreadDomain, text func(selection.SpreadDomain) string) string {
	var out []string
	for _, domain := range of[:min(maxDomainNames, len(of))] {
		out = append(out, text(domain))
	}
	if more := len(of) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}
