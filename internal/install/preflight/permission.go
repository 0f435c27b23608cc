package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Parts of the manager, beside its controllers, that need permissions.
const (
	PartManager  = "manager"
	PartLease    = "leader election"
	PartWebhooks = "webhooks"
	PartServing  = "certificate"
	PartGuards   = "guards"
	PartMetrics  = "metrics"
	// PartPlacement is the controller that decides placements.
	PartPlacement = "placement"
)

// The controllers that register clusters. Their permissions are in config/registration.
const partAcceptance, partCSR = "acceptance", "csr"

const partViews = "views"

// partProbe is the controller that reads clusters without an agent. Its permissions are in config/probe.
const partProbe = "probe"

// partScore is the controller that writes scores from queries. Its permissions are in config/score.
const partScore = "score"

// partProfile is the controller that publishes the fleet as ClusterProfiles. Its permissions are in config/profile.
const partProfile = "profile"

// partInventory is the controller that makes clusters of ClusterProfiles. Its permissions are in config/inventory.
const partInventory = "inventory"

// partKueue is the controller that lets the queues of Kueue follow placements. Its permissions are in config/kueue.
const partKueue = "kueue"

// partReplicaSet is the controller that delivers workloads. Its permissions are in config/delivery.
const partReplicaSet = "replicaset"

// partAddOnInstall is the controller that installs add-ons. Its permissions are in config/addon.
const partAddOnInstall = "addoninstall"

// maxConcurrentReviews bounds the concurrent permission reviews.
const maxConcurrentReviews = 8

const (
	admission    = "admissionregistration.k8s.io"
	certificates = "certificates.k8s.io"
	workGroup    = "work.open-cluster-management.io"
	profileGroup = "multicluster.x-k8s.io"
	kueueGroup   = "kueue.x-k8s.io"
	rbac         = "rbac.authorization.k8s.io"
	system       = "berth-system"
)

// permission is the permissions of a part of the manager. Resources, names and verbs are separated by commas.
type permission struct {
	part, group, resources, names, namespace, verbs string
}

// permissions are the permissions in config/rbac, config/registration, config/delivery, config/addon, config/probe, config/score,
// config/profile, config/inventory and config/kueue, by the part that needs them.
func permissions() []permission {
	return slices.Concat(managerPermissions(), registrationPermissions(), deliveryPermissions(), addOnPermissions(), probePermissions(),
		scorePermissions(), profilePermissions(), inventoryPermissions(), kueuePermissions())
}

