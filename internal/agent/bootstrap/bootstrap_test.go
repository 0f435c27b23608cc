package bootstrap

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
)

// fakeHub returns an error for each request.
type fakeHub struct {
	read, create error
	created      *clusterv1.ManagedCluster
}

func (h *fakeHub) Get(context.Context, client.Object, runtime.Object) error { return h.read }

func (h *fakeHub) Create(_ context.Context, _ client.Object, body, _ runtime.Object) error {
	h.created = body.(*clusterv1.ManagedCluster)
	return h.create
}

func TestEnsureCluster(t *testing.T) {
	resource := schema.GroupResource{Resource: "managedclusters"}
	notFound, forbidden := apierrors.NewNotFound(resource, "c1"), apierrors.NewForbidden(resource, "c1", errors.New("no rule"))
	for sentence, test := range map[string]struct {
		hub     fakeHub
		creates bool
		want    string
	}{
		"the cluster exists":                     {fakeHub{}, false, ""},
		"the identity creates it":                {fakeHub{read: notFound}, true, ""},
		"another agent created it":               {fakeHub{read: notFound, create: apierrors.NewAlreadyExists(resource, "c1")}, true, ""},
		"a join token may not create it":         {fakeHub{read: notFound, create: forbidden}, true, "kubectl berth token create --cluster c1"},
		"the identity may not read it":           {fakeHub{read: forbidden}, false, "forbidden"},
		"the hub fails before anything is known": {fakeHub{read: errors.New("boom")}, false, "boom"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := EnsureCluster(t.Context(), &test.hub, "c1", nil)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if created := test.hub.created != nil; created != test.creates {
				t.Errorf("created = %t, want %t", created, test.creates)
			}
			if test.hub.created != nil && (test.hub.created.Spec.HubAcceptsClient || len(test.hub.created.Labels) > 0 ||
				len(test.hub.created.Spec.Taints) > 0) {
				t.Errorf("created %+v", test.hub.created)
			}
		})
	}
}
