package hubtest

import (
	"io/fs"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/config/apiserver"
)

// GrantViews grants every user the permission to read the views, as an installation does.
func (h *Hub) GrantViews(t testing.TB) {
	t.Helper()
	access, err := fs.ReadFile(apiserver.Local(), "access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(access), "\n---\n") {
		var object client.Object = &rbacv1.ClusterRole{}
		switch {
		case strings.Contains(document, "kind: ClusterRoleBinding\n"):
			object = &rbacv1.ClusterRoleBinding{}
		case strings.Contains(document, "kind: RoleBinding\n"):
			object = &rbacv1.RoleBinding{}
		}
		if err := yaml.Unmarshal([]byte(document), object); err != nil {
			t.Fatal(err)
		}
		h.createIfMissing(t, object)
	}
}

// CreateViewService creates the Service through which the API server reaches the views of a manager process on this machine.
func (h *Hub) CreateViewService(t testing.TB) {
	t.Helper()
	const namespace = "berth-system"
	h.createIfMissing(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	h.createIfMissing(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "berth-views"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})
}

// createIfMissing creates an object unless it exists.
func (h *Hub) createIfMissing(t testing.TB, object client.Object) {
	t.Helper()
	if err := NewClient(t, h.Config()).Create(t.Context(), object); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}
