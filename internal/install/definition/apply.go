package definition

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// fieldOwner owns the fields that Berth stores in definitions. The manager stores the conversion of some as another owner, so that
	// an upgrade leaves it.
	fieldOwner   = "berth-definitions"
	pollInterval = 100 * time.Millisecond
	// establishTimeout bounds the wait for the API server to serve the definitions.
	establishTimeout = time.Minute
)

var errNamesRefused = errors.New("another definition has its names")

// Result is what happened to one definition.
type Result struct {
	Name string
	Verb Verb
	// Changed is whether the definition on the hub is another than before.
	Changed bool
	Reason  string
	// OtherStored are the versions in which objects may be stored beside the present one.
	OtherStored []string
}

// Apply installs and upgrades the definitions in a folder of YAML files, one each, and waits until the API server serves them. A
// definition that would lose versions or fields stays, with a reason. With dryRun the API server checks every write and stores none. The
// results are in the order of the files; on an error they end where it happened, and a repetition continues there.
func Apply(ctx context.Context, hub client.Client, files fs.FS, release string, dryRun bool) ([]Result, error) {
	definitions, err := Read(files)
	if err != nil {
		return nil, err
	}
	var out []Result
	for _, definition := range definitions {
		result, err := applyOne(ctx, hub, definition, release, dryRun)
		if err != nil {
			return out, err
		}
		out = append(out, result)
	}
	if dryRun {
		return out, nil
	}
	return out, awaitServed(ctx, hub, definitions)
}

// Read returns the definitions in the YAML files at the root of a folder, in the order of their file names.
func Read(files fs.FS) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the files of the definitions: %w", err)
	}
	out := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading a definition: %w", err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			return nil, fmt.Errorf("reading the definition in %s: %w", name, err)
		}
		out = append(out, definition)
	}
	return out, nil
}

func applyOne(ctx context.Context, hub client.Client, definition *apiextensionsv1.CustomResourceDefinition, release string,
	dryRun bool,
) (Result, error) {
	out := Result{Name: definition.Name}
	installed := &apiextensionsv1.CustomResourceDefinition{}
	err := hub.Get(ctx, client.ObjectKeyFromObject(definition), installed)
	switch {
	case apierrors.IsNotFound(err):
		installed = nil
	case err != nil:
		return out, fmt.Errorf("reading the definition %s: %w", definition.Name, err)
	}
	action := Plan(definition, installed, release)
	out.Verb, out.Reason = action.Verb, action.Reason
	if action.Verb == Keep {
		return out, nil
	}
	object, err := applyConfiguration(action.Definition, release)
	if err != nil {
		return out, err
	}
	options := []client.ApplyOption{client.FieldOwner(fieldOwner), client.ForceOwnership}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	if err := hub.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
		return out, fmt.Errorf("applying the definition %s: %w", definition.Name, err)
	}
	if installed == nil {
		out.Changed = true
		return out, nil
	}
	out.Changed, out.OtherStored = object.GetGeneration() != installed.Generation, otherStored(action.Definition, installed)
	return out, nil
}

// awaitServed waits until the API server serves the definitions.
func awaitServed(ctx context.Context, hub client.Client, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	for _, definition := range definitions {
		found := &apiextensionsv1.CustomResourceDefinition{}
		err := wait.PollUntilContextTimeout(ctx, pollInterval, establishTimeout, true, func(ctx context.Context) (bool, error) {
			if err := hub.Get(ctx, client.ObjectKeyFromObject(definition), found); err != nil {
				return false, client.IgnoreNotFound(err) //nolint:wrapcheck // wrapped below
			}
			return served(found)
		})
		if err != nil {
			return fmt.Errorf("waiting until the API server serves %s: %w", definition.Name, err)
		}
	}
	return nil
}

// served reports whether the API server serves a definition. Names that another definition has are an error: waiting does not help.
func served(definition *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	established := false
	for _, condition := range definition.Status.Conditions {
		switch {
		case condition.Type == apiextensionsv1.NamesAccepted && condition.Status == apiextensionsv1.ConditionFalse:
			return false, fmt.Errorf("%w: %s", errNamesRefused, condition.Message)
		case condition.Type == apiextensionsv1.Established:
			established = condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return established, nil
}
