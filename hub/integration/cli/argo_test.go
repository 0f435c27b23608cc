package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/bridge/argocd"
	"github.com/berth-project/berth/internal/cli"
)

// applicationSetDefinition accepts every ApplicationSet. The package argocd of these tests has the definition of Argo CD.
const applicationSetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applicationsets.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {kind: ApplicationSet, plural: applicationsets, singular: applicationset, listKind: ApplicationSetList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// apply stores the objects of a text in the namespace of the fixture, until the end of the test.
func (f fixture) apply(t *testing.T, text string) {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		kit.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		if object.GetKind() != "CustomResourceDefinition" {
			object.SetNamespace(f.namespace)
		}
		// a definition takes a moment, and a failed request empties the object
		kit.Await(t, "the object is applied", func(ctx context.Context) error {
			return f.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("user"),
				client.ForceOwnership)
		})
		t.Cleanup(func() { _ = f.client.Delete(context.WithoutCancel(t.Context()), object) })
	}
}

// argoCheck runs the check and returns the steps and the notes, each as its object and its message.
func (f fixture) argoCheck(t *testing.T, args ...string) (report argocd.Report, steps, notes []string) {
	t.Helper()
	got := run(t.Context(), append([]string{"argo", "check", "-n", f.namespace, "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(got.out), &report); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	if wantCode := min(len(report.Steps), 1); got.code != wantCode {
		t.Errorf("exit code %d with %d steps", got.code, len(report.Steps))
	}
	for _, found := range report.Steps {
		steps = append(steps, strings.ReplaceAll(found.Object+": "+found.Message, f.namespace, "NS"))
	}
	for _, found := range report.Notes {
		notes = append(notes, strings.ReplaceAll(found.Object+": "+found.Message, f.namespace, "NS"))
	}
	return report, steps, notes
}

// TestArgoCheck begins on a hub without Argo CD, adds what the command names, and breaks parts of it.
func TestArgoCheck(t *testing.T) {
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{})
	s := newFixture(t)
	s.waitDecided(t)
	noRight := func(verb string) string {
		return "ServiceAccount argocd-applicationset-controller: it may not " + verb + " placementdecisions in the namespace NS"
	}
	hold := func(name string, wantSteps, wantNotes []string, args ...string) argocd.Report {
		t.Helper()
		report, steps, notes := s.argoCheck(t, args...)
		if diff := cmp.Diff(wantSteps, steps); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(wantNotes, notes); diff != "" {
			t.Errorf("%s: notes (-want +got):\n%s", name, diff)
		}
		return report
	}
	hold("no Argo CD", []string{"namespace NS: the hub has no API of ApplicationSets", noRight("get"), noRight("list")}, nil)
	s.apply(t, applicationSetDefinition)
	kit.Await(t, "the check lists ApplicationSets", func(ctx context.Context) error { // a definition is served after a moment
		if got := run(ctx, "argo", "check", "-n", s.namespace, "-o", "json"); !strings.Contains(got.out, "no ApplicationSet follows a decision") {
			return fmt.Errorf("%w: %+v", errNotYet, got)
		}
		return nil
	})
	if _, steps, _ := s.argoCheck(t); len(steps) != 3 || steps[0] != "namespace NS: no ApplicationSet follows a decision" {
		t.Errorf("steps %q, want three", steps)
	}
	var setup, errOut kit.Buffer // the command reads no hub, so it has no flags for one
	if code := cli.Run(t.Context(), []string{"argo", "setup", "web", "-n", s.namespace},
		genericiooptions.IOStreams{Out: &setup, ErrOut: &errOut}, clock.RealClock{}); code != cli.ExitOK {
		t.Fatal(errOut.String())
	}
	s.apply(t, setup.String())
	account := "system:serviceaccount:" + s.namespace + ":argocd-applicationset-controller"
	for _, verb := range []string{"get", "list"} {
		s.awaitMay(t, account, verb, "placementdecisions", s.namespace, "")
	}
	chosen := strings.TrimSpace(run(t.Context(), "decisions", "web", "-n", s.namespace).out)
	number := strings.TrimPrefix(chosen, s.namespace)
	missing := "cluster NS" + number + ": selected by web, and no cluster Secret has its name or the label " +
		"apps.open-cluster-management.io/cluster-name"
	if report := hold("set up", []string{missing}, nil); !cmp.Equal(report.WithoutSecret, []string{chosen}) || report.Clusters != 1 {
		t.Errorf("got %+v", report)
	}
	hold("a placement that is not there", []string{"placement api: it does not exist in the namespace NS, and the " +
		"generator lists no other namespace"}, nil, "api")
	s.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: chosen}}) // no cluster Secret without its label
	hold("a Secret of another kind", []string{missing}, nil)
	s.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "other", Labels: map[string]string{
		"argocd.argoproj.io/secret-type": "cluster", "apps.open-cluster-management.io/cluster-name": chosen,
	}}})
	hold("all is there", nil, nil)
	if got := run(t.Context(), "argo", "check", "-n", s.namespace); got !=
		(result{out: "Argo CD can follow the decisions: 1 placement, 1 selected cluster.\n"}) {
		t.Errorf("got %+v", got)
	}
	s.apply(t, brokenApplicationSet)
	hold("broken parts", []string{
		"ConfigMap broken: kind is \"placementdecision\", so the generator finds no selected cluster",
		"ConfigMap broken: matchKey is \"\", so the generator finds no selected cluster",
		"ApplicationSet broken: its ConfigMap gone does not exist in the namespace NS",
		"ApplicationSet broken: the generator reads the object web-decision-1 only, and a placement may have several",
	}, []string{
		"ApplicationSet broken: a cluster that leaves the decision loses its workload, and so do all if the ApplicationSet is deleted",
		"ApplicationSet broken: the decision is read every 180 seconds, the default",
	})
}

