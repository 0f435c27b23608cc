package remote

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// Labelled lists and watches the metadata of all objects of a resource that carry the label of a record.
func (m *Member) Labelled(id object.ID, version string) *cache.ListWatch {
	return m.headers(schema.GroupVersionResource{Group: id.Group, Version: version, Resource: id.Resource}, workv1.RecordLabel)
}

// Records lists and watches the metadata of all records.
func (m *Member) Records() *cache.ListWatch {
	return m.headers(workv1.SchemeGroupVersion.WithResource("appliedmanifestworks"), "")
}

func (m *Member) headers(of schema.GroupVersionResource, selector string) *cache.ListWatch {
	to := m.metadata.Resource(of)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return to.List(ctx, options) //nolint:wrapcheck // the reflector logs the resource
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return to.Watch(ctx, options) //nolint:wrapcheck // the reflector logs the resource
		},
	}
}
