package join

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
)

var errBoom = errors.New("boom")

// hubOf returns a hub with objects. Reads of a kind fail with its error.
func hubOf(t *testing.T, failures map[string]error, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), workv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	out := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return interceptor.NewClient(out, interceptor.Funcs{
		Get: func(ctx context.Context, to client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, ok := object.(*corev1.Namespace); ok && failures["Namespace"] != nil {
				return failures["Namespace"]
			}
			return to.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, to client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			kind := strings.TrimSuffix(list.GetObjectKind().GroupVersionKind().Kind, "List")
			if failures[kind] != nil {
				return failures[kind]
			}
			return to.List(ctx, list, options...)
		},
	})
}

func TestReadRemoval(t *testing.T) {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
	cluster.Spec.HubAcceptsClient = true
	work := func(namespace, name, set string) client.Object {
		out := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if set != "" {
			out.Annotations = map[string]string{workv1.OwnerAnnotation: set}
		}
		return out
	}
	objects := []client.Object{
		cluster, work("edge-1", "cfg", ""), work("edge-1", "b", "shop/api"), work("edge-1", "a", "shop/api"), work("edge-2", "x", "shop/web"),
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, "", errBoom)
	for sentence, test := range map[string]struct {
		failures map[string]error
		want     Removal
		err      error
	}{
		"works, and the hub has no add-ons": {
			map[string]error{"ManagedClusterAddOn": &meta.NoKindMatchError{}},
			Removal{Cluster: "edge-1", Works: []string{"a", "b", "cfg"}, Sets: []string{"shop/api"}},
			nil,
		},
		"the user may list neither": {
			map[string]error{"ManifestWork": forbidden, "ManagedClusterAddOn": forbidden},
			Removal{Cluster: "edge-1", WorksHidden: true, AddOnsHidden: true},
			nil,
		},
		"works cannot be read": {map[string]error{"ManifestWork": errBoom}, Removal{}, errBoom},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := ReadRemoval(t.Context(), hubOf(t, test.failures, objects...), "edge-1")
			if !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("removal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckKept(t *testing.T) {
	namespace := func(labels map[string]string) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "edge-1", Labels: labels}}
	}
	for sentence, test := range map[string]struct {
		hub  client.Client
		want string
	}{
		"the manager keeps the label":  {hubOf(t, nil, namespace(map[string]string{clusterv1.AcceptedLabelKey: "true"})), ""},
		"another controller registers": {hubOf(t, nil, namespace(map[string]string{clusterv1.ClusterNameLabelKey: "edge-1"})), "Orphan"},
		"there is no namespace":        {hubOf(t, nil), ""},
		"the namespace cannot be read": {hubOf(t, map[string]error{"Namespace": errBoom}), "boom"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := CheckKept(t.Context(), test.hub, "edge-1")
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
