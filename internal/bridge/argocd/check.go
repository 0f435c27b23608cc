package argocd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/page"
)

const (
	// clusterTypeLabel with clusterTypeValue is on every cluster Secret of Argo CD.
	clusterTypeLabel, clusterTypeValue = "argocd.argoproj.io/secret-type", "cluster"
	// clusterNameLabel holds the name of the cluster on Secrets with another name. Open Cluster Management sets it too.
	clusterNameLabel = "apps.open-cluster-management.io/cluster-name"
	// ownCluster is how Argo CD names the cluster that it runs on. It needs no Secret.
	ownCluster = "in-cluster"

	// maxNamed is how many clusters a step names.
	maxNamed = 20
)

// Options is what is checked.
type Options struct {
	// Namespace is that of Argo CD.
	Namespace, ServiceAccount string
	// Placements are those to check; empty for those that the ApplicationSets follow.
	Placements []string
}

// NewClient returns a client of the kinds of this package. It sends no request.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, authorizationv1.AddToScheme, clusterv1.AddToScheme,
		clusterv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"), meta.RESTScopeRoot)
	mapper.Add(clusterv1.GroupVersion.WithKind("ManagedCluster"), meta.RESTScopeRoot)
	mapper.Add(clusterv1beta1.GroupVersion.WithKind("Placement"), meta.RESTScopeNamespace)
	mapper.Add(clusterv1beta1.GroupVersion.WithKind("PlacementDecision"), meta.RESTScopeNamespace)
	mapper.Add(applicationSets(), meta.RESTScopeNamespace)
	out, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	return out, nil
}

func applicationSets() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: applicationGroup, Version: applicationVersion, Kind: "ApplicationSet"}
}

// checker checks one namespace.
type checker struct {
	Options

	hub    client.Client
	report *Report
	// selected are the placements that selected a cluster, by cluster.
	selected map[string][]string
}

// Check reports what Argo CD lacks to follow decisions. It writes nothing.
func Check(ctx context.Context, hub client.Client, options Options) (*Report, error) {
	c := &checker{
		Options: options, hub: hub, selected: map[string][]string{},
		report: &Report{Namespace: options.Namespace, WithoutSecret: []string{}},
	}
	followed, err := c.checkApplicationSets(ctx)
	if err != nil {
		return nil, err
	}
	c.report.Placements = sorted(append(followed, c.Placements...))
	if len(c.Placements) > 0 {
		c.report.Placements = sorted(c.Placements)
	}
	if err := c.checkPermission(ctx); err != nil {
		return nil, err
	}
	for _, name := range c.report.Placements {
		if err := c.checkPlacement(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := c.checkSecrets(ctx); err != nil {
		return nil, err
	}
	c.report.sort()
	return c.report, nil
}

// eachPage lists a kind of the namespace page by page.
func eachPage[L client.ObjectList](ctx context.Context, c *checker, empty L, what string, visit func(L) error,
	options ...client.ListOption,
) error {
	err := page.Each(ctx, c.hub, empty, visit, append(options, client.InNamespace(c.Namespace))...)
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("reading %s: the right to list them in the namespace %s is missing; ask for a role that gives it: %w", what,
			c.Namespace, err)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	return nil
}

// checkApplicationSets checks the ApplicationSets that follow decisions, and returns the placements that they follow.
func (c *checker) checkApplicationSets(ctx context.Context) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	gvk := applicationSets()
	gvk.Kind += "List"
	list.SetGroupVersionKind(gvk)
	var sets []*applicationSet
	err := eachPage(ctx, c, list, "ApplicationSets", func(list *unstructured.UnstructuredList) error {
		for i := range list.Items {
			set, err := decode(&list.Items[i])
			if err != nil {
				return err
			}
			if len(set.decisionGenerators()) > 0 {
				sets = append(sets, set)
			}
		}
		return nil
	})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		c.report.step("namespace "+c.Namespace, "the hub has no API of ApplicationSets", "install Argo CD on the hub")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		c.report.step("namespace "+c.Namespace, "no ApplicationSet follows a decision",
			"kubectl berth argo setup PLACEMENT -n "+c.Namespace+" prints one, with what it needs")
	}
	var followed []string
	for _, set := range sets {
		names, err := c.checkApplicationSet(ctx, set)
		if err != nil {
			return nil, err
		}
		followed = append(followed, names...)
	}
	return followed, nil
}

func (c *checker) checkApplicationSet(ctx context.Context, set *applicationSet) ([]string, error) {
	object := "ApplicationSet " + set.Metadata.Name
	if !set.preserves() {
		c.report.note(object, "a cluster that leaves the decision loses its workload, and so do all if the ApplicationSet is deleted",
			"set spec.syncPolicy.preserveResourcesOnDeletion to true until you trust the placement")
	}
	var followed []string
	for _, found := range set.decisionGenerators() {
		if found.RequeueAfterSeconds == nil {
			c.report.note(object, "the decision is read every 180 seconds, the default", "set requeueAfterSeconds of the generator to 30")
		}
		if err := c.checkConfig(ctx, object, found.ConfigMapRef); err != nil {
			return nil, err
		}
		placement := found.LabelSelector.MatchLabels[clusterv1beta1.PlacementLabel]
		switch {
		case found.Name != "":
			c.report.step(object, "the generator reads the object "+found.Name+" only, and a placement may have several",
				"replace name by labelSelector: {matchLabels: {"+clusterv1beta1.PlacementLabel+": PLACEMENT}}")
		case placement == "":
			c.report.note(object, "the generator does not select by the label "+clusterv1beta1.PlacementLabel+", so the placement is not known here",
				"name the placements to check: kubectl berth argo check PLACEMENT")
		default:
			followed = append(followed, placement)
		}
	}
	return followed, nil
}

