package version

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubeversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/install/definition"
	"github.com/berth-project/berth/internal/kube/version"
)

const (
	managerNamespace, managerLease = "berth-system", "berth-manager"
	// versionLabel is on the lease of the manager.
	versionLabel   = "app.kubernetes.io/version"
	unknownVersion = "unknown"
)

// versions are the versions of the plugin and of what is on a hub.
type versions struct {
	ClientVersion kubeversion.Info `json:"clientVersion"`
	// ManagerVersion is that of the last leader. DefinitionsVersion is the release that stored the definition of placements. They are
	// unknown where nothing records them.
	ManagerVersion     string `json:"managerVersion,omitempty"`
	DefinitionsVersion string `json:"definitionsVersion,omitempty"`
	// AgentVersions are those that agents report.
	AgentVersions []agentVersion `json:"agentVersions,omitempty"`
}

// readHub reads the versions on a hub.
func (v *versions) readHub(ctx context.Context, config *rest.Config) error {
	hub, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client of the hub: %w", err)
	}
	leases := hub.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"})
	lease, err := found(leases.Namespace(managerNamespace).Get(ctx, managerLease, metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading the lease of the manager: %w", err)
	}
	definitions := hub.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions",
	})
	placements, err := found(definitions.Get(ctx, "placements."+clusterv1.GroupName, metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading the definition of placements: %w", err)
	}
	v.ManagerVersion, v.DefinitionsVersion = version.FromLabel(lease.Labels[versionLabel]),
		placements.Annotations[definition.ReleaseAnnotation]
	for _, empty := range []*string{&v.ManagerVersion, &v.DefinitionsVersion} {
		if *empty == "" {
			*empty = unknownVersion
		}
	}
	v.AgentVersions, err = readAgents(ctx, hub)
	return err
}

// found returns an empty object for an object that does not exist.
func found(object *metav1.PartialObjectMetadata, err error) (*metav1.PartialObjectMetadata, error) {
	if apierrors.IsNotFound(err) {
		return &metav1.PartialObjectMetadata{}, nil
	}
	return object, err
}

// skews returns what is too far from the version of the plugin.
func (v *versions) skews() []string {
	var out []string
	own := v.ClientVersion.GitVersion
	for _, other := range [][2]string{{"the manager", v.ManagerVersion}, {"the release that stored the definitions", v.DefinitionsVersion}} {
		if skew := version.Skew(other[0], other[1], own); skew != "" {
			out = append(out, skew)
		}
	}
	return append(out, agentSkews(v.AgentVersions, v.ManagerVersion)...)
}
