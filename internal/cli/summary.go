package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/verdict"
)

const (
	// maxReasons is how many reasons are listed for one verdict, maxReason how long one may be.
	maxReasons = 5
	maxReason  = 100
)

// verdictRow is the clusters that share a verdict and the reason for it, by name.
type verdictRow struct {
	code     verdict.Code
	why      string
	clusters []string
}

// summary groups the clusters that are not selected, and those that are merely held, by verdict and reason: verdicts
// in the order of the pipeline, the most frequent reason first. Rare reasons of a verdict are put together.
func summary(trace *engine.Trace) []verdictRow {
	type group struct {
		code verdict.Code
		why  string
	}
	found := map[group][]string{}
	ranks := map[string]int{}
	for id, cluster := range trace.Snapshot.Clusters() {
		v := trace.Verdict(id)
		if v.Code == verdict.Selected || v.Code == verdict.Kept {
			continue
		}
		if rank, ranked := v.Argument.(verdict.Rank); ranked {
			ranks[cluster.Name()] = rank.Position
		}
		key := group{v.Code, explain.Why(v)}
		if v.Code == verdict.Beaten && len(trace.Ranking.Chosen) == 0 {
			key.why = "no cluster is wanted"
		}
		found[key] = append(found[key], cluster.Name())
	}
	rows := make([]verdictRow, 0, len(found))
	for key, clusters := range found {
		slices.SortFunc(clusters, func(a, b string) int { return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(a, b)) })
		rows = append(rows, verdictRow{key.code, shortened(key.why), clusters})
	}
	slices.SortFunc(rows, func(a, b verdictRow) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(len(b.clusters), len(a.clusters)), cmp.Compare(a.why, b.why))
	})
	return merged(rows)
}

// merged puts the reasons of a verdict beyond the most frequent into one row.
func merged(rows []verdictRow) []verdictRow {
	var out []verdictRow
	reasons := 0
	for _, row := range rows {
		if len(out) == 0 || out[len(out)-1].code != row.code {
			reasons = 0
		}
		if reasons++; reasons <= maxReasons {
			out = append(out, row)
			continue
		}
		last := &out[len(out)-1]
		last.why = "other reasons"
		last.clusters = append(last.clusters, row.clusters...)
	}
	return out
}

// shortened puts a text on one line and cuts it to a length that a terminal holds.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxReason {
		return text
	}
	const more = "..."
	return strings.ToValidUTF8(text[:maxReason-len(more)], "") + more
}