// managerPermissions are the permissions in config/rbac.
func managerPermissions() []permission {
	return []permission{
		{part: PartManager, group: "apiextensions.k8s.io", resources: "customresourcedefinitions", verbs: "get,list,watch"},
		{part: PartLease, group: "coordination.k8s.io", resources: "leases", namespace: system, verbs: "get,create,update"},
		{
			part: PartPlacement, group: group,
			resources: "managedclusters,managedclustersets,managedclustersetbindings,addonplacementscores,placements", verbs: "list,watch",
		},
		{part: PartPlacement, group: group, resources: "placements/status,placements/finalizers,placementdecisions/status", verbs: "update"},
		{part: PartPlacement, group: group, resources: "placementdecisions", verbs: "list,watch,create,patch,delete"},
		{part: PartPlacement, group: "events.k8s.io", resources: "events", verbs: "create,patch"},
		{part: "clusterset", group: group, resources: "managedclusters", verbs: "list,watch"},
		{part: "clusterset", group: group, resources: "managedclustersets", verbs: "list,watch,create,patch"},
		{part: "clusterset", group: group, resources: "managedclustersets/status", verbs: "patch"},
		{part: "binding", group: group, resources: "managedclustersets,managedclustersetbindings", verbs: "list,watch"},
		{part: "binding", group: group, resources: "managedclustersetbindings/status", verbs: "patch"},
		{part: "grant", resources: "serviceaccounts", verbs: "list,watch"},
		{part: "grant", group: group, resources: "managedclustersetbindings", verbs: "list,watch,create,patch,delete"},
		{part: "grant", group: group, resources: "managedclustersets", verbs: "list,watch"},
		{part: "grant", group: group, resources: "managedclustersets/bind", verbs: "create"},
		{part: "grant", group: rbac, resources: "clusterroles,clusterrolebindings", verbs: "list,watch"},
		{part: partViews, group: group, resources: "managedclusters,managedclustersets", verbs: "list,watch"},
		{part: partViews, group: rbac, resources: "clusterroles,clusterrolebindings", verbs: "list,watch"},
		{part: partViews, group: "authentication.k8s.io", resources: "tokenreviews", verbs: "create"},
		{part: partViews, group: "authorization.k8s.io", resources: "subjectaccessreviews", verbs: "create"},
		{
			part: partViews, resources: "configmaps", names: "extension-apiserver-authentication", namespace: "kube-system",
			verbs: "get,list,watch",
		},
		{part: "setrole", group: group, resources: "managedclustersets", verbs: "get,list,watch"},
		{part: "setrole", group: group, resources: "managedclustersets/bind,managedclustersets/join,managedclusters/label", verbs: "create"},
		{part: "setrole", group: group, resources: "managedclusters", verbs: "get,list,watch,update,patch,delete"},
		{part: "setrole", group: group, resources: "managedclusters/setadmin", verbs: "get,update,patch,delete"},
		{part: "setrole", group: rbac, resources: "clusterroles", verbs: "list,watch,create,patch"},
		{part: "health", group: group, resources: "managedclusters", verbs: "list,watch,patch"},
		{part: "health", group: group, resources: "managedclusters/status,managedclustersets/status", verbs: "patch"},
		{part: "health", group: group, resources: "managedclusters/taint", verbs: "update"},
		{part: "health", group: group, resources: "managedclustersets", verbs: "list,watch"},
		{part: "health", group: group, resources: "placementdecisions", verbs: "list"},
		{part: "health", group: "coordination.k8s.io", resources: "leases", names: "managed-cluster-lease", verbs: "get,list,watch,create,patch"},
		{part: "health", group: "events.k8s.io", resources: "events", verbs: "create,patch"},
		{part: PartWebhooks, resources: "namespaces", verbs: "get"},
		{part: PartWebhooks, group: group, resources: "managedclustersets", verbs: "get,list,watch"},
		{part: PartWebhooks, group: "authorization.k8s.io", resources: "subjectaccessreviews", verbs: "create"},
		{
			part: PartServing, group: admission, resources: "mutatingwebhookconfigurations,validatingwebhookconfigurations", names: "berth",
			verbs: "get,create,patch",
		},
		{part: PartServing, group: "apiregistration.k8s.io", resources: "apiservices", names: "v1.view." + group, verbs: "get,create,patch"},
		{
			part: PartServing, group: "apiextensions.k8s.io", resources: "customresourcedefinitions", verbs: "get,patch",
			names: "clustermanagementaddons." + addOnGroup + ",managedclusteraddons." + addOnGroup,
		},
		{part: PartServing, resources: "secrets", names: "berth-serving", namespace: system, verbs: "get,create,patch"},
		{
			part: PartGuards, group: admission, resources: "validatingadmissionpolicies,validatingadmissionpolicybindings",
			names: "berth-agent-roles,berth-agents,berth-bindings,berth-cluster-namespaces," +
				"berth-rollout-users,berth-set-executors,berth-set-roles,berth-set-admins",
			verbs: "get",
		},
		{part: PartMetrics, group: "authentication.k8s.io", resources: "tokenreviews", verbs: "create"},
		{part: PartMetrics, group: "authorization.k8s.io", resources: "subjectaccessreviews", verbs: "create"},
		{part: PartGuards, group: rbac, resources: "clusterroles", verbs: "list,watch"},
	}
}

