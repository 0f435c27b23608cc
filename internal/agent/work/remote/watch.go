package remote

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// Labelled lists and watches the metadata of all objects of a resource that carry the label of a record.
func (m *Member) Labelled(id object.ID, version string) client.Source {
	return m.headers(schema.GroupVersionResource{Group: id.Group, Version: version, Resource: id.Resource}, "",
		metav1.ListOptions{LabelSelector: workv1.RecordLabel})
}

// Named lists and watches the metadata of one object, which need not exist and carries no label.
func (m *Member) Named(id object.ID, version string) client.Source {
	of := schema.GroupVersionResource{Group: id.Group, Version: version, Resource: id.Resource}
	return m.headers(of, id.Namespace, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField,
		id.Name).String()})
}

// Records lists and watches the metadata of all records.
func (m *Member) Records() client.Source {
	return m.headers(workv1.SchemeGroupVersion.WithResource("appliedmanifestworks"), "", metav1.ListOptions{})
}

func (m *Member) headers(of schema.GroupVersionResource, namespace string, only metav1.ListOptions) client.Source {
	to := m.metadata.Resource(of).Namespace(namespace)
	return client.Source{ListWatch: &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector, options.FieldSelector = only.LabelSelector, only.FieldSelector
			return to.List(ctx, options) //nolint:wrapcheck // the reflector logs the resource
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = only.LabelSelector, only.FieldSelector
			return to.Watch(ctx, options) //nolint:wrapcheck // the reflector logs the resource
		},
	}}
}
