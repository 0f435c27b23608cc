package reader

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/source/file"
)

// Fleet reads the fleet of a command: from files if the command line names any, else from a hub. Both return a Bundle.
type Fleet struct {
	Streams genericiooptions.IOStreams
	Clock   clock.PassiveClock

	Files     []string
	Recursive bool
	HubFlags  *HubFlags
	// Restricted is set once a hub was read that the caller may not list whole.
	Restricted bool
	// Validation is that of files; file.Warn when empty, since what is only shown may come from a hub with newer APIs.
	Validation file.Validation
}

// NewFleet returns a source that its flags complete.
func NewFleet(streams genericiooptions.IOStreams, clock clock.PassiveClock) *Fleet {
	return &Fleet{Streams: streams, Clock: clock, HubFlags: NewHubFlags()}
}

// AddFlags adds -f, -R and the flags of kubectl, -n among them.
func (f *Fleet) AddFlags(to *pflag.FlagSet) {
	to.StringArrayVarP(&f.Files, "filename", "f", nil,
		"`file` to read instead of a hub, or a folder, or - for standard input; may be repeated")
	to.BoolVarP(&f.Recursive, "recursive", "R", false, "read the folders below a folder too")
	f.HubFlags.FilesFlag = "-f"
	f.HubFlags.Add(to)
}

// Offline reports whether files are read.
func (f *Fleet) Offline() bool { return len(f.Files) > 0 }

// Namespace returns the namespace that a command looks in. Files have no namespace of their own, so for them it is
// empty, which stands for every one, unless the command line names one.
func (f *Fleet) Namespace() (string, error) {
	if f.Offline() {
		return f.HubFlags.Namespace(), nil
	}
	h, err := f.Connect()
	if err != nil {
		return "", err
	}
	return h.Namespace, nil
}

// Connect returns the hub, which must be closed by done.
func (f *Fleet) Connect() (*HubClient, error) {
	return f.HubFlags.Connect(f.Streams.ErrOut, printer.NewProgress(f.Streams.ErrOut, f.Clock))
}

// Scope is the part of a fleet that a command reads; the zero value is everything. Files are always read whole.
type Scope struct {
	// Kinds are the kinds to read; empty for every kind that decisions depend on.
	Kinds []Kind
	// Namespace narrows namespaced kinds, cluster narrows clusters; empty for every one.
	Namespace, Cluster string
	// Placement narrows placements by name, and decisions to those of this placement; empty for every one.
	Placement string
	// Works selects the works to read; nil for every work.
	Works labels.Selector
	// Uncompiled skips the compilation of placements, for commands that only print objects.
	Uncompiled bool
}

// kindsOrAll returns the kinds that are read.
func (s Scope) kindsOrAll() []Kind {
	if len(s.Kinds) == 0 {
		return fleetKinds()
	}
	return s.Kinds
}

// includes reports whether a kind is read.
func (s Scope) includes(k Kind) bool {
	return slices.ContainsFunc(s.kindsOrAll(), func(wanted Kind) bool { return wanted.Kind == k.Kind })
}

// filter returns what is read of a kind.
func (s Scope) filter(k Kind) ListFilter {
	switch {
	case k.Kind == WorkKind().Kind: // works are in the namespaces of clusters
		return ListFilter{selector: s.Works}
	case s.Placement != "" && k.Kind == PlacementKind().Kind:
		return ListFilter{Namespace: s.Namespace, name: s.Placement}
	case s.Placement != "" && k.Kind == DecisionKind().Kind:
		return ListFilter{Namespace: s.Namespace, selector: decision.Selector(s.Placement)}
	case k.Namespaced:
		return ListFilter{Namespace: s.Namespace}
	case k.Kind == ClusterKind().Kind:
		return ListFilter{name: s.Cluster}
	default:
		return ListFilter{}
	}
}