// registrationPermissions are the permissions in config/registration.
func registrationPermissions() []permission {
	return []permission{
		{part: partAcceptance, group: group, resources: "managedclusters", verbs: "get,list,watch,update,patch"},
		{part: partAcceptance, group: group, resources: "managedclusters/status", verbs: "patch,update"},
		{part: partAcceptance, resources: "namespaces", verbs: "get,list,watch,create,patch,delete"},
		{part: partAcceptance, resources: "serviceaccounts", verbs: "create"},
		{part: partAcceptance, resources: "serviceaccounts", names: "berth-agent", verbs: "get,delete"},
		{
			part: partAcceptance, group: rbac, resources: "clusterroles,clusterrolebindings,rolebindings",
			verbs: "get,list,watch,create,patch,delete",
		},
		{
			part: partAcceptance, group: rbac, resources: "clusterroles", verbs: "bind",
			names: "open-cluster-management:managedcluster:registration,open-cluster-management:managedcluster:work," +
				"berth:agent-account,berth:namespace-inventory",
		},
		{part: partAcceptance, group: "register.open-cluster-management.io", resources: "managedclusters/clientcertificates", verbs: "renew"},
		{part: partAcceptance, group: certificates, resources: "certificatesigningrequests", verbs: "create,get,list,watch"},
		{part: partAcceptance, group: addOnGroup, resources: "managedclusteraddons", verbs: "get,list,watch,patch,delete"},
		{part: partAcceptance, group: addOnGroup, resources: "managedclusteraddons/status", verbs: "patch"},
		{part: partAcceptance, group: workGroup, resources: "manifestworks", verbs: "list,patch,delete"},
		{
			part: partAcceptance, group: "coordination.k8s.io", resources: "leases", names: "managed-cluster-lease,registration-controller-lock",
			verbs: "get",
		},
		{part: partAcceptance, group: "apps", resources: "deployments", names: "cluster-manager-registration-controller", verbs: "get"},
		{part: partAcceptance, group: "events.k8s.io", resources: "events", verbs: "create,patch"},
		{part: partCSR, resources: "serviceaccounts", namespace: "berth-join", verbs: "delete"},
		{part: partCSR, group: group, resources: "managedclusters", verbs: "get,list,watch,patch"},
		{part: partCSR, group: "register.open-cluster-management.io", resources: "managedclusters/accept", verbs: "update"},
		{part: partCSR, group: group, resources: "managedclusters/status", verbs: "patch"},
		{part: partCSR, group: certificates, resources: "certificatesigningrequests", verbs: "get,list,watch"},
		{part: partCSR, group: certificates, resources: "certificatesigningrequests/approval", verbs: "update"},
		{part: partCSR, group: certificates, resources: "signers", names: "kubernetes.io/kube-apiserver-client", verbs: "approve"},
		{part: partCSR, group: "authorization.k8s.io", resources: "subjectaccessreviews", verbs: "create"},
		{part: partCSR, group: "coordination.k8s.io", resources: "leases", names: "registration-controller-lock", verbs: "get"},
		{part: partCSR, group: "apps", resources: "deployments", names: "cluster-manager-registration-controller", verbs: "get"},
		{part: partCSR, group: "events.k8s.io", resources: "events", verbs: "create,patch"},
	}
}

