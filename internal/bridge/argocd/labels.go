package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// labelOwner owns the labels that are copied. A label of another owner is never changed.
const labelOwner = "berth-argo-labels"

// LabelOptions is what is copied from clusters to their cluster Secrets.
type LabelOptions struct {
	// Namespace is that of Argo CD.
	Namespace string
	// Labels are keys of labels, Claims are names of claims. Both are keys of the labels of the Secret.
	Labels, Claims []string
}

// Check returns what is wrong with the options.
func (o LabelOptions) Check() error {
	keys := slices.Concat(o.Labels, o.Claims)
	if len(keys) == 0 {
		return errors.New("nothing to copy: name labels with --label, or claims with --claim")
	}
	for _, key := range keys {
		if found := validation.IsQualifiedName(key); len(found) > 0 {
			return fmt.Errorf("%q is no key of a label: %s", key, found[0])
		}
		if strings.HasPrefix(key, "argocd.argoproj.io/") || key == clusterNameLabel {
			return fmt.Errorf("%q is a label that Argo CD and this command read: it cannot be copied", key)
		}
	}
	return nil
}

// LabelChange is a cluster Secret that gets other labels.
type LabelChange struct {
	Secret, Cluster string
	// Set are all copied labels of the Secret after the change, and Removed those that go.
	Set     map[string]string
	Removed []string

	secret *metav1.PartialObjectMetadata
}

// LabelPlan is what a copy does.
type LabelPlan struct {
	Changes []LabelChange
	// Notes are about what is not copied, and why.
	Notes []string
	// Secrets is the number of cluster Secrets with a ManagedCluster.
	Secrets int
}

// PlanLabels compares the clusters with the labels of their cluster Secrets. It reads the metadata of Secrets only.
func PlanLabels(ctx context.Context, hub client.Client, options LabelOptions) (*LabelPlan, error) {
	c := &checker{Options: Options{Namespace: options.Namespace}, hub: hub}
	out := &LabelPlan{}
	clusters := map[string]map[string]string{}
	err := eachPage(ctx, c, &clusterv1.ManagedClusterList{}, "clusters", func(stored *clusterv1.ManagedClusterList) error {
		for i := range stored.Items {
			clusters[stored.Items[i].Name] = valuesOf(&stored.Items[i], options)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err = eachPage(ctx, c, list, "the metadata of Secrets", func(list *metav1.PartialObjectMetadataList) error {
		for i := range list.Items {
			if err := out.add(clusters, &list.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}, client.MatchingLabels{clusterTypeLabel: clusterTypeValue})
	slices.SortFunc(out.Changes, func(a, b LabelChange) int { return strings.Compare(a.Secret, b.Secret) })
	slices.Sort(out.Notes)
	return out, err
}

// add adds what a cluster Secret needs.
func (p *LabelPlan) add(clusters map[string]map[string]string, secret *metav1.PartialObjectMetadata) error {
	values, known := clusters[clusterOf(secret)]
	if !known {
		p.Notes = append(p.Notes, fmt.Sprintf("secret %s: there is no cluster %s", secret.Name, clusterOf(secret)))
		return nil
	}
	p.Secrets++
	owned, err := ownedLabels(secret)
	if err != nil {
		return err
	}
	change := LabelChange{Secret: secret.Name, Cluster: clusterOf(secret), Set: map[string]string{}, secret: secret}
	differs := false
	for key, value := range values {
		current, present := secret.Labels[key]
		switch {
		case len(validation.IsValidLabelValue(value)) > 0:
			p.Notes = append(p.Notes, fmt.Sprintf("secret %s: the value %q of %s is no value of a label", secret.Name, value, key))
		case present && current != value && !slices.Contains(owned, key):
			p.Notes = append(p.Notes, fmt.Sprintf("secret %s: the label %s is %q, and was not copied: it stays", secret.Name, key, current))
		default:
			change.Set[key] = value
			differs = differs || !present || current != value
		}
	}
	for _, key := range owned {
		if _, kept := change.Set[key]; !kept {
			change.Removed = append(change.Removed, key)
		}
	}
	if differs || len(change.Removed) > 0 {
		p.Changes = append(p.Changes, change)
	}
	return nil
}

// valuesOf returns the labels and claims of a cluster that are copied.
func valuesOf(cluster *clusterv1.ManagedCluster, options LabelOptions) map[string]string {
	out := map[string]string{}
	for _, claim := range cluster.Status.ClusterClaims {
		if slices.Contains(options.Claims, claim.Name) {
			out[claim.Name] = claim.Value
		}
	}
	for _, key := range options.Labels {
		if value, found := cluster.Labels[key]; found {
			out[key] = value
		}
	}
	return out
}

// ownedLabels returns the labels of a Secret that were copied before, sorted.
func ownedLabels(secret *metav1.PartialObjectMetadata) ([]string, error) {
	var out []string
	for _, entry := range secret.ManagedFields {
		if entry.Manager != labelOwner || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Metadata struct {
				Labels map[string]json.RawMessage `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return nil, fmt.Errorf("reading the owned fields of the Secret %s: %w", secret.Name, err)
		}
		for key := range fields.Metadata.Labels {
			out = append(out, strings.TrimPrefix(key, "f:"))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ApplyLabels writes the labels of one Secret. A Secret that was deleted meanwhile is not made: the UID is part of the request.
func ApplyLabels(ctx context.Context, hub client.Client, change LabelChange) error {
	to := &metav1.PartialObjectMetadata{}
	to.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	to.Name, to.Namespace, to.UID, to.Labels = change.secret.Name, change.secret.Namespace, change.secret.UID, change.Set
	data, err := json.Marshal(to)
	if err != nil {
		return fmt.Errorf("encoding the labels of the Secret %s: %w", change.Secret, err)
	}
	// The labels in the plan have no other owner, or the same value.
	err = hub.Patch(ctx, to, client.RawPatch("application/apply-patch+yaml", data), client.FieldOwner(labelOwner))
	if err != nil {
		return fmt.Errorf("labelling the Secret %s/%s: %w", change.secret.Namespace, change.Secret, err)
	}
	return nil
}

// String describes the change in one line.
func (c LabelChange) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		parts = append(parts, key+"="+c.Set[key])
	}
	for _, key := range c.Removed {
		parts = append(parts, key+"-")
	}
	return "label secret " + c.Secret + ": " + strings.Join(parts, " ")
}
