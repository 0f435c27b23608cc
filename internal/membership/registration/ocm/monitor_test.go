package ocm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/berth-project/berth/internal/membership/registration/ocm"
)

var (
	errBoom = errors.New("boom")
	now     = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
)

func deployment(replicas *int32) client.Object {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "open-cluster-management-hub", Name: "cluster-manager-registration-controller"},
		Spec:       appsv1.DeploymentSpec{Replicas: replicas},
	}
}

func lease(holder string, age time.Duration) client.Object {
	renewed := metav1.NewMicroTime(now.Add(-age))
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "open-cluster-management-hub", Name: "registration-controller-lock"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
	}
}

func TestOpenClusterManagementIsFound(t *testing.T) {
	for sentence, test := range map[string]struct {
		objects []client.Object
		want    bool
	}{
		"nothing is there":                 {},
		"its Deployment runs":              {[]client.Object{deployment(new(int32(3)))}, true},
		"its Deployment has one replica":   {[]client.Object{deployment(nil)}, true},
		"its Deployment is scaled to 0":    {[]client.Object{deployment(new(int32(0)))}, false},
		"it runs elsewhere":                {[]client.Object{lease("pod-1", time.Minute)}, true},
		"it ran elsewhere an hour ago":     {[]client.Object{lease("pod-1", time.Hour)}, false},
		"it released its lease as it left": {[]client.Object{lease("", time.Second)}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			found, err := ocm.Find(t.Context(), fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(test.objects...).Build(),
				ocm.Registration(), now)
			if err != nil || (found != "") != test.want {
				t.Errorf("found %q, %v; want %t", found, err, test.want)
			}
		})
	}
}

// TestNothingIsWrittenBeforeTheFirstCheck holds that an unreadable hub blocks the controllers, and a later failure changes nothing.
func TestNothingIsWrittenBeforeTheFirstCheck(t *testing.T) {
	fails := make(chan bool, 1)
	fails <- true
	hub := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			now := <-fails
			fails <- now
			if now {
				return errBoom
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	clock := clocktesting.NewFakeClock(now)
	monitor := &ocm.Monitor{Hub: hub, Clock: clock, Rival: ocm.Registration()}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- monitor.Start(ctx) }()
	step := func(fail bool) {
		<-fails
		fails <- fail
		for !clock.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
		clock.Step(time.Minute)
	}
	if !monitor.Blocked() {
		t.Error("not blocked before the first check")
	}
	step(false)
	for monitor.Blocked() {
		time.Sleep(time.Millisecond)
	}
	step(true)
	if monitor.Blocked() || len(monitor.Warnings()) > 0 {
		t.Error("blocked after a failure")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