// deliveryPermissions are the permissions in config/delivery.
func deliveryPermissions() []permission {
	return []permission{
		{part: partReplicaSet, group: workGroup, resources: "manifestworkreplicasets", verbs: "list,watch,patch"},
		{part: partReplicaSet, group: workGroup, resources: "manifestworkreplicasets/status", verbs: "patch"},
		{part: partReplicaSet, group: workGroup, resources: "manifestworks", verbs: "get,list,watch,create,patch,delete"},
		{part: partReplicaSet, group: group, resources: "placements,placementdecisions,managedclusters", verbs: "list,watch"},
		{part: partReplicaSet, group: "apps", resources: "controllerrevisions", verbs: "list,watch,create,patch,delete"},
		{part: partReplicaSet, group: "rollout.berth-project.io", resources: "rolloutcontrols", verbs: "list,watch,delete"},
		{part: partReplicaSet, group: "rollout.berth-project.io", resources: "formertemplates", verbs: "list,watch,create,patch,delete"},
		{part: partReplicaSet, group: "events.k8s.io", resources: "events", verbs: "create,patch"},
		{part: partReplicaSet, group: "coordination.k8s.io", resources: "leases", names: "work-manager-lock", verbs: "get"},
		{part: partReplicaSet, group: "apps", resources: "deployments", names: "cluster-manager-work-controller", verbs: "get"},
	}
}

// addOnPermissions are the permissions in config/addon.
func addOnPermissions() []permission {
	return []permission{
		{
			part: partAddOnInstall, group: addOnGroup, resources: "clustermanagementaddons,addondeploymentconfigs,addontemplates",
			verbs: "list,watch",
		},
		{part: partAddOnInstall, group: addOnGroup, resources: "clustermanagementaddons/status", verbs: "patch"},
		{part: partAddOnInstall, group: addOnGroup, resources: "managedclusteraddons", verbs: "list,watch,create,patch,delete"},
		{part: partAddOnInstall, group: addOnGroup, resources: "managedclusteraddons/status", verbs: "patch"},
		{part: partAddOnInstall, group: workGroup, resources: "manifestworks", verbs: "list,watch,create,patch"},
		{part: partAddOnInstall, group: group, resources: "placements,placementdecisions,managedclusters", verbs: "list,watch"},
		{part: partAddOnInstall, group: "events.k8s.io", resources: "events", verbs: "create,patch"},
		{part: partAddOnInstall, group: "coordination.k8s.io", resources: "leases", names: "addon-manager-lock", verbs: "get"},
		{part: partAddOnInstall, group: "apps", resources: "deployments", names: "cluster-manager-addon-manager-controller", verbs: "get"},
	}
}

// probePermissions are the permissions in config/probe.
func probePermissions() []permission {
	return []permission{
		{part: partProbe, resources: "secrets", namespace: "berth-probe", verbs: "get,list,watch,patch"},
		{part: partProbe, group: group, resources: "managedclusters", verbs: "get,list,watch,patch"},
		{part: partProbe, group: group, resources: "managedclusters/status", verbs: "patch"},
		{part: partProbe, group: "coordination.k8s.io", resources: "leases", names: "managed-cluster-lease", verbs: "get,update"},
		{part: partProbe, group: "events.k8s.io", resources: "events", verbs: "create,patch"},
	}
}

// scorePermissions are the permissions in config/score.
func scorePermissions() []permission {
	return []permission{
		{part: partScore, group: group, resources: "managedclusters", verbs: "list,watch"},
		{part: partScore, group: group, resources: "addonplacementscores", verbs: "list,watch,create"},
		{part: partScore, group: group, resources: "addonplacementscores/status", verbs: "patch"},
	}
}

// profilePermissions are the permissions in config/profile.
func profilePermissions() []permission {
	return []permission{
		{
			part: partProfile, group: group, resources: "managedclusters,managedclustersets,managedclustersetbindings,placements,placementdecisions",
			verbs: "list,watch",
		},
		{part: partProfile, group: profileGroup, resources: "clusterprofiles", verbs: "list,watch,create,patch,delete"},
		{part: partProfile, group: profileGroup, resources: "clusterprofiles/status", verbs: "patch"},
		{part: partProfile, group: profileGroup, resources: "placementdecisions", verbs: "get,list,watch,create,patch,delete"},
		{part: partProfile, group: "events.k8s.io", resources: "events", verbs: "create,patch"},
	}
}

