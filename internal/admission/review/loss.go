package review

import (
	"fmt"

	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/placement/live"
)

// DeletionWarnings returns a warning of what placements lose by a deletion; none where they lose nothing.
func DeletionWarnings(loss live.Loss) []string {
	if loss.Clusters == 0 {
		return nil
	}
	return []string{LossText(loss) + ", unless it is made anew within the grace of the hub"}
}

// LossText describes what placements lose by a write.
func LossText(loss live.Loss) string {
	verb := "lose"
	if loss.Placements == 1 {
		verb = "loses"
	}
	return fmt.Sprintf("%s of %s %s %s", phrase.Count(loss.Placements, "placement"), phrase.Count(loss.Namespaces, "namespace"), verb,
		phrase.Count(loss.Clusters, "cluster"))
}
