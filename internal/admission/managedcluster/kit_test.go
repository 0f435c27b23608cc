package managedcluster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/admission/managedcluster"
	"github.com/berth-project/berth/internal/admission/permission"
)

const (
	setLabel  = "cluster.open-cluster-management.io/clusterset"
	infoLabel = "info.open-cluster-management.io/vendor"
	labelName = "create managedclusters/label "
)

var (
	errBoom = errors.New("boom")
	now     = time.Date(2026, 11, 20, 10, 0, 0, 700, time.UTC)
	before  = now.Add(-time.Hour).Truncate(time.Second)
	other   = now.Add(-2 * time.Hour).Truncate(time.Second)
)

// fakeUser is jane with some permissions, each written "verb resource/subresource name". It records the lookups.
type fakeUser struct {
	rights []string
	err    error

	mu       sync.Mutex
	reviewed []string
}

func (u *fakeUser) Name() string { return "jane" }

func (u *fakeUser) HasAny(_ context.Context, oneOf ...permission.Permission) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, one := range oneOf {
		short := strings.Join([]string{one.Verb, one.Resource + "/" + one.Subresource, one.Name}, " ")
		if one.Group != clusterv1.GroupName {
			short += " in " + one.Group
		}
		u.reviewed = append(u.reviewed, short)
		if slices.Contains(u.rights, short) {
			return true, u.err
		}
	}
	return false, u.err
}

func jane(rights ...string) *fakeUser { return &fakeUser{rights: rights} }

func cluster() *enginetest.ClusterBuilder { return enginetest.Cluster("c1") }

func taint(key, value string, effect clusterv1.TaintEffect, added time.Time) clusterv1.Taint {
	return clusterv1.Taint{Key: key, Value: value, Effect: effect, TimeAdded: metav1.NewTime(added)}
}

func tainted(taints ...clusterv1.Taint) *clusterv1.ManagedCluster {
	out := cluster().In("default").Obj()
	out.Spec.Taints = taints
	return out
}

func accepted() *clusterv1.ManagedCluster {
	out := cluster().Obj()
	out.Spec.HubAcceptsClient = true
	return out
}

func noNamespace(context.Context, string) (managedcluster.Namespace, error) {
	return managedcluster.Namespace{}, nil
}

// checkError compares an error with the wanted text, "" for none.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
}

func validate(t *testing.T, u *fakeUser, old, after *clusterv1.ManagedCluster) error {
	t.Helper()
	return managedcluster.Request{Old: old, New: after, User: u}.Validate(t.Context(), noNamespace)
}
