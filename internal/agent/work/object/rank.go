package object

// Rank is the position of an object in the order of creation: smaller ranks come first. Deletion is in the reverse order.
type Rank int

// Ranks. An object of one rank may need the objects of the ranks before it.
const (
	// RankNamespace is before all others, so that a namespace is deleted last.
	RankNamespace Rank = iota
	RankDefinition
	RankRole
	RankBinding
	RankPolicy
	RankConfig
	RankNetwork
	RankWorkload
	// RankOther has custom resources and every kind that is not listed here.
	RankOther
	// RankExtension has what the API server calls at each request.
	RankExtension
)

// RankOf returns the rank of an object by its group and resource.
func RankOf(id ID) Rank {
	switch id.Group {
	case "":
		return coreRank(id.Resource)
	case "apps", "batch", "autoscaling":
		return RankWorkload
	case "rbac.authorization.k8s.io":
		if id.Resource == "roles" || id.Resource == "clusterroles" {
			return RankRole
		}
		return RankBinding
	case "policy":
		return RankPolicy
	case "networking.k8s.io":
		if id.Resource == "networkpolicies" {
			return RankPolicy
		}
		return RankNetwork
	case "gateway.networking.k8s.io":
		return RankNetwork
	case "apiextensions.k8s.io", "scheduling.k8s.io", "storage.k8s.io":
		return RankDefinition
	case "apiregistration.k8s.io", "admissionregistration.k8s.io":
		return RankExtension
	default:
		return RankOther
	}
}

// CallsWebhooks returns whether the API server calls webhooks because of an object.
func CallsWebhooks(id ID) bool {
	return id.Group == "admissionregistration.k8s.io" &&
		(id.Resource == "validatingwebhookconfigurations" || id.Resource == "mutatingwebhookconfigurations")
}

func coreRank(resource string) Rank {
	switch resource {
	case "namespaces":
		return RankNamespace
	case "persistentvolumes":
		return RankDefinition
	case "resourcequotas", "limitranges", "serviceaccounts":
		return RankPolicy
	case "secrets", "configmaps", "persistentvolumeclaims":
		return RankConfig
	case "services", "endpoints":
		return RankNetwork
	case "pods", "replicationcontrollers":
		return RankWorkload
	default:
		return RankOther
	}
}
