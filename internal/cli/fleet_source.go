package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/source/file"
)

// fleetSource reads the fleet of a command: from files if the command line names any, else from a hub. Both return a Bundle.
type fleetSource struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock

	files     []string
	recursive bool
	hubFlags  *hubFlags
	// validation is that of files; file.Warn when empty, since what is only shown may come from a hub with newer APIs.
	validation file.Validation
}

func newFleetSource(streams genericiooptions.IOStreams, clock clock.PassiveClock) *fleetSource {
	return &fleetSource{streams: streams, clock: clock, hubFlags: newHubFlags()}
}

// addFlags adds -f, -R and the flags of kubectl, of which -n is one.
func (w *fleetSource) addFlags(to *pflag.FlagSet) {
	to.StringArrayVarP(&w.files, "filename", "f", nil, "`file` to read instead of a hub, or a folder, or - for standard input; may be repeated")
	to.BoolVarP(&w.recursive, "recursive", "R", false, "read the folders below a folder too")
	w.hubFlags.filesFlag = "-f"
	w.hubFlags.add(to)
}

// offline reports whether files are read.
func (w *fleetSource) offline() bool { return len(w.files) > 0 }

// namespace returns the namespace that a command looks in. Files have no namespace of their own, so for them it is
// empty, which stands for every one, unless the command line names one.
func (w *fleetSource) namespace() (string, error) {
	if w.offline() {
		return w.hubFlags.namespace(), nil
	}
	h, err := w.connect()
	if err != nil {
		return "", err
	}
	return h.namespace, nil
}

// connect returns the hub, which must be closed by done.
func (w *fleetSource) connect() (*hubClient, error) {
	return w.hubFlags.connect(w.streams.ErrOut, newProgress(w.streams.ErrOut, w.clock))
}

// scope is the part of a fleet that a command reads; the zero value is everything. Files are always read whole.
type scope struct {
	// kinds are the kinds to read; empty for every kind that decisions depend on.
	kinds []kind
	// namespace narrows namespaced kinds, cluster narrows clusters; empty for every one.
	namespace, cluster string
	// uncompiled skips the compilation of placements, for commands that only print objects.
	uncompiled bool
}

// kindsOrAll returns the kinds that are read.
func (r scope) kindsOrAll() []kind {
	if len(r.kinds) == 0 {
		return fleetKinds()
	}
	return r.kinds
}

// includes reports whether a kind is read.
func (r scope) includes(k kind) bool {
	return slices.ContainsFunc(r.kindsOrAll(), func(wanted kind) bool { return wanted.kind == k.kind })
}

// filter returns what is read of a kind.
func (r scope) filter(k kind) listFilter {
	switch {
	case k.namespaced:
		return listFilter{namespace: r.namespace}
	case k.kind == clusterKind().kind:
		return listFilter{name: r.cluster}
	default:
		return listFilter{}
	}
}

// load reads the fleet.
func (w *fleetSource) load(ctx context.Context, of scope) (*file.Bundle, error) {
	if !w.offline() {
		h, err := w.connect()
		if err != nil {
			return nil, err
		}
		bundle, err := h.load(ctx, of)
		if note := h.restrictions.note(); note != "" && err == nil {
			printf(w.streams.ErrOut, "%s\n", note)
		}
		return bundle, err
	}
	loader := file.Loader{Stdin: w.streams.In, Recursive: w.recursive, Namespace: w.hubFlags.namespace(), Validation: cmp.Or(w.validation, file.Warn)}
	bundle, err := loader.Load(ctx, w.files)
	if err != nil {
		return nil, err
	}
	printWarnings(w.streams.ErrOut, bundle)
	return bundle, nil
}

// nothing reports that there is nothing to show: an error if the command line gives a name.
func (w *fleetSource) nothing(singular, plural, name, namespace string) error {
	where := ""
	switch {
	case namespace != "":
		where = " in the namespace " + namespace
	case w.offline():
		where = " in the files"
	}
	if name != "" {
		return fmt.Errorf("there is no %s %q%s", singular, name, where)
	}
	fmt.Fprintf(w.streams.ErrOut, "no %s%s\n", plural, where)
	return nil
}

// printWarnings prints the warnings of files and the kinds that were skipped.
func printWarnings(w io.Writer, bundle *file.Bundle) {
	for _, warning := range bundle.Warnings {
		printf(w, "warning: %s\n", warning)
	}
	if len(bundle.Skipped) > 0 {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(bundle.Skipped)) {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, bundle.Skipped[kind]))
		}
		printf(w, "skipped objects of other kinds: %s\n", strings.Join(kinds, ", "))
	}
}

// load reads the kinds of a scope. Each kind is read at one resource version; versions differ between kinds, as for the
// manager.
func (h *hubClient) load(ctx context.Context, of scope) (*file.Bundle, error) {
	defer h.progress.done()
	h.useViews = true
	var objects file.Objects
	for _, k := range of.kindsOrAll() {
		read, err := h.listReadable(ctx, k, of)
		if err != nil {
			return nil, h.requestError(err, "list", k, of.filter(k).namespace)
		}
		for _, object := range read {
			if err := addObject(&objects, object); err != nil {
				return nil, err
			}
		}
	}
	if of.uncompiled {
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
	default:
		return fmt.Errorf("%T has no place in a bundle", object)
	}
	return nil
}
