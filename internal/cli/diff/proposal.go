package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/source/file"
)

// completeDeletion names kinds, then objects as KIND/NAME, or files.
func (o *options) completeDeletion(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
	word, name, named := strings.Cut(start, "/")
	var out []string
	for _, k := range change.Deletable() {
		switch {
		case !named:
			out = append(out, k.Singular()+"/")
		case k.Is(word) && k.Kind != reader.ScoreKind().Kind:
			for _, found := range completion.Of(o.HubFlags).Names(cmd.Context(), k, name) {
				out = append(out, word+"/"+found)
			}
		}
	}
	if named {
		return out, cobra.ShellCompDirectiveDefault
	}
	return completion.WithPrefix(out, start), cobra.ShellCompDirectiveNoSpace
}

// check checks the proposed change as far as the command line shows it.
func (o *options) check() error {
	for _, text := range o.drained {
		if selector, err := labels.Parse(text); err != nil {
			return fmt.Errorf("--drain %q is no label selector: %w", text, err)
		} else if selector.Empty() {
			return errors.New("--drain is empty: name the labels of the clusters to drain")
		}
	}
	for _, name := range o.cordoned {
		if slices.Contains(o.removed, name) && name != "" {
			return fmt.Errorf("--cordon and --remove both name %s: leave one of them out", name)
		}
	}
	switch {
	case slices.Contains(o.cordoned, ""):
		return errors.New("--cordon is empty: name a cluster")
	case slices.Contains(o.removed, ""):
		return errors.New("--remove is empty: name a cluster")
	case slices.Contains(o.deletions, ""):
		return errors.New("--delete is empty: name an object, or a file of manifests")
	}
	for _, text := range o.deletions {
		if _, _, err := change.ParseReference(text, ""); err != nil {
			return err
		}
	}
	reads := 0
	for _, name := range slices.Concat(o.Files, o.changes, o.deletions) {
		if name == "-" {
			reads++
		}
	}
	if reads > 1 {
		return errors.New("standard input can be read once: give - to one of -f, --base and --delete only")
	}
	return nil
}

// readChange reads what is to be changed.
func (o *options) readChange(ctx context.Context) (*change.Proposal, error) {
	namespace := o.HubFlags.Namespace()
	if !o.Offline() {
		h, err := o.Connect()
		if err != nil {
			return nil, err
		}
		namespace = h.Namespace
	}
	out := &change.Proposal{Cordoned: o.cordoned, Drained: o.drained, Removed: o.removed, Namespace: namespace}
	load := func(names []string) (*file.Bundle, error) {
		loader := file.Loader{Stdin: o.Streams.In, Recursive: o.Recursive, Namespace: namespace, Validation: o.validate.Level}
		bundle, err := loader.Load(ctx, names)
		if err == nil {
			reader.PrintWarnings(o.Streams.ErrOut, bundle)
		}
		return bundle, err
	}
	var err error
	if out.Applied, err = load(o.changes); err != nil {
		return nil, err
	}
	if len(out.Applied.Decisions) > 0 {
		return nil, errors.New("the change holds PlacementDecisions: they are what follows from a change; leave them out")
	}
	var files []string
	for _, name := range o.deletions {
		object, named, err := change.ParseReference(name, namespace)
		switch {
		case err != nil:
			return nil, err
		case named:
			out.Deleted = append(out.Deleted, object)
		default:
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		return out, nil
	}
	bundle, err := load(files)
	if err != nil {
		return nil, err
	}
	out.Deleted = append(out.Deleted, change.ObjectsOf(bundle)...)
	return out, nil
}
