package boundary

import (
	"fmt"
	"strings"
)

// userPlaceholder stands for the user of the request in these messages.
const userPlaceholder = "{user}"

// forUser returns a message for a user.
func forUser(caller user, message string) string {
	return strings.ReplaceAll(message, userPlaceholder, caller.Name())
}

// noRole is the refusal of a request that no role allows. Without a name it is about all objects of a kind.
func noRole(verb, resource, name string) string {
	return noRoleFor(verb, resource, name) + "at the cluster scope"
}

// noRoleIn is noRole for objects in a namespace.
func noRoleIn(namespace, verb, resource, name string) string {
	return noRoleFor(verb, resource, name) + fmt.Sprintf("in the namespace %q", namespace)
}

func noRoleFor(verb, resource, name string) string {
	kind, _, _ := strings.Cut(resource, "/")
	return fmt.Sprintf("%s is forbidden: User %q cannot %s resource %q in API group %q ", resourceTitle(kind, name), userPlaceholder, verb,
		resource, group)
}

// inView turns a message about an object into the message about its view.
func inView(message string) string { return strings.ReplaceAll(message, group, "view."+group) }

// resourceTitle returns the beginning of a message about an object.
func resourceTitle(resource, name string) string {
	if name == "" {
		return resource + "." + group
	}
	return fmt.Sprintf("%s.%s %q", resource, group, name)
}

// noRight is the refusal of a webhook: a role allows the request, and an additional permission is missing.
func noRight(resource, name, doing string, oneOf ...string) string {
	return fmt.Sprintf("admission webhook %q denied the request: %s is forbidden: user %q may not %s: this needs %s",
		resource+"."+group, resourceTitle(resource, name), userPlaceholder, doing, strings.Join(oneOf, ", or "))
}

func right(verb, resource, group, name string) string {
	return fmt.Sprintf("the verb %q on %q in the API group %q with the resourceName %q", verb, resource, group, name)
}

func mayNotLabel(doing, cluster, set string) string {
	return noRight("managedclusters", cluster, fmt.Sprintf(doing, setLabel+"="+set),
		right("create", "managedclustersets/join", group, set),
		right("create", "managedclusters/label", group, setLabel+":"+set),
		right("create", "managedclusters/label", group, setLabel+":*"),
		right("create", "managedclusters/label", group, "*"))
}

// mayNotPut is the refusal to put a cluster into a set.
func mayNotPut(cluster, set string) string { return mayNotLabel("put the label %s on", cluster, set) }

// mayNotTake is the refusal to take a cluster out of a set.
func mayNotTake(cluster, set string) string {
	return mayNotLabel("take the label %s away", cluster, set)
}

// mayNotReport is the refusal to report the health of a cluster.
func mayNotReport(cluster, taint string) string {
	return noRight("managedclusters", cluster, "put on, change or take away the taint "+taint+", which reports the cluster's health",
		right("update", "managedclusters/taint", group, cluster))
}

func mayNotAccept(cluster string) string {
	return noRight("managedclusters", cluster, "turn spec.hubAcceptsClient on",
		right("update", "managedclusters/accept", "register.open-cluster-management.io", cluster))
}

func mayNotBind(set string) string {
	return byPolicy("berth-bindings", resourceTitle("managedclustersetbindings", set),
		fmt.Sprintf("user %q may not bind the cluster set %q: this needs %s",
			userPlaceholder, set, right("create", "managedclustersets/bind", group, set)))
}

// The reasons why the policy about admins of sets refuses a request that their role allows.
const (
	reservedPrefixes = `: those that begin with "cluster.open-cluster-management.io/", "info.open-cluster-management.io/" or "berth-project.io/"`
	noReservedLabel  = "allows no change of reserved labels" + reservedPrefixes
	noReservedTaint  = "allows no change of reserved taints" + reservedPrefixes
	noSpec           = "allows no change of a cluster's spec but to spec.taints"
	noMetadata       = "allows no change of a cluster's annotations, finalizers and owners, but of berth-project.io/on-delete"
)

// limited is the refusal of a change that the admin of a set may not make.
func limited(cluster, why string) string {
	return byPolicy("berth-set-admins", resourceTitle("managedclusters", cluster), "the admin role of a cluster set "+why)
}

// What the policy about agents refuses.
const (
	noLabelOfAgent = `may not change labels, which decide the sets and placements of a cluster: only those that begin with ` +
		`"info.open-cluster-management.io/", where a role permits it`
	noTaintOfAgent      = "may not change spec.taints"
	noAcceptanceOfAgent = "may not change spec.hubAcceptsClient: an administrator accepts and denies clusters"
)

// limitedAgent refuses what the agent of a cluster may not change of it.
func limitedAgent(cluster, why string) string {
	return byPolicy("berth-agents", resourceTitle("managedclusters", cluster), fmt.Sprintf("the agent of the cluster %q %s", cluster, why))
}

// byPolicy is the refusal of a request that a role allows and a policy of Berth forbids.
func byPolicy(policy, title, why string) string {
	return fmt.Sprintf("%s is forbidden: ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", title, policy, policy, why)
}

// falselyNamed is the refusal of a binding whose name differs from its set.
func falselyNamed(binding, set string) string {
	return fmt.Sprintf("admission webhook \"names.managedclustersetbindings.%s\" denied the request: "+
		"ManagedClusterSetBinding.%s %q is invalid: "+
		"spec.clusterSet: Invalid value: %q: must be the same as metadata.name", group, group, binding, set)
}