// Load reads the fleet.
func (f *Fleet) Load(ctx context.Context, of Scope) (*file.Bundle, error) {
	if !f.Offline() {
		bundle, note, err := f.LoadReadable(ctx, of)
		f.Restricted = note != ""
		if f.Restricted && err == nil {
			printer.Printf(f.Streams.ErrOut, "%s\n", note)
		}
		return bundle, err
	}
	loader := file.Loader{
		Stdin: f.Streams.In, Recursive: f.Recursive, Namespace: f.HubFlags.Namespace(),
		Validation: cmp.Or(f.Validation, file.Warn),
	}
	bundle, err := loader.Load(ctx, f.Files)
	if err != nil {
		return nil, err
	}
	PrintWarnings(f.Streams.ErrOut, bundle)
	return bundle, nil
}

// LoadReadable reads the part of a hub that the caller may see. The note describes what is missing; it is empty when nothing is.
func (f *Fleet) LoadReadable(ctx context.Context, of Scope) (bundle *file.Bundle, note string, err error) {
	h, err := f.Connect()
	if err != nil {
		return nil, "", err
	}
	bundle, err = h.load(ctx, of)
	return bundle, h.restrictions.note(), err
}

// Nothing reports that there is nothing to show: an error if the command line gives a name.
func (f *Fleet) Nothing(singular, plural, name, namespace string) error {
	where := ""
	switch {
	case namespace != "":
		where = " in the namespace " + namespace
	case f.Offline():
		where = " in the files"
	}
	if name != "" {
		return fmt.Errorf("there is no %s %q%s", singular, name, where)
	}
	fmt.Fprintf(f.Streams.ErrOut, "no %s%s\n", plural, where)
	return nil
}

// PrintWarnings prints the warnings of files and the kinds that were skipped.
func PrintWarnings(w io.Writer, bundle *file.Bundle) {
	for _, warning := range bundle.Warnings {
		printer.Printf(w, "warning: %s\n", warning)
	}
	if len(bundle.Skipped) > 0 {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(bundle.Skipped)) {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, bundle.Skipped[kind]))
		}
		printer.Printf(w, "skipped objects of other kinds: %s\n", strings.Join(kinds, ", "))
	}
}

// load reads the kinds of a scope. Each kind is read at one resource version; versions differ between kinds, as for the
// manager.
func (h *HubClient) load(ctx context.Context, of Scope) (*file.Bundle, error) {
	defer h.Progress.Done()
	h.UseViews = true
	var objects file.Objects
	for _, k := range of.kindsOrAll() {
		read, err := h.listReadable(ctx, k, of)
		if err != nil {
			return nil, h.requestError(err, "list", k, of.filter(k).Namespace)
		}
		for _, object := range read {
			if err := addObject(&objects, object); err != nil {
				return nil, err
			}
		}
	}
	if of.Uncompiled {
		return file.NewBundle(objects), nil
	}
	return file.NewCompiledBundle(objects)
}

// addObject adds an object to the list of its kind.
func addObject(to *file.Objects, object client.Object) error {
	switch typed := object.(type) {
	case *clusterv1.ManagedCluster:
		to.Clusters = append(to.Clusters, typed)
	case *clusterv1beta2.ManagedClusterSet:
		to.Sets = append(to.Sets, typed)
	case *clusterv1beta2.ManagedClusterSetBinding:
		to.Bindings = append(to.Bindings, typed)
	case *clusterv1beta1.Placement:
		to.Placements = append(to.Placements, typed)
	case *clusterv1beta1.PlacementDecision:
		to.Slices = append(to.Slices, typed)
	case *clusterv1alpha1.AddOnPlacementScore:
		to.Scores = append(to.Scores, typed)
	case *workv1alpha1.ManifestWorkReplicaSet:
		to.WorkSets = append(to.WorkSets, typed)
	case *workv1.ManifestWork:
		to.Works = append(to.Works, typed)
	default:
		return fmt.Errorf("%T has no place in a bundle", object)
	}
	return nil
}
