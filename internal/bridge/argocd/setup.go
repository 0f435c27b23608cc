package argocd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

const (
	// Namespace is where Argo CD is installed by default.
	Namespace = "argocd"
	// ServiceAccount is that of the ApplicationSet controller in the manifests of Argo CD.
	ServiceAccount = "argocd-applicationset-controller"
	// configName is the name of the ConfigMap of the generator, of the Role and of the RoleBinding.
	configName = "berth-decisions"
	// decisionResource is the resource that the generator lists.
	decisionResource = "placementdecisions"
	// applicationGroup is the API group of Argo CD.
	applicationGroup, applicationVersion = "argoproj.io", "v1alpha1"
)

// generatorConfig returns what the generator reads from its ConfigMap. The key kind holds a resource, in the plural.
func generatorConfig() map[string]string {
	return map[string]string{
		"apiVersion": clusterv1beta1.GroupVersion.String(), "kind": decisionResource, "statusListKey": "decisions", "matchKey": "clusterName",
	}
}

// Setup describes an ApplicationSet that follows a placement.
type Setup struct {
	// Namespace is that of Argo CD. The placement is in it too, because the generator lists no other namespace.
	Namespace, Placement string
	// ServiceAccount runs the ApplicationSet controller.
	ServiceAccount string
	// Repository and Path are the source of the Applications.
	Repository, Path string
	// Poll is how often the generator reads the decision.
	Poll time.Duration
}

// Check returns what is wrong with a setup.
func (s Setup) Check() error {
	for flag, name := range map[string]string{
		"--namespace": s.Namespace, "--service-account": s.ServiceAccount,
		"the placement": s.Placement,
	} {
		if found := validation.IsDNS1123Subdomain(name); len(found) > 0 {
			return fmt.Errorf("%s: %q is no name of an object: %s", flag, name, found[0])
		}
	}
	if found := validation.IsValidLabelValue(s.Placement); len(found) > 0 {
		return fmt.Errorf("the placement: %q is no value of a label, by which its decisions are found: %s", s.Placement, found[0])
	}
	if parsed, err := url.Parse(s.Repository); err != nil || parsed.Path == "" {
		return fmt.Errorf("--repo: %q is no URL of a repository", s.Repository)
	}
	if s.Path == "" || strings.HasPrefix(s.Path, "/") {
		return fmt.Errorf("--path: %q is no path inside the repository", s.Path)
	}
	if s.Poll < time.Second || s.Poll%time.Second != 0 {
		return errors.New("--poll must be whole seconds, at least 1s")
	}
	return nil
}

// Print writes the objects as YAML, each with the reason for it.
func (s Setup) Print(w io.Writer) error {
	var out bytes.Buffer
	for i, part := range []struct {
		comment string
		object  map[string]any
	}{
		{"What the generator lists, and which key of an entry is the name of a cluster.", s.config()},
		{"The permission that the manifests of Argo CD do not give to the ApplicationSet controller.", s.role()},
		{"", s.roleBinding()},
		{
			"An Application for each selected cluster. With preserveResourcesOnDeletion a cluster that leaves loses its Application and keeps\n" +
				"its workload. Change this object with kubectl apply, never with kubectl replace --force, which deletes every Application.",
			s.applicationSet(),
		},
	} {
		if i > 0 {
			out.WriteString("---\n")
		}
		for line := range strings.Lines(part.comment) {
			out.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
		}
		data, err := yaml.Marshal(part.object)
		if err != nil {
			return fmt.Errorf("encoding the result: %w", err)
		}
		out.Write(data)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// object returns an object of Argo CD's namespace.
func (s Setup) object(apiVersion, kind, name string, parts map[string]any) map[string]any {
	out := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": s.Namespace}}
	maps.Copy(out, parts)
	return out
}

func (s Setup) config() map[string]any {
	return s.object("v1", "ConfigMap", configName, map[string]any{"data": generatorConfig()})
}

func (s Setup) role() map[string]any {
	rule := map[string]any{
		"apiGroups": []string{clusterv1beta1.GroupName}, "resources": []string{decisionResource},
		"verbs": []string{"get", "list"},
	}
	return s.object("rbac.authorization.k8s.io/v1", "Role", configName, map[string]any{"rules": []any{rule}})
}

func (s Setup) roleBinding() map[string]any {
	return s.object("rbac.authorization.k8s.io/v1", "RoleBinding", configName, map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": configName},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": s.ServiceAccount, "namespace": s.Namespace}},
	})
}

func (s Setup) applicationSet() map[string]any {
	generator := map[string]any{
		"configMapRef":        configName,
		"labelSelector":       map[string]any{"matchLabels": map[string]any{clusterv1beta1.PlacementLabel: s.Placement}},
		"requeueAfterSeconds": int64(s.Poll / time.Second),
	}
	template := map[string]any{
		"metadata": map[string]any{"name": s.Placement + "-{{.name}}"},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": s.Repository, "path": s.Path, "targetRevision": "HEAD"},
			"destination": map[string]any{"server": "{{.server}}", "namespace": s.Placement},
			"syncPolicy":  map[string]any{"automated": map[string]any{}, "syncOptions": []string{"CreateNamespace=true"}},
		},
	}
	return s.object(applicationGroup+"/"+applicationVersion, "ApplicationSet", s.Placement, map[string]any{"spec": map[string]any{
		"goTemplate": true, "goTemplateOptions": []string{"missingkey=error"},
		"generators": []any{map[string]any{"clusterDecisionResource": generator}},
		"syncPolicy": map[string]any{"preserveResourcesOnDeletion": true},
		"template":   template,
	}})
}
