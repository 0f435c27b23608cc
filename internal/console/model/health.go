package model

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Health is how a cluster is: one letter, as the grid has it.
type Health string

// The states of a cluster, in the order in which pages list them.
const (
	// Healthy is a cluster whose API server answers.
	Healthy Health = "h"
	// Unhealthy is a cluster whose agent reports that its API server does not answer.
	Unhealthy Health = "u"
	// Unreachable is a cluster whose agent has stopped to renew its lease.
	Unreachable Health = "x"
	// Joining is an accepted cluster whose agent has not reported yet.
	Joining Health = "j"
	// Unaccepted is a cluster that the hub does not accept.
	Unaccepted Health = "p"
	// Deleting is a cluster that is being deleted.
	Deleting Health = "d"
)

// Healths returns every state, in order.
func Healths() []Health {
	return []Health{Healthy, Unhealthy, Unreachable, Joining, Unaccepted, Deleting}
}

// Letter returns the letter of the state.
func (h Health) Letter() string { return string(h) }

// String returns the word for the state.
func (h Health) String() string {
	switch h {
	case Healthy:
		return "healthy"
	case Unhealthy:
		return "unhealthy"
	case Unreachable:
		return "unreachable"
	case Joining:
		return "joining"
	case Unaccepted:
		return "not accepted"
	case Deleting:
		return "deleting"
	default:
		return "unknown"
	}
}

// Term returns the word for the state in a filter, which has no space.
func (h Health) Term() string { return strings.ReplaceAll(h.String(), " ", "-") }

// HealthOf returns the state of a cluster. A simulated cluster in a file has no condition yet; a hub would report it as available.
func HealthOf(cluster *clusterv1.ManagedCluster) Health {
	available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	switch {
	case !cluster.DeletionTimestamp.IsZero():
		return Deleting
	case !cluster.Spec.HubAcceptsClient:
		return Unaccepted
	case available == nil && cluster.Annotations[clusterv1.SimulatedAnnotationKey] == "true":
		return Healthy
	case available == nil:
		return Joining
	case available.Status == metav1.ConditionTrue:
		return Healthy
	case available.Status == metav1.ConditionFalse:
		return Unhealthy
	default:
		return Unreachable
	}
}
