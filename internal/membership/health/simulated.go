package health

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// simulatedMessage is the message of the conditions of a simulated cluster.
const simulatedMessage = "The hub simulates this cluster: it has no agent."

// simulationState is how far the conditions of a cluster are simulated.
type simulationState int

const (
	// notSimulated clusters have no simulated condition.
	notSimulated simulationState = iota
	// partlySimulated clusters have some of the simulated conditions.
	partlySimulated
	// fullySimulated clusters have all three simulated conditions.
	fullySimulated
)

// simulatedConditions are the types of the conditions that a simulated cluster has, all True.
func simulatedConditions() []string {
	return []string{
		clusterv1.ManagedClusterConditionHubAccepted, clusterv1.ManagedClusterConditionJoined, clusterv1.ManagedClusterConditionAvailable,
	}
}

func readSimulation(cluster *clusterv1.ManagedCluster) simulationState {
	count := 0
	for _, condition := range cluster.Status.Conditions {
		if registration.Simulated(condition) && condition.Status == metav1.ConditionTrue &&
			slices.Contains(simulatedConditions(), condition.Type) {
			count++
		}
	}
	switch count {
	case 0:
		return notSimulated
	case len(simulatedConditions()):
		return fullySimulated
	default:
		return partlySimulated
	}
}

// setSimulated sets the simulated conditions.
func setSimulated(conditions *[]metav1.Condition, at metav1.Time) {
	for _, kind := range simulatedConditions() {
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonSimulated, Message: simulatedMessage, LastTransitionTime: at,
		})
	}
}

// removeSimulated removes the simulated conditions. The cluster then counts as never reported.
func removeSimulated(conditions *[]metav1.Condition) {
	*conditions = slices.DeleteFunc(*conditions, registration.Simulated)
}