// kueuePermissions are the permissions in config/kueue.
func kueuePermissions() []permission {
	return []permission{
		{part: partKueue, group: group, resources: "placements,placementdecisions,managedclusters", verbs: "list,watch"},
		{part: partKueue, group: kueueGroup, resources: "admissionchecks", verbs: "list,watch"},
		{part: partKueue, group: kueueGroup, resources: "admissionchecks/status", verbs: "patch"},
		{part: partKueue, group: kueueGroup, resources: "multikueueconfigs", verbs: "list,watch,create,patch,delete"},
		{part: partKueue, group: kueueGroup, resources: "multikueueclusters", verbs: "list,watch,create,delete"},
		{part: partKueue, group: profileGroup, resources: "clusterprofiles", verbs: "list,watch"},
	}
}

// inventoryPermissions are the permissions in config/inventory.
func inventoryPermissions() []permission {
	return []permission{
		{part: partInventory, group: profileGroup, resources: "clusterprofiles", verbs: "get,list,watch"},
		{part: partInventory, group: group, resources: "managedclusters", verbs: "list,watch,create,patch,delete"},
		{part: partInventory, group: group, resources: "managedclusters/status", verbs: "patch"},
		{part: partInventory, group: "register.open-cluster-management.io", resources: "managedclusters/accept", verbs: "update"},
		{part: partInventory, group: "events.k8s.io", resources: "events", verbs: "create,patch"},
	}
}

// accessRequest is a request that must be allowed, with the parts that send it.
type accessRequest struct {
	authorizationv1.ResourceAttributes

	parts []string
}

// accessRequests returns the requests of the running parts to the API server, each once.
func accessRequests(runs func(part string) bool, namespace string) []accessRequest {
	var out []accessRequest
	index := map[authorizationv1.ResourceAttributes]int{}
	for _, p := range permissions() {
		if !runs(p.part) {
			continue
		}
		for _, attributes := range p.expand(namespace) {
			at, known := index[attributes]
			if !known {
				at = len(out)
				index[attributes], out = at, append(out, accessRequest{ResourceAttributes: attributes})
			}
			if !slices.Contains(out[at].parts, p.part) {
				out[at].parts = append(out[at].parts, p.part)
			}
		}
	}
	return out
}

// expand returns the single requests of a permission. namespace holds the own objects of the manager.
func (p permission) expand(namespace string) []authorizationv1.ResourceAttributes {
	in := p.namespace
	if in == system {
		in = namespace
	}
	var out []authorizationv1.ResourceAttributes
	for resource := range strings.SplitSeq(p.resources, ",") {
		resource, sub, _ := strings.Cut(resource, "/")
		for name := range strings.SplitSeq(p.names, ",") {
			for verb := range strings.SplitSeq(p.verbs, ",") {
				out = append(out, authorizationv1.ResourceAttributes{
					Group: p.group, Resource: resource, Subresource: sub, Name: name, Namespace: in, Verb: verb,
				})
			}
		}
	}
	return out
}

// reviewAll reviews each permission with the API server, and returns the refused ones.
func reviewAll(ctx context.Context, requests []accessRequest,
	allowed func(context.Context, *authorizationv1.ResourceAttributes) (bool, error),
) ([]Missing, error) {
	refused := make([]bool, len(requests))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentReviews)
	for at := range requests {
		group.Go(func() error {
			is, err := allowed(ctx, &requests[at].ResourceAttributes)
			if err != nil {
				return fmt.Errorf("reviewing the permission to %s: %w", requests[at].describe(), err)
			}
			refused[at] = !is
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []Missing
	for at, is := range refused {
		if is {
			out = append(out, requests[at].missing()...)
		}
	}
	return out, nil
}

// ownReview reviews the permissions of the user of a client. A user that may not review counts as allowed: a refused request is
// logged where it is sent.
func ownReview(hub client.Client) func(context.Context, *authorizationv1.ResourceAttributes) (bool, error) {
	return func(ctx context.Context, request *authorizationv1.ResourceAttributes) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: request}}
		err := hub.Create(ctx, review)
		if apierrors.IsForbidden(err) {
			return true, nil
		}
		return review.Status.Allowed, err //nolint:wrapcheck // reviewAll names the request
	}
}

