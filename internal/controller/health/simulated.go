package health

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/registration"
)

// simulatedMessage is the message of the conditions of a simulated cluster.
const simulatedMessage = "The hub simulates this cluster: it has no agent."

// simulationState is what the conditions of a cluster show of a simulation.
type simulationState int

const (
	// notSimulated clusters have no condition of a simulation.
	notSimulated simulationState = iota
	// partlySimulated clusters have some.
	partlySimulated
	// fullySimulated clusters are accepted, joined and available, all by simulation.
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
		if registration.Simulated(condition) && condition.Status == metav1.ConditionTrue && slices.Contains(simulatedConditions(), condition.Type) {
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

// setSimulated lets a cluster be accepted, joined and available.
func setSimulated(conditions *[]metav1.Condition, at metav1.Time) {
	for _, kind := range simulatedConditions() {
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonSimulated, Message: simulatedMessage, LastTransitionTime: at,
		})
	}
}

// removeSimulated removes what a simulation has written: nothing was ever reported of the cluster then.
func removeSimulated(conditions *[]metav1.Condition) {
	*conditions = slices.DeleteFunc(*conditions, registration.Simulated)
}
