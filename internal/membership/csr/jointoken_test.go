package csr

import (
	"context"
	"errors"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// TestAJoinTokenEndsOnceItsCertificateIsSigned: it ends after the agent had time to read the certificate, and no other token ends.
func TestAJoinTokenEndsOnceItsCertificateIsSigned(t *testing.T) {
	for sentence, test := range map[string]struct {
		account   types.UID
		requester string
		waits     bool // for another join
		unsigned  bool
		after     time.Duration
		wantEnded bool
		wantRetry time.Duration
	}{
		"the certificate was just signed":        {"a", registration.JoinUser("c1"), false, false, time.Minute, false, fetchTime - time.Minute},
		"the agent had time to read it":          {"a", registration.JoinUser("c1"), false, false, fetchTime, true, 0},
		"no certificate yet":                     {"a", registration.JoinUser("c1"), false, true, fetchTime, false, 0},
		"the account of a newer token":           {"b", registration.JoinUser("c1"), false, false, fetchTime, false, 0},
		"the cluster waits for another join":     {"a", registration.JoinUser("c1"), true, false, fetchTime, false, 0},
		"a request of another bootstrap account": {"a", "system:serviceaccount:elsewhere:agent", false, false, fetchTime, false, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			k := newKit(t, &faults{}, test.requester)
			request, cluster := &certificatesv1.CertificateSigningRequest{}, &clusterv1.ManagedCluster{}
			k.read(t, "r", request)
			k.read(t, "c1", cluster)
			request.Spec.UID = "a"
			k.store(t, request)
			request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
				Type: certificatesv1.CertificateApproved, LastUpdateTime: metav1.NewTime(k.options.Clock.Now()),
			}}
			if !test.unsigned {
				request.Status.Certificate = []byte("signed")
			}
			cluster.Annotations[clusterv1.JoinedRequestAnnotationKey] = string(request.UID)
			if !test.waits {
				delete(cluster.Annotations, clusterv1.JoinRequesterAnnotationKey)
			}
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: registration.JoinNamespace, Name: "c1", UID: test.account}}
			k.store(t, cluster)
			if err := errors.Join(k.Status().Update(t.Context(), request), k.Create(t.Context(), account)); err != nil {
				t.Fatal(err)
			}
			k.options.Clock = clocktesting.NewFakePassiveClock(k.options.Clock.Now().Add(test.after))
			for range 2 { // the second pass finds nothing to do
				got, err := k.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "c1"}})
				if err != nil || got.RequeueAfter != test.wantRetry {
					t.Errorf("result %+v, %v; want a retry after %s", got, err, test.wantRetry)
				}
			}
			err := k.Get(t.Context(), client.ObjectKeyFromObject(account), account)
			if apierrors.IsNotFound(err) != test.wantEnded {
				t.Errorf("the account of the join token: %v, want ended = %t", err, test.wantEnded)
			}
		})
	}
}

func (k kit) read(t *testing.T, name string, into client.Object) {
	t.Helper()
	if err := k.Get(t.Context(), client.ObjectKey{Name: name}, into); err != nil {
		t.Fatal(err)
	}
}

func (k kit) store(t *testing.T, object client.Object) {
	t.Helper()
	if err := k.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// deleteWithUID deletes an object unless it has another UID than the precondition, which the fake client does not compare.
func deleteWithUID(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
	stored := object.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), stored); err != nil {
		return err
	}
	with := (&client.DeleteOptions{}).ApplyOptions(options)
	if with.Preconditions != nil && with.Preconditions.UID != nil && *with.Preconditions.UID != stored.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Resource: "serviceaccounts"}, object.GetName(), errBoom)
	}
	return c.Delete(ctx, object, options...)
}
