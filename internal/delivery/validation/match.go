package validation

import (
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/identifier"
)

// match returns the best outcome over all manifests.
func match(wanted workv1.ResourceIdentifier, list []manifest) identifier.Outcome {
	best := identifier.NoMatch
	for _, m := range list {
		best = max(best, matchOne(wanted, m))
	}
	return best
}

func matchOne(wanted workv1.ResourceIdentifier, m manifest) identifier.Outcome {
	return identifier.Match(wanted, m.kind, m.namespace, m.name)
}
