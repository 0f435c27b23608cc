package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/membership/registration"
)

// maxNamed bounds the objects of one kind that a plan names.
const maxNamed = 20

// Plan is what an export would do.
type Plan struct {
	// Counts are the numbers of objects by kind.
	Counts []Count
	// Obstacles are what must be changed before. Notes are what is not moved.
	Obstacles, Notes []string
}

// Count is the number of objects of a kind, and of those that the target has from an earlier attempt.
type Count struct {
	Kind           string
	Objects, Moved int
}

// Print prints a plan.
func (p Plan) Print(out io.Writer) error {
	var text strings.Builder
	text.WriteString("KIND\tOBJECTS\tON THE TARGET\n")
	for _, count := range p.Counts {
		fmt.Fprintf(&text, "%s\t%d\t%d\n", count.Kind, count.Objects, count.Moved)
	}
	for _, obstacle := range p.Obstacles {
		text.WriteString("Obstacle: " + obstacle + "\n")
	}
	for _, note := range p.Notes {
		text.WriteString("Note: " + note + "\n")
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, err := io.WriteString(table, text.String())
	if err := errors.Join(err, table.Flush()); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	return nil
}

// makePlan compares the objects of the source with the target. It writes nothing.
func makePlan(ctx context.Context, source inventory, target metadata.Interface) (Plan, error) {
	var out Plan
	for _, k := range kinds() {
		found, err := existing(ctx, target, k)
		if apierrors.IsNotFound(err) {
			out.Obstacles = append(out.Obstacles, fmt.Sprintf("the target does not serve %s: install the chart first", k.resource.GroupResource()))
			continue
		}
		if err != nil {
			return out, fmt.Errorf("reading the %s of the target: %w", k.resource.Resource, err)
		}
		count, foreign := Count{Kind: k.name, Objects: len(source[k.name])}, []string(nil)
		for _, each := range source[k.name] {
			on, there := found[keyOf(each)]
			switch {
			case there && registration.OriginalUID(on) == registration.OriginalUID(each):
				count.Moved++
			case there && !mayExist(k, each, on):
				foreign = append(foreign, keyOf(each))
			}
		}
		out.Counts = append(out.Counts, count)
		if len(foreign) > 0 {
			out.Obstacles = append(out.Obstacles, fmt.Sprintf("the target has %s that are not of this hub: %s; %s", k.resource.Resource,
				named(foreign), remedy(k)))
		}
	}
	out.Notes = notes(source)
	return out, nil
}

// existing returns the metadata of the objects of a kind on the target.
func existing(ctx context.Context, target metadata.Interface, k kind) (map[string]*metav1.PartialObjectMetadata, error) {
	out := map[string]*metav1.PartialObjectMetadata{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := target.Resource(k.resource).Namespace(k.namespace).List(ctx, options)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller names the kind
		}
		for i := range page.Items {
			out[keyOf(&page.Items[i])] = &page.Items[i]
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return out, nil
		}
	}
}

func keyOf(of metav1.Object) string {
	return strings.TrimPrefix(of.GetNamespace()+"/"+of.GetName(), "/")
}

// mayExist returns whether an object may exist on the target that is not of this hub. These are the sets that every manager creates, and
// namespaces that belong to the same cluster or to none on both hubs.
func mayExist(k kind, source, target metav1.Object) bool {
	switch k.name {
	case kindNamespace:
		return registration.NamespaceOwner(source.GetLabels()) == registration.NamespaceOwner(target.GetLabels())
	case kindSet:
		return source.GetName() == clusterv1beta2.DefaultClusterSetName || source.GetName() == clusterv1beta2.GlobalClusterSetName
	default:
		return false
	}
}

func remedy(k kind) string {
	if k.name == kindNamespace {
		return fmt.Sprintf("if a namespace is meant for the agent of the cluster of its name, label it %s=NAME; delete it otherwise",
			clusterv1.ClusterNameLabelKey)
	}
	return "delete them, or rename those of the hub"
}

// named returns names, shortened.
func named(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// notes returns what is not moved.
func notes(source inventory) []string {
	out := []string{"roles, role bindings, Secrets and ConfigMaps of users are not moved: apply them to the target"}
	var waiting, simulated, imported, unknown, orphans []string
	for _, each := range source[kindCluster] {
		switch cluster, err := clusterOf(each); {
		case err != nil:
		case registration.SimulationRequested(cluster):
			simulated = append(simulated, cluster.Name)
		case registration.Imported(cluster):
			imported = append(imported, cluster.Name)
		case !cluster.Spec.HubAcceptsClient || !registration.Reported(cluster):
			waiting = append(waiting, cluster.Name)
		case cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] == "":
			unknown = append(unknown, cluster.Name)
		}
	}
	known := source.uids()
	for _, k := range kinds() {
		for _, each := range source[k.name] {
			if slices.ContainsFunc(each.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return !known[owner.UID] }) {
				orphans = append(orphans, k.name+" "+keyOf(each))
			}
		}
	}
	for text, names := range map[string][]string{
		"clusters that have not joined need another join token of the target: ":                                      waiting,
		"clusters whose UID the hub has not recorded need an approval of their certificate request on the target: ":  unknown,
		"simulated clusters need a manager with --simulate on the target: ":                                          simulated,
		"imported clusters need their ClusterProfiles, and a manager with the controller inventory, on the target: ": imported,
		"objects whose owner is not moved have no owner on the target: ":                                             orphans,
	} {
		if len(names) > 0 {
			out = append(out, text+named(names))
		}
	}
	slices.Sort(out)
	return out
}
