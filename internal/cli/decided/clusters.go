package decided

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// The forms of the command.
const (
	Names          = "names"
	JSON           = "json"
	Matrix         = "matrix"
	KubeconfigList = "kubeconfig-list"
)

// Forms returns every form.
func Forms() []string { return []string{Names, JSON, Matrix, KubeconfigList} }

// kind is the kind of the document, and revisionLength how many digits of its hash a revision has.
const (
	kind           = "DecidedClusters"
	revisionLength = 16
)

// Clusters is the complete decision of a placement. Its JSON is stable: fields are added only.
type Clusters struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Revision changes with every change of the clusters or their groups, and with nothing else.
	Revision string `json:"revision"`
	// Satisfied and Reason are those of the condition PlacementSatisfied.
	Satisfied bool   `json:"satisfied"`
	Reason    string `json:"reason"`
	// Selected is the number of clusters.
	Selected int       `json:"selected"`
	Clusters []Cluster `json:"clusters"`
	Groups   []Group   `json:"groups"`

	// groupNames are the names of the groups that the spec has.
	groupNames []string
}

// Cluster is a selected cluster with its group.
type Cluster struct {
	Name       string `json:"name"`
	Group      string `json:"group"`
	GroupIndex int    `json:"groupIndex"`
}

// Group is a decision group.
type Group struct {
	Index    int      `json:"index"`
	Name     string   `json:"name"`
	Clusters []string `json:"clusters"`
}

// newClusters returns the decision of a placement. An entry that is no name of a cluster is an error: scripts paste the names into
// command lines.
func newClusters(placement *clusterv1beta1.Placement, read decision.Decisions) (*Clusters, error) {
	out := &Clusters{Kind: kind, Namespace: placement.Namespace, Name: placement.Name, Clusters: []Cluster{}, Groups: []Group{}}
	if satisfied := meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied); satisfied != nil {
		out.Satisfied, out.Reason = satisfied.Status == "True", satisfied.Reason
	}
	for _, named := range placement.Spec.DecisionStrategy.GroupStrategy.DecisionGroups {
		out.groupNames = append(out.groupNames, named.GroupName)
	}
	hash := sha256.New()
	for _, group := range read.Groups() {
		fmt.Fprintf(hash, "%s\n", group.GroupKey)
		out.Groups = append(out.Groups, Group{Index: group.Index, Name: group.Name, Clusters: append([]string{}, group.Clusters...)})
		for _, name := range group.Clusters {
			if len(validation.IsDNS1123Subdomain(name)) > 0 {
				return nil, fmt.Errorf("the decision of placement %s/%s has an entry that is no name of a cluster: %q", placement.Namespace,
					placement.Name, name)
			}
			fmt.Fprintf(hash, "  %s\n", name)
			out.Clusters = append(out.Clusters, Cluster{name, group.Name, group.Index})
		}
	}
	out.Selected = len(out.Clusters)
	out.Revision = hex.EncodeToString(hash.Sum(nil))[:revisionLength]
	return out, nil
}

// SelectGroup leaves only the groups with a name; every group if the name is empty. A name that neither the spec nor the decision has
// is an error. The revision stays that of the whole decision.
func (c *Clusters) SelectGroup(name string) error {
	if name == "" {
		return nil
	}
	decided := slices.ContainsFunc(c.Groups, func(group Group) bool { return group.Name == name })
	if !decided && !slices.Contains(c.groupNames, name) {
		named := phrase.Join(printer.Sorted(c.groupNames), phrase.MaxNames)
		if named == "" {
			named = "no group with a name"
		}
		return fmt.Errorf("placement %s/%s has no decision group %q: it has %s", c.Namespace, c.Name, name, named)
	}
	c.Groups = slices.DeleteFunc(c.Groups, func(group Group) bool { return group.Name != name })
	c.Clusters = slices.DeleteFunc(c.Clusters, func(cluster Cluster) bool { return cluster.Group != name })
	c.Selected = len(c.Clusters)
	return nil
}

func (c *Clusters) names() []string {
	out := make([]string, 0, len(c.Clusters))
	for _, cluster := range c.Clusters {
		out = append(out, cluster.Name)
	}
	return out
}

// Write writes the decision as names, JSON or a matrix.
func (c *Clusters) Write(w io.Writer, form string) error {
	switch form {
	case JSON:
		return printer.WriteData(w, "json", c)
	case Matrix:
		return c.writeMatrix(w)
	default:
		for _, name := range c.names() {
			printer.Printf(w, "%s\n", name)
		}
		return nil
	}
}

// WriteLine writes the decision as one line.
func (c *Clusters) WriteLine(w io.Writer, form string) error {
	switch form {
	case JSON:
		return writeLine(w, c)
	case Matrix:
		return c.writeMatrix(w)
	default:
		printer.Printf(w, "%s\n", strings.Join(c.names(), " "))
		return nil
	}
}

// entry is a job of a matrix. The values are those that expressions of a workflow paste.
type entry struct {
	Cluster    string `json:"cluster"`
	Group      string `json:"group"`
	GroupIndex int    `json:"groupIndex"`
}

// writeMatrix writes the decision as the matrix of a job.
func (c *Clusters) writeMatrix(w io.Writer) error {
	include := make([]entry, 0, len(c.Clusters))
	for _, cluster := range c.Clusters {
		include = append(include, entry{cluster.Name, cluster.Group, cluster.GroupIndex})
	}
	return writeLine(w, map[string]any{"include": include})
}

func writeLine(w io.Writer, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err //nolint:wrapcheck // the caller writes it
}
