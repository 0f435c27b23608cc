package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// NameLabel on a ManifestWork names the add-on that it delivers.
const NameLabel = "open-cluster-management.io/addon-name"

// The variables that every template has. No configuration replaces them.
const (
	clusterNameVariable      = "CLUSTER_NAME"
	installNamespaceVariable = "INSTALL_NAMESPACE"
)

const (
	// maxRendered bounds the manifests of a rendered template, in bytes.
	maxRendered = 1 << 20
	// maxDepth bounds how deep a manifest is nested.
	maxDepth = 100
)

var (
	// placeholder is a variable in a text of a manifest. Other braces stay as they are.
	placeholder = regexp.MustCompile(`\{\{([a-zA-Z_][_a-zA-Z0-9]*)\}\}`)

	errTooLarge = errors.New("the manifests have more than 1 MiB with the values of their variables")
	errTooDeep  = errors.New("a manifest is nested too deeply")
	errVariable = errors.New("the variable has no value, so the work would be about another object: set it in an AddOnDeploymentConfig")
	errHook     = errors.New("is not supported: use spec.agentSpec.deleteOption for objects that stay, and no hooks")
	errIdentity = errors.New("spec.registration is not supported: leave it out, and give the agent its credentials in another way")
	errField    = errors.New("templates read customizedVariables, agentInstallNamespace, nodePlacement and registries only")
)

// Rendering is what a template becomes on one cluster.
type Rendering struct {
	// Spec is the spec of the work.
	Spec *workv1.ManifestWorkSpec
	// Namespace is that of the agent on the member.
	Namespace string
}

// Render returns what a template becomes on the cluster of an add-on with its deployment configurations. Of two values of a variable the
// later counts. An error is a mistake of a user: the template does not fit the add-on, or sets what no template reads.
func Render(addOn *addonv1alpha1.ManagedClusterAddOn, template *addonv1alpha1.AddOnTemplate,
	configs []*addonv1alpha1.AddOnDeploymentConfig,
) (Rendering, error) {
	if template.Spec.AddonName != addOn.Name {
		return Rendering{}, fmt.Errorf("AddOnTemplate %s is of the add-on %q: %w", template.Name, template.Spec.AddonName, errWrongAddOn)
	}
	if len(template.Spec.Registration) > 0 {
		return Rendering{}, fmt.Errorf("AddOnTemplate %s: %w", template.Name, errIdentity)
	}
	r := renderer{variables: map[string]string{}, namespace: addOn.Spec.InstallNamespace}
	for _, config := range configs {
		if len(config.Spec.ResourceRequirements) > 0 || config.Spec.ProxyConfig.HTTPProxy+config.Spec.ProxyConfig.HTTPSProxy+
			config.Spec.ProxyConfig.NoProxy != "" {
			return Rendering{}, fmt.Errorf("AddOnDeploymentConfig %s/%s sets proxyConfig or resourceRequirements: %w", config.Namespace, config.Name,
				errField)
		}
		for _, variable := range config.Spec.CustomizedVariables {
			r.variables[variable.Name] = variable.Value
		}
		r.registries = append(r.registries, config.Spec.Registries...)
		if config.Spec.AgentInstallNamespace != "" {
			r.namespace = config.Spec.AgentInstallNamespace
		}
		if config.Spec.NodePlacement != nil {
			r.placement = config.Spec.NodePlacement
		}
	}
	r.variables[clusterNameVariable], r.variables[installNamespaceVariable] = addOn.Namespace, r.namespace
	out := template.Spec.AgentSpec.DeepCopy()
	if out.DeleteOption != nil {
		out.DeleteOption.TTLSecondsAfterFinished = nil // the work would be created again
	}
	for i := range out.Workload.Manifests {
		raw, err := r.manifest(out.Workload.Manifests[i].Raw)
		if err != nil {
			return Rendering{}, fmt.Errorf("manifest %d of AddOnTemplate %s: %w", i, template.Name, err)
		}
		out.Workload.Manifests[i] = workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}}
	}
	return Rendering{Spec: out, Namespace: r.namespace}, nil
}

var errWrongAddOn = errors.New("name a template of this add-on")

// renderer renders the manifests of one template for one cluster.
type renderer struct {
	variables  map[string]string
	registries []addonv1alpha1.ImageMirror
	placement  *addonv1alpha1.NodePlacement
	namespace  string
	// written counts the bytes of the rendered texts.
	written int
}

// manifest renders one manifest. Values of variables are texts: they add no field.
func (r *renderer) manifest(raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a float64 would round large numbers
	var content map[string]any
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("reading it: %w", err)
	}
	if _, err := r.value(content, 0); err != nil {
		return nil, err
	}
	if err := checkObject(content); err != nil {
		return nil, err
	}
	if kind := content["kind"]; content["apiVersion"] == "apps/v1" && (kind == "Deployment" || kind == "DaemonSet") {
		r.pods(content)
	}
	return json.Marshal(content) //nolint:wrapcheck // what was decoded can be encoded
}

