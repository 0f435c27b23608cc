package rule

import (
	"strconv"
	"time"
)

// Condition is the condition of an alert: what is computed here, and the expression for Prometheus.
type Condition struct {
	figure Figure
	expr   string
	holds  func(value float64) bool
	// elsewhere is set if the condition reads what only Prometheus has.
	elsewhere bool
}

// above holds while a figure is above a bound, below while it is below one.
func above(bound float64, of Figure) Condition {
	return Condition{figure: of, expr: of.expr + " > " + number(bound), holds: func(value float64) bool { return value > bound }}
}

func below(bound float64, of Figure) Condition {
	return Condition{figure: of, expr: of.expr + " < " + number(bound), holds: func(value float64) bool { return value < bound }}
}

// elsewhere is a condition that only Prometheus evaluates.
func elsewhere(expr string) Condition { return Condition{expr: expr, elsewhere: true} }

func number(of float64) string { return strconv.FormatFloat(of, 'g', -1, 64) }

// conditions returns the condition of each shipped alert.
func conditions() map[string]Condition {
	const short, long = 5 * time.Minute, 15 * time.Minute
	return map[string]Condition{
		"BerthManagerDown":              elsewhere(`(sum(up{job="berth"}) or vector(0)) < 1`),
		"BerthHealthSuspended":          above(0, Max(Metric("berth_health_suspended").Latest())),
		"BerthManagerClockSuspected":    above(0, Max(Metric("berth_health_manager_clock_suspected").Latest())),
		"BerthUnjoinedClustersSelected": above(0, Max(Metric("berth_health_unjoined_selected").Latest())),
		"BerthPlacementsMisconfigured": above(0, Sum(Metric("berth_placements", Equal("type", "PlacementMisconfigured"),
			Equal("reason", "Misconfigured")).Latest())),
		"BerthPlacementsNotSatisfied": above(0, Sum(Metric("berth_placements", Equal("type", "PlacementSatisfied"),
			Unequal("reason", "AllDecisionsScheduled")).Latest())),
		"BerthWritesFailing": above(0, Sum(Metric("berth_plan_writes_total", Equal("result", "failed")).Rate(short))),
		"BerthDecisionsSlow": above(30, Quantile(0.99, Sum(Metric("berth_event_to_decision_seconds_bucket").Rate(short),
			bucketLabel))),
		"BerthRemovalsHeld":    above(0, Sum(Metric("berth_held_removals").Latest())),
		"BerthHolds":           above(0, Sum(Metric("berth_holds", Unequal("kind", "Expression"), Unequal("kind", "Grace")).Latest())),
		"BerthExpressionHeld":  above(0, Sum(Metric("berth_holds", Equal("kind", "Expression")).Latest())),
		"BerthWorksRefused":    above(0, Sum(Metric("berth_work_writes_total", OneOf("result", "refused", "failed")).Increase(long))),
		"BerthDeliveryHeld":    above(0, Sum(Metric("berth_delivery_held").Latest())),
		"BerthEvictionsHeld":   above(0, Max(Metric("berth_clusters_evictions_held").Latest())),
		"BerthScoresFailing":   above(0, Sum(Metric("berth_score_failing").Latest())),
		"BerthHubLacks":        above(0, Sum(Max(Metric("berth_hub_lacks").Latest(), "kind"))),
		"BerthRoleUnguarded":   above(0, Max(Metric("berth_role_unguarded").Latest())),
		"BerthCertificateEnds": below(14, daysUntil(Min(Metric("berth_certificate_end_timestamp_seconds").Latest()))),
	}
}
