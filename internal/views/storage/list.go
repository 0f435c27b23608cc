package storage

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-project/berth/internal/views/visibility"
)

// List implements rest.Lister. It returns the whole list whatever the limit, which the API allows, and no old version of it.
func (s *Storage) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	caller, err := callerFrom(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkReached(options.ResourceVersion); err != nil {
		return nil, err
	}
	if options.Continue != "" || options.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		return nil, newExpired()
	}
	current, matches := s.cache.Current(), matcher(options)
	items := []runtime.Object{}
	for entry := range current.Snapshot.ViewFor(caller).Objects(s.kind) {
		if matches(entry.Object) {
			items = append(items, s.withRevision(entry.Object, entry.Revision))
		}
	}
	out := s.newList()
	if err := meta.SetList(out, items); err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.resource.Resource, err)
	}
	list, err := meta.ListAccessor(out)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.resource.Resource, err)
	}
	list.SetResourceVersion(formatRevision(current.Revision))
	return out, nil
}

// matcher returns whether an object matches the selectors.
func matcher(options *metainternalversion.ListOptions) func(visibility.Object) bool {
	labelSelector, fieldSelector := labels.Everything(), fields.Everything()
	if options.LabelSelector != nil {
		labelSelector = options.LabelSelector
	}
	if options.FieldSelector != nil {
		fieldSelector = options.FieldSelector
	}
	return func(object visibility.Object) bool {
		return labelSelector.Matches(labels.Set(object.GetLabels())) &&
			fieldSelector.Matches(fields.Set{metav1.ObjectNameField: object.GetName()})
	}
}