// checkObject returns the error of a rendered manifest that would be about another object, or that other managers of add-ons treat in a way
// that this one does not.
func checkObject(content map[string]any) error {
	metadata, _ := content["metadata"].(map[string]any)
	for _, text := range []any{content["apiVersion"], content["kind"], metadata["namespace"], metadata["name"]} {
		if text, ok := text.(string); ok && placeholder.MatchString(text) {
			return fmt.Errorf("%s: %w", text, errVariable)
		}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, key := range []string{"addon-pre-delete", "deletion-orphan"} {
		if _, has := annotations[addonv1alpha1.AnnotationPrefix+key]; has {
			return fmt.Errorf("the annotation %s %w", addonv1alpha1.AnnotationPrefix+key, errHook)
		}
	}
	return nil
}

// value renders every text in a value, in place, and returns it.
func (r *renderer) value(in any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	var err error
	switch typed := in.(type) {
	case string:
		return r.text(typed)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(typed)) {
			if typed[key], err = r.value(typed[key], depth+1); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range typed {
			if typed[i], err = r.value(typed[i], depth+1); err != nil {
				return nil, err
			}
		}
	}
	return in, nil
}

// text replaces the variables in a text once: values are not read for variables.
func (r *renderer) text(in string) (string, error) {
	out := placeholder.ReplaceAllStringFunc(in, func(found string) string {
		value, has := r.variables[found[2:len(found)-2]]
		if !has || r.written > maxRendered {
			return found
		}
		r.written += len(value)
		return value
	})
	if r.written += len(in); r.written > maxRendered {
		return "", errTooLarge
	}
	return out, nil
}

// pods sets the nodes and the registries of the pods of a workload.
func (r *renderer) pods(workload map[string]any) {
	spec, _ := workload["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	if pod == nil {
		return
	}
	if r.placement != nil && r.placement.NodeSelector != nil {
		pod["nodeSelector"] = r.placement.NodeSelector
	}
	if r.placement != nil && r.placement.Tolerations != nil {
		pod["tolerations"] = r.placement.Tolerations
	}
	for _, field := range []string{"containers", "initContainers"} {
		containers, _ := pod[field].([]any)
		for _, each := range containers {
			container, _ := each.(map[string]any)
			if image, ok := container["image"].(string); ok {
				container["image"] = r.image(image)
			}
		}
	}
}

// image returns the name of an image at the mirror of its registry. The last mirror that fits counts.
func (r *renderer) image(name string) string {
	for _, mirror := range slices.Backward(r.registries) {
		source := strings.TrimSuffix(mirror.Source, "/")
		if source == "" {
			return strings.TrimSuffix(mirror.Mirror, "/") + "/" + name[strings.LastIndex(name, "/")+1:]
		}
		if rest, fits := strings.CutPrefix(name, source); fits && rest != "" && strings.ContainsRune("/:@", rune(rest[0])) {
			return strings.TrimSuffix(mirror.Mirror, "/") + rest
		}
	}
	return name
}

// WorkName returns the name of the work of an add-on with a template.
func WorkName(addOn string) string { return "addon-" + addOn + "-deploy-0" }

// NameOf returns the name of the add-on that a work is named after; empty for another work.
func NameOf(work string) string {
	name, fits := strings.CutPrefix(work, "addon-")
	if out, ends := strings.CutSuffix(name, "-deploy-0"); fits && ends {
		return out
	}
	return ""
}

// IsRendered reports whether Berth wrote the spec of a work.
func IsRendered(work *workv1.ManifestWork) bool {
	return work.Annotations[workv1.TemplateHashAnnotation] != ""
}

// NewWork returns the work that delivers a rendered template. It goes with its add-on.
func NewWork(addOn *addonv1alpha1.ManagedClusterAddOn, spec *workv1.ManifestWorkSpec, hash string) *workv1.ManifestWork {
	out := &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: addOn.Namespace, Name: WorkName(addOn.Name), Labels: map[string]string{},
			Annotations: map[string]string{workv1.TemplateHashAnnotation: hash, workv1.TemplateGenerationAnnotation: "1"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: addonv1alpha1.GroupVersion.String(), Kind: "ManagedClusterAddOn", Name: addOn.Name, UID: addOn.UID, Controller: new(true),
			}},
			Finalizers: []string{workv1.ManifestWorkFinalizer},
		},
		Spec: *spec,
	}
	if len(validation.IsValidLabelValue(addOn.Name)) == 0 {
		out.Labels[NameLabel] = addOn.Name
	}
	return out
}

// WorkPatch returns the patch that replaces the spec of a work. It conflicts where another client wrote first.
func WorkPatch(work *workv1.ManifestWork, spec *workv1.ManifestWorkSpec, hash string) (types.PatchType, []byte, error) {
	write := plan.Write{
		Verb: plan.Update, Cluster: work.Namespace, Name: work.Name, UID: work.UID, ResourceVersion: work.ResourceVersion,
		Bare: len(work.Annotations) == 0,
		Annotations: map[string]string{
			workv1.TemplateHashAnnotation: hash, workv1.TemplateGenerationAnnotation: strconv.FormatInt(work.Generation+1, 10),
		},
	}
	return write.Patch(spec)
}
