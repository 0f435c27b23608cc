// Package membercluster tests `berth-hub member`: a small cluster with fake nodes that joins a hub by a certificate request. The hub
// and the member are processes.
package membercluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

const name = "edge-1"

// TestAMemberJoinsRunsWorkloadsAndReturns follows a member from its token over a restart.
func TestAMemberJoinsRunsWorkloadsAndReturns(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true})
	admin, data := kit.New(t, hub), t.TempDir()
	flags := append(hub.JoinFlags(t, name, registration.DriverCSR), "--node-label=topology.kubernetes.io/region=eu",
		"--node-capacity=cpu=4,memory=8Gi,pods=20", "--nodes=3")
	member := startMember(t, admin, data, flags)
	kit.Await(t, "the member reports", wantReport(admin))

	on := kit.New(t, member)
	deployment, job := newDeployment(), newJob()
	kit.NoError(t, errors.Join(on.Create(t.Context(), deployment), on.Create(t.Context(), job)))
	kit.Await(t, "the Deployment runs", runs(on, deployment))
	kit.Await(t, "the Job has succeeded", func(ctx context.Context) error {
		if err := on.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil || job.Status.Succeeded != 1 {
			return fmt.Errorf("the job has %d successes: %w", job.Status.Succeeded, err)
		}
		return nil
	})
	missing := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "missing"},
		Spec:       newTemplate(nil, corev1.RestartPolicyAlways).Spec,
	}
	missing.Spec.Containers[0].Image = "web:missing"
	on.MustCreate(missing)
	kit.Await(t, "the pod waits for its image", waitsForImage(on, missing))

	kit.NoError(t, member.Stop())
	kit.Await(t, "the stopped member is unknown", reported(admin, metav1.ConditionUnknown))

	again := hubtest.New(t, hubtest.Options{DataDir: data, Member: []string{"--name=" + name}})
	kit.Await(t, "the member reports again", reported(admin, metav1.ConditionTrue))
	on = kit.New(t, again)
	on.MustDelete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: firstPod(t, on)}})
	kit.Await(t, "the Deployment runs again", runs(on, deployment))
	if err := waitsForImage(on, missing)(t.Context()); err != nil {
		t.Error(err)
	}
	requests := &certificatesv1.CertificateSigningRequestList{}
	if err := admin.List(t.Context(), requests); err != nil || len(requests.Items) != 1 {
		t.Errorf("%d certificate requests, %v; want only the first of the member", len(requests.Items), err)
	}
}

// startMember starts the member, accepts its cluster with a short lease, and waits until it is available.
func startMember(t *testing.T, admin *kit.Client, data string, flags []string) *hubtest.Hub {
	t.Helper()
	out := hubtest.New(t, hubtest.Options{DataDir: data, Member: append([]string{"--name=" + name}, flags...)})
	cluster := kit.Cluster(name)
	accepted := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"hubAcceptsClient":true,"leaseDurationSeconds":2}}`))
	admin.MustPatch(cluster, accepted)
	kit.Await(t, "it is available", reported(admin, metav1.ConditionTrue))
	return out
}

// reported checks the status of the condition Available, and that the taint unreachable follows it.
func reported(admin *kit.Client, want metav1.ConditionStatus) func(context.Context) error {
	return func(ctx context.Context) error {
		cluster := &clusterv1.ManagedCluster{}
		if err := admin.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			return err
		}
		available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
		if available == nil || available.Status != want || (len(cluster.Spec.Taints) == 0) != (want == metav1.ConditionTrue) {
			return fmt.Errorf("available is %v with taints %v, want %s", available, cluster.Spec.Taints, want)
		}
		return nil
	}
}

// wantReport checks the capacity and the claims, which are those of the fake nodes.
func wantReport(admin *kit.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		cluster := &clusterv1.ManagedCluster{}
		if err := admin.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			return err
		}
		got := map[string]string{}
		for resource, quantity := range cluster.Status.Allocatable {
			got[string(resource)] = quantity.String()
		}
		for _, claim := range cluster.Status.ClusterClaims {
			if claim.Name == clusterv1.ClaimRegion {
				got["region"] = claim.Value
			}
		}
		if diff := cmp.Diff(map[string]string{"cpu": "12", "memory": "24Gi", "pods": "60", "region": "eu"}, got); diff != "" {
			return fmt.Errorf("the report (-want +got):\n%s", diff)
		}
		return nil
	}
}

func newDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(5)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: newTemplate(labels, corev1.RestartPolicyAlways),
	}}
}

func newJob() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "once"},
		Spec:       batchv1.JobSpec{Template: newTemplate(nil, corev1.RestartPolicyNever)},
	}
}

func newTemplate(labels map[string]string, restart corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{RestartPolicy: restart, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

// waitsForImage checks that the image of a pod cannot be pulled.
func waitsForImage(on *kit.Client, pod *corev1.Pod) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := on.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		statuses := pod.Status.ContainerStatuses
		if pod.Status.Phase != corev1.PodPending || len(statuses) != 1 || statuses[0].State.Waiting == nil ||
			statuses[0].State.Waiting.Reason != "ErrImagePull" {
			return fmt.Errorf("the pod is %s, its containers are %+v; want ErrImagePull", pod.Status.Phase, statuses)
		}
		return nil
	}
}

// runs checks that the Deployment has all replicas, of its own pods.
func runs(on *kit.Client, deployment *appsv1.Deployment) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := on.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err
		}
		pods := &corev1.PodList{}
		if err := on.List(ctx, pods, client.MatchingLabels{"app": "web"}, client.InNamespace("default")); err != nil {
			return err
		}
		ready := 0
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && strings.HasPrefix(pod.Spec.NodeName, "node-") {
				ready++
			}
		}
		if want := int(*deployment.Spec.Replicas); ready != want || int(deployment.Status.AvailableReplicas) != want {
			return fmt.Errorf("%d pods run, and the status is %+v; want %d", ready, deployment.Status, want)
		}
		return nil
	}
}

func firstPod(t *testing.T, on *kit.Client) string {
	t.Helper()
	pods := &corev1.PodList{}
	if err := on.List(t.Context(), pods, client.MatchingLabels{"app": "web"}, client.InNamespace("default")); err != nil ||
		len(pods.Items) == 0 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	return pods.Items[0].Name
}

// TestAMemberRefusesAWrongCommandLine checks the message for each fault.
func TestAMemberRefusesAWrongCommandLine(t *testing.T) {
	binary := kit.Must(hubtest.Binary()).In(t)
	for sentence, test := range map[string]struct{ args, want string }{
		"no name":        {"", "name the member: --name edge-1"},
		"not joined":     {"--name=a", "member a has not joined from"},
		"no token":       {"--name=a --hub=https://127.0.0.1:1", "missing [ca-hash token]"},
		"no URL":         {"--name=a --hub=x --token=t --ca-hash=h", "is not of the form https://HOST:PORT"},
		"a bad capacity": {"--name=a --node-capacity=cpu=many", "reading --node-capacity: cpu=many"},
	} {
		t.Run(sentence, func(t *testing.T) {
			args := append([]string{"member", "--data-dir=" + t.TempDir()}, strings.Fields(test.args)...)
			printed, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
			if err == nil || !strings.Contains(string(printed), test.want) {
				t.Errorf("%v: %v, printed %q, want %q", args, err, printed, test.want)
			}
		})
	}
}