// MissingPermissions returns the permissions that the service account of a manager lacks for every part but eight: the views need
// config/apiserver too, and the controllers replicaset, addoninstall, probe, score, profile, inventory and kueue are off unless they are
// named. The user of the client must be allowed to create SubjectAccessReviews.
func MissingPermissions(ctx context.Context, hub client.Client, namespace, account string) ([]Missing, error) {
	runs := func(part string) bool {
		return !slices.Contains([]string{
			partViews, partReplicaSet, partAddOnInstall, partProbe, partScore, partProfile, partInventory,
			partKueue,
		}, part)
	}
	return reviewAll(ctx, accessRequests(runs, namespace), func(ctx context.Context,
		request *authorizationv1.ResourceAttributes,
	) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: request,
			User:               "system:serviceaccount:" + namespace + ":" + account,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
		}}
		err := hub.Create(ctx, review)
		return review.Status.Allowed, err //nolint:wrapcheck // reviewAll names the request
	})
}

// whatPermission begins the name of a missing permission.
const whatPermission = "the permission to "

// missing returns the effect of a refused permission on each part. A controller cannot run without a watch of the objects
// that it decides from. Any other part does the rest of its work.
func (a accessRequest) missing() []Missing {
	out := make([]Missing, 0, len(a.parts))
	for _, part := range a.parts {
		lack := Missing{
			Kind: KindPermission, manifests: manifestsOf(part), What: whatPermission + a.describe(),
			Effect: part + " cannot do this part of its work",
		}
		switch reads := a.Verb == "list" || a.Verb == "watch"; {
		case reads && part == PartPlacement:
			lack.Required = true
		case reads && a.optional() != "": // the part runs without these objects
			lack.Effect = a.optional()
		case reads && slices.Contains(optionalControllers(), part):
			lack.DisabledController, lack.Effect = part, "the controller "+part+" does not run"
		}
		out = append(out, lack)
	}
	return out
}

// optional returns the effect of a hub without the objects of a request; empty where a part cannot run without them.
func (a accessRequest) optional() string {
	for _, definition := range optionalDefinitions() {
		if definition.name == a.Resource+"."+a.Group {
			return definition.effect
		}
	}
	return ""
}

// manifestsOf returns the folder of the roles of a part.
func manifestsOf(part string) string {
	switch part {
	case partAcceptance, partCSR:
		return "config/registration"
	case partReplicaSet:
		return "config/delivery"
	case partAddOnInstall:
		return "config/addon"
	case partProbe:
		return "config/probe"
	case partScore:
		return "config/score"
	case partProfile:
		return "config/profile"
	case partInventory:
		return "config/inventory"
	case partKueue:
		return "config/kueue"
	default:
		return "config/rbac"
	}
}

// optionalControllers are the controllers that the manager can run without.
func optionalControllers() []string {
	return []string{
		"clusterset", "binding", "grant", partViews, "setrole", "health", partAcceptance, partCSR, partReplicaSet,
		partAddOnInstall, partProbe, partScore, partProfile, partInventory, partKueue,
	}
}

// describe returns the request as text, such as "patch managedclusters/status.cluster.open-cluster-management.io".
func (a accessRequest) describe() string {
	out := a.Verb + " " + a.Resource
	if a.Subresource != "" {
		out += "/" + a.Subresource
	}
	if a.Group != "" {
		out += "." + a.Group
	}
	if a.Name != "" {
		out += " " + a.Name
	}
	if a.Namespace != "" {
		out += " in namespace " + a.Namespace
	}
	return out
}
