package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/config"
)

const (
	// ProfileBound lets the agent write only as the service accounts that a Role of the member lists.
	ProfileBound = "bound"
	// ProfileAdmin makes the agent cluster-admin on the member.
	ProfileAdmin = "admin"

	recordsFile = "records.yaml"
	boundFile   = ProfileBound + ".yaml"
	adminFile   = ProfileAdmin + ".yaml"
	guardFile   = "guard.yaml"
	// lookAhead is how many bytes of a file are read to find out whether it is YAML.
	lookAhead = 4 << 10
)

// allowWorks grants the agent what it needs for works with a profile, and takes back what only ProfileAdmin has.
func allowWorks(ctx context.Context, member client.Client, profile string) error {
	if profile == ProfileBound {
		if err := denyWorks(ctx, member, adminFile); err != nil {
			return err
		}
	}
	for _, file := range []string{recordsFile, profile + ".yaml"} {
		objects, err := permissions(file)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := allow(ctx, member, object, file == boundFile); err != nil {
				return fmt.Errorf("applying %s %s to the member: %w", object.GetKind(), object.GetName(), err)
			}
		}
	}
	return guardRecords(ctx, member)
}

// guardRecords applies the policies that protect the records of works. A member that is older than Kubernetes 1.30 has none.
func guardRecords(ctx context.Context, member client.Client) error {
	objects, err := objectsOf(config.MemberGuard(), guardFile)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := allow(ctx, member, object, false); err != nil && !withoutPolicies(err) {
			return fmt.Errorf("applying %s %s to the member: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// withoutPolicies returns whether a member does not serve admission policies.
func withoutPolicies(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// unguardRecords deletes the policies from a member.
func unguardRecords(ctx context.Context, member client.Client) error {
	objects, err := objectsOf(config.MemberGuard(), guardFile)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := member.Delete(ctx, object); err != nil && !withoutPolicies(err) {
			return fmt.Errorf("deleting %s %s from the member: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// allow applies a permission. With keep, an existing permission stays as it is: administrators of the member add executors to it.
func allow(ctx context.Context, member client.Client, object *unstructured.Unstructured, keep bool) error {
	if keep {
		if err := member.Create(ctx, object, client.FieldOwner(fieldManager)); !apierrors.IsAlreadyExists(err) {
			return err //nolint:wrapcheck // the caller names the object
		}
		return nil
	}
	return member.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager),
		client.ForceOwnership) //nolint:wrapcheck // the caller names the object
}

// denyWorks deletes the permissions of files from a member.
func denyWorks(ctx context.Context, member client.Client, files ...string) error {
	for _, file := range files {
		objects, err := permissions(file)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := member.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting %s %s from the member: %w", object.GetKind(), object.GetName(), err)
			}
		}
	}
	return nil
}

// permissions returns the objects of a file of config/work.
func permissions(file string) ([]*unstructured.Unstructured, error) {
	return objectsOf(config.Work(), file)
}

// objectsOf returns the objects of a file.
func objectsOf(files fs.FS, file string) ([]*unstructured.Unstructured, error) {
	text, err := fs.ReadFile(files, file)
	if err != nil {
		return nil, fmt.Errorf("reading the manifests of members: %w", err)
	}
	var out []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), lookAhead); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("parsing the manifest %s of members: %w", file, err)
		}
		out = append(out, object)
	}
}