// checkConfig checks the ConfigMap of a generator. With a wrong key Argo CD finds no cluster, and removes every Application.
func (c *checker) checkConfig(ctx context.Context, object, name string) error {
	config := &corev1.ConfigMap{}
	err := c.hub.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, config)
	if apierrors.IsNotFound(err) {
		c.report.step(object, "its ConfigMap "+name+" does not exist in the namespace "+c.Namespace, "kubectl berth argo setup prints it")
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the ConfigMap %s/%s: %w", c.Namespace, name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(generatorConfig())) {
		want := generatorConfig()[key]
		if got := config.Data[key]; got != want {
			c.report.step("ConfigMap "+name, fmt.Sprintf("%s is %q, so the generator finds no selected cluster", key, got),
				fmt.Sprintf("set %s to %q", key, want))
		}
	}
	return nil
}

// checkPermission checks whether the ApplicationSet controller may list the slices.
func (c *checker) checkPermission(ctx context.Context) error {
	user := "system:serviceaccount:" + c.Namespace + ":" + c.ServiceAccount
	for _, verb := range []string{"get", "list"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + c.Namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: c.Namespace, Verb: verb, Group: clusterv1beta1.GroupName, Resource: decisionResource,
			},
		}}
		err := c.hub.Create(ctx, review)
		switch {
		case apierrors.IsForbidden(err):
			c.report.note("ServiceAccount "+c.ServiceAccount, "its permissions are not checked, since you may not create subjectaccessreviews",
				"kubectl auth can-i list "+decisionResource+"."+clusterv1beta1.GroupName+" -n "+c.Namespace+" --as "+user)
			return nil
		case err != nil:
			return fmt.Errorf("checking the permissions of %s: %w", user, err)
		case !review.Status.Allowed:
			c.report.step("ServiceAccount "+c.ServiceAccount, "it may not "+verb+" "+decisionResource+" in the namespace "+c.Namespace,
				"kubectl berth argo setup prints the Role and the RoleBinding")
		}
	}
	return nil
}

// checkPlacement reads the clusters that a placement selected.
func (c *checker) checkPlacement(ctx context.Context, name string) error {
	placement := &clusterv1beta1.Placement{}
	err := c.hub.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, placement)
	if apierrors.IsNotFound(err) {
		c.report.step("placement "+name, "it does not exist in the namespace "+c.Namespace+", and the generator lists no other namespace",
			"create it there, with a binding of its cluster set: docs/how-to/argo-cd.md")
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the placement %s/%s: %w", c.Namespace, name, err)
	}
	var stored []*clusterv1beta1.PlacementDecision
	err = eachPage(ctx, c, &clusterv1beta1.PlacementDecisionList{}, "the decisions of placement "+name,
		func(list *clusterv1beta1.PlacementDecisionList) error {
			for i := range list.Items {
				stored = append(stored, &list.Items[i])
			}
			return nil
		}, client.MatchingLabelsSelector{Selector: decision.Selector(name)})
	if err != nil {
		return err
	}
	read := decision.Of(stored...)
	if obstacles := read.Obstacles(placement); len(obstacles) > 0 {
		c.report.note("placement "+name, "its decision is not complete: "+phrase.Join(obstacles, phrase.MaxNames),
			"kubectl berth explain placement "+name+" -n "+c.Namespace)
	}
	for cluster := range read.ClusterNames() {
		c.selected[cluster] = append(c.selected[cluster], name)
	}
	return nil
}

// checkSecrets names every selected cluster without a cluster Secret. It lists metadata: no value of a Secret is read.
func (c *checker) checkSecrets(ctx context.Context) error {
	c.report.Clusters = len(c.selected)
	if c.report.Clusters == 0 {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	stored := map[string]bool{ownCluster: true}
	err := eachPage(ctx, c, list, "the metadata of Secrets", func(list *metav1.PartialObjectMetadataList) error {
		for i := range list.Items {
			stored[clusterOf(&list.Items[i])] = true
		}
		return nil
	}, client.MatchingLabels{clusterTypeLabel: clusterTypeValue})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.selected)) {
		if !stored[name] {
			c.report.WithoutSecret = append(c.report.WithoutSecret, name)
		}
	}
	for i, name := range c.report.WithoutSecret {
		if i == maxNamed {
			c.report.step(fmt.Sprintf("%d more clusters", len(c.report.WithoutSecret)-maxNamed),
				"selected, and Argo CD has no cluster Secret for them", "-o json names all of them")
			break
		}
		c.report.step("cluster "+name, "selected by "+strings.Join(slices.Compact(c.selected[name]), ", ")+
			", and no cluster Secret has its name or the label "+clusterNameLabel,
			"argocd cluster add CONTEXT --name "+name+"; or, if a Secret for it has another name, kubectl label secret SECRET -n "+c.Namespace+" "+
				clusterNameLabel+"="+name)
	}
	return nil
}

// clusterOf returns the cluster that a cluster Secret is for, by its label, else by its name. The name that Argo CD compares is in
// the data of the Secret, which is not read.
func clusterOf(secret *metav1.PartialObjectMetadata) string {
	if name := secret.Labels[clusterNameLabel]; name != "" {
		return name
	}
	return secret.Name
}

// sorted returns the names in order, each once.
func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
