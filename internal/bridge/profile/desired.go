package profile

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
)

// accessProviderAnnotation on a profile is the name of the access provider that the controller wrote, so that it removes this provider
// when the name changes. Access providers with other names belong to other clients.
const accessProviderAnnotation = "berth-project.io/access-provider"

// maxNamed bounds the claims that a condition names.
const maxNamed = 5

// identity is what the options add to a profile.
type identity struct {
	// manager is the name of the cluster manager.
	manager string
	// provider is the name of the access provider; empty for none.
	provider string
}

// owns reports whether a profile is one of this cluster manager.
func (i identity) owns(profile *multiclusterv1alpha1.ClusterProfile) bool {
	return profile.Spec.ClusterManager.Name == i.manager
}

// desired returns the profile of a cluster in a namespace. Stored is the profile that the namespace has, of this cluster manager; nil
// without one. What other clients added to it stays: labels, annotations, conditions and access providers. Now is the time of values
// that are new.
func desired(cluster *clusterv1.ManagedCluster, namespace string, stored *multiclusterv1alpha1.ClusterProfile, of identity,
	now time.Time,
) *multiclusterv1alpha1.ClusterProfile {
	out := &multiclusterv1alpha1.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster.Name}}
	if stored != nil {
		out = stored.DeepCopy()
	}
	setEntry(&out.Labels, multiclusterv1alpha1.ClusterManagerLabel, of.manager)
	former := out.Annotations[accessProviderAnnotation]
	if of.provider == "" {
		delete(out.Annotations, accessProviderAnnotation)
	} else {
		setEntry(&out.Annotations, accessProviderAnnotation, of.provider)
	}
	// The garbage collector removes the profile of a deleted cluster even without a manager.
	out.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "ManagedCluster", Name: cluster.Name, UID: cluster.UID,
	}}
	out.Spec.DisplayName, out.Spec.ClusterManager.Name = cluster.Name, of.manager

	facts, omitted := properties(slices.Concat(topology(cluster), cluster.Status.ClusterClaims), out.Status.Properties, now)
	out.Status.Properties = facts
	out.Status.Version.Kubernetes = cluster.Status.Version.Kubernetes
	out.Status.Conditions = conditions(cluster, out.Status.Conditions, omitted, now)
	out.Status.AccessProviders = accessProviders(cluster, out.Status.AccessProviders, of.provider, former)
	return out
}

// setEntry sets an entry of a map that may be nil.
func setEntry(in *map[string]string, key, value string) {
	if *in == nil {
		*in = map[string]string{}
	}
	(*in)[key] = value
}

// topology returns the region and the zone of a cluster as claims, for the properties with these names: what a label has, else what the
// agent reports. A claim with such a name counts instead.
func topology(cluster *clusterv1.ManagedCluster) []clusterv1.ManagedClusterClaim {
	var out []clusterv1.ManagedClusterClaim
	for _, part := range []struct{ property, label, claim string }{
		{"region", corev1.LabelTopologyRegion, clusterv1.ClaimRegion},
		{"zone", corev1.LabelTopologyZone, clusterv1.ClaimZone},
	} {
		value := cluster.Labels[part.label]
		for _, claim := range cluster.Status.ClusterClaims {
			if value == "" && claim.Name == part.claim {
				value = claim.Value
			}
		}
		if value != "" {
			out = append(out, clusterv1.ManagedClusterClaim{Name: part.property, Value: value})
		}
	}
	return out
}