// brokenApplicationSet has two generators, one inside another, with what users get wrong.
const brokenApplicationSet = `
apiVersion: v1
kind: ConfigMap
metadata: {name: broken}
data: {apiVersion: cluster.open-cluster-management.io/v1beta1, kind: placementdecision, statusListKey: decisions}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: broken}
spec:
  generators:
  - clusterDecisionResource:
      configMapRef: broken
      labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: web}}
  - matrix:
      generators:
      - list: {elements: [{a: b}]}
      - clusterDecisionResource: {configMapRef: gone, name: web-decision-1, requeueAfterSeconds: 30}
`

// TestArgoCheckRefused holds that a missing right is an error, and not a hub without clusters.
func TestArgoCheckRefused(t *testing.T) {
	got := run(t.Context(), "argo", "check", "--as", "no-role")
	if got.code != cli.ExitRefused || got.out != "" || !strings.Contains(got.errOut,
		"the right to list them in the namespace argocd is missing") {
		t.Errorf("got %+v", got)
	}
}

// TestArgoLabels copies labels and claims to a cluster Secret that exists, changes them, and takes them back. Values, other labels and
// Secrets of other kinds stay.
func TestArgoLabels(t *testing.T) {
	s := newFixture(t)
	name := s.clusters()[0]
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: name,
			Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster", "own": "stays"},
		},
		StringData: map[string]string{"server": "https://member.example.com"},
	}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.clusters()[1]}}
	s.create(t, secret)
	s.create(t, other)
	cluster := kit.Cluster(name)
	s.patch(t, cluster, `{"metadata":{"labels":{"region":"eu","own":"cluster"}}}`)
	s.client.MustRead(cluster)
	cluster.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{
		{Name: "platform.example.com", Value: "metal"},
		{Name: "notes.example.com", Value: "two words"},
	}
	s.client.MustUpdateStatus(cluster)
	labels := func() map[string]string {
		t.Helper()
		s.client.MustRead(secret)
		if string(secret.Data["server"]) != "https://member.example.com" {
			t.Errorf("the data is %v", secret.Data)
		}
		return secret.Labels
	}
	args := []string{
		"argo", "labels", "-n", s.namespace, "--label", "region", "--label", "own", "--claim", "platform.example.com", "--claim",
		"notes.example.com",
	}
	before := labels()
	dry := run(t.Context(), args...)
	if want := "would label secret " + name + ": platform.example.com=metal region=eu\n" +
		"Note: secret " + name + ": the label own is \"stays\", and was not copied: it stays\n" +
		"Note: secret " + name + ": the value \"two words\" of notes.example.com is no value of a label\n" +
		"1 cluster Secret of 1 would change. This was a dry run: add --yes to label them.\n"; dry != (result{out: want}) {
		t.Errorf("got %+v, want %q", dry, want)
	}
	if diff := cmp.Diff(before, labels()); diff != "" {
		t.Errorf("the dry run changed labels (-before +after):\n%s", diff)
	}
	args = append(args, "--yes")
	want := map[string]string{"argocd.argoproj.io/secret-type": "cluster", "own": "stays", "region": "eu", "platform.example.com": "metal"}
	if got := run(t.Context(), args...); got.code != cli.ExitOK || !strings.HasSuffix(got.out, "1 cluster Secret of 1 labelled.\n") {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(want, labels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if got := run(t.Context(), args...); !strings.HasSuffix(got.out, "Nothing to change on 1 cluster Secret.\n") {
		t.Errorf("a second time: got %+v", got)
	}
	s.patch(t, cluster, `{"metadata":{"labels":{"region":null}}}`)
	run(t.Context(), args...)
	delete(want, "region")
	if diff := cmp.Diff(want, labels()); diff != "" {
		t.Errorf("labels after the cluster lost one (-want +got):\n%s", diff)
	}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil || len(other.Labels) > 0 {
		t.Errorf("another Secret has the labels %v, %v", other.Labels, err)
	}
}

func (f fixture) patch(t *testing.T, object client.Object, patch string) {
	t.Helper()
	f.client.For(t).MustMerge(object, patch)
}