// properties returns the claims of a cluster as properties, unchanged and by name, and the names of the claims that a property cannot
// hold. Nothing is shortened: half of a value is another value. The last of several claims with one name counts, as for placements.
func properties(claims []clusterv1.ManagedClusterClaim, stored []multiclusterv1alpha1.Property,
	now time.Time,
) (out []multiclusterv1alpha1.Property, omitted []string) {
	values := map[string]string{}
	for _, claim := range claims {
		values[claim.Name] = claim.Value
	}
	before := map[string]multiclusterv1alpha1.Property{}
	for _, property := range stored {
		before[property.Name] = property
	}
	for name, value := range values {
		if name == "" || value == "" || tooLong(name, multiclusterv1alpha1.MaxPropertyNameLength) ||
			tooLong(value, multiclusterv1alpha1.MaxPropertyValueLength) {
			omitted = append(omitted, name)
			continue
		}
		property, known := before[name]
		if !known || property.Value != value {
			property = multiclusterv1alpha1.Property{Name: name, Value: value, LastObservedTime: metav1.NewTime(now.Truncate(time.Second))}
		}
		out = append(out, property)
	}
	slices.SortFunc(out, func(a, b multiclusterv1alpha1.Property) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(omitted)
	return out, omitted
}

// tooLong reports whether a text has more characters than a schema permits. Schemas count characters and not bytes.
func tooLong(text string, limit int) bool { return utf8.RuneCountInString(text) > limit }

// shortened returns at most the first characters of a text.
func shortened(text string, limit int) string {
	if !tooLong(text, limit) {
		return text
	}
	return string([]rune(text)[:limit]) + "..."
}

// conditions returns the conditions of a profile: those of the controller, then those of other clients.
func conditions(cluster *clusterv1.ManagedCluster, stored []metav1.Condition, omitted []string, now time.Time) []metav1.Condition {
	out := []metav1.Condition{
		translate(cluster, clusterv1.ManagedClusterConditionAvailable, metav1.Condition{
			Type: multiclusterv1alpha1.ConditionControlPlaneHealthy, Status: metav1.ConditionUnknown, Reason: multiclusterv1alpha1.ReasonNotReported,
		}, healthMessage),
		translate(cluster, clusterv1.ManagedClusterConditionJoined, metav1.Condition{
			Type: multiclusterv1alpha1.ConditionJoined, Status: metav1.ConditionFalse, Reason: multiclusterv1alpha1.ReasonNotJoined,
		}, joinedMessage),
	}
	if len(omitted) > 0 {
		out = append(out, metav1.Condition{
			Type: multiclusterv1alpha1.ConditionPropertiesOmitted, Status: metav1.ConditionTrue, Reason: multiclusterv1alpha1.ReasonClaimsNotUsable,
			Message: omittedMessage(omitted), LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		})
	}
	for i := range out {
		if before := meta.FindStatusCondition(stored, out[i].Type); before != nil && before.Status == out[i].Status {
			out[i].LastTransitionTime = before.LastTransitionTime
		}
	}
	for _, condition := range stored {
		if meta.FindStatusCondition(out, condition.Type) == nil && condition.Type != multiclusterv1alpha1.ConditionPropertiesOmitted {
			out = append(out, condition)
		}
	}
	return out
}

// translate returns a condition of a cluster as one of its profile; otherwise is the condition where the cluster has none. The message
// is that of the status, because an agent may write a time into its own.
func translate(cluster *clusterv1.ManagedCluster, from string, otherwise metav1.Condition,
	message func(metav1.ConditionStatus) string,
) metav1.Condition {
	out := otherwise
	out.LastTransitionTime = cluster.CreationTimestamp
	if found := meta.FindStatusCondition(cluster.Status.Conditions, from); found != nil {
		out.Status, out.Reason, out.LastTransitionTime = found.Status, found.Reason, found.LastTransitionTime
	}
	out.Message = message(out.Status)
	return out
}

func healthMessage(status metav1.ConditionStatus) string {
	switch status {
	case metav1.ConditionTrue:
		return "The API server of the cluster answers."
	case metav1.ConditionFalse:
		return "The API server of the cluster does not answer."
	default:
		return "The hub has no current report of the cluster."
	}
}

func joinedMessage(status metav1.ConditionStatus) string {
	if status == metav1.ConditionTrue {
		return "The cluster has joined the hub."
	}
	return "The cluster has not joined the hub."
}

func omittedMessage(omitted []string) string {
	named := make([]string, 0, maxNamed)
	for _, name := range omitted[:min(maxNamed, len(omitted))] {
		named = append(named, fmt.Sprintf("%q", shortened(name, multiclusterv1alpha1.MaxPropertyNameLength)))
	}
	out := strings.Join(named, ", ")
	if more := len(omitted) - len(named); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("Claims that no property can hold: %s. A name has 1 to %d characters, and a value 1 to %d.",
		out, multiclusterv1alpha1.MaxPropertyNameLength, multiclusterv1alpha1.MaxPropertyValueLength)
}

// accessProviders returns the access providers of a profile: the one of the controller, with the address in the first client
// configuration of the cluster, then those of other clients. A cluster that no administrator has accepted gets none, because its agent
// chose the address. Former is the name that the controller wrote before.
func accessProviders(cluster *clusterv1.ManagedCluster, stored []multiclusterv1alpha1.AccessProvider,
	name, former string,
) []multiclusterv1alpha1.AccessProvider {
	var out []multiclusterv1alpha1.AccessProvider
	if configs := cluster.Spec.ManagedClusterClientConfigs; name != "" && cluster.Spec.HubAcceptsClient && len(configs) > 0 &&
		configs[0].URL != "" {
		out = append(out, multiclusterv1alpha1.AccessProvider{
			Name: name, Cluster: multiclusterv1alpha1.ClusterEndpoint{Server: configs[0].URL, CertificateAuthorityData: configs[0].CABundle},
		})
	}
	for _, provider := range stored {
		if provider.Name != name && provider.Name != former {
			out = append(out, provider)
		}
	}
	return out
}
