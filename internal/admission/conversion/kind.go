package conversion

import (
	"maps"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	addonv1beta1 "github.com/berth-project/berth/api/addon/v1beta1"
)

// noConfig is the name of a required reference to no object.
const noConfig = "__reserved_no_default__"

// sections returns the sections of a kind. Kinds without a difference have none.
func sections(kind string) (out []section, known bool) {
	switch kind {
	case "AddOnDeploymentConfig", "AddOnTemplate":
		return nil, true
	case "ClusterManagementAddOn":
		return []section{
			alphaOnly("addOnConfiguration", "spec", "addOnConfiguration"),
			{"configs", [2]side{
				{[][]string{{"spec", "supportedConfigs"}}, eachItem(toDefaultConfig)},
				{[][]string{{"spec", "defaultConfigs"}}, eachItem(toSupportedConfig)},
			}},
			renamed("defaultConfigReferences", []string{"status", "defaultconfigReferences"}, []string{"status", "defaultConfigReferences"}),
		}, true
	case "ManagedClusterAddOn":
		return []section{
			{"installNamespace", [2]side{
				{[][]string{{"spec", "installNamespace"}}, same},
				{[][]string{{"metadata", "annotations", addonv1alpha1.InstallNamespaceAnnotation}}, toNamespace},
			}},
			alphaOnly("addOnConfiguration", "status", "addOnConfiguration"),
			{"configReferences", [2]side{
				{[][]string{{"status", "configReferences"}}, eachItem(withoutReferent)},
				{[][]string{{"status", "configReferences"}}, eachItem(withReferent)},
			}},
			{"registrations", [2]side{
				{[][]string{{"status", "registrations"}, {"status", "kubeClientDriver"}}, toTyped},
				{[][]string{{"status", "registrations"}}, toSigners},
			}},
		}, true
	default:
		return nil, false
	}
}

// alphaOnly is a field that v1beta1 lacks.
func alphaOnly(name string, path ...string) section {
	return section{name, [2]side{
		{[][]string{path}, func(fields) fields { return fields{} }},
		{nil, func(fields) fields { return fields{nil} }},
	}}
}

// renamed is a field with two names.
func renamed(name string, inAlpha, inBeta []string) section {
	return section{name, [2]side{{[][]string{inAlpha}, same}, {[][]string{inBeta}, same}}}
}

func same(in fields) fields { return in }

// toNamespace drops a text that is no namespace, which v1alpha1 could not store again.
func toNamespace(in fields) fields {
	name, _ := in[0].(string)
	if len(validation.IsDNS1123Label(name)) > 0 {
		return fields{nil}
	}
	return in
}

// eachItem converts every object of a list. An item that convert drops, and an absent list, are absent.
func eachItem(convert func(map[string]any) map[string]any) func(fields) fields {
	return func(in fields) fields {
		list, ok := in[0].([]any)
		if !ok {
			return fields{nil}
		}
		out := make([]any, 0, len(list))
		for _, item := range list {
			object, _ := item.(map[string]any)
			if converted := convert(object); converted != nil {
				out = append(out, converted)
			}
		}
		return fields{out}
	}
}

// toDefaultConfig flattens the reference. A kind of configuration without a default refers to noConfig.
func toDefaultConfig(in map[string]any) map[string]any {
	out := pick(in, "group", "resource")
	reference, _ := in["defaultConfig"].(map[string]any)
	maps.Copy(out, pick(reference, "name", "namespace"))
	if _, named := out["name"]; !named {
		out["name"] = noConfig
	}
	return out
}

func toSupportedConfig(in map[string]any) map[string]any {
	out := pick(in, "group", "resource")
	if in["name"] != noConfig {
		out["defaultConfig"] = pick(in, "name", "namespace")
	}
	return out
}

func withoutReferent(in map[string]any) map[string]any {
	out := maps.Clone(in)
	delete(out, "name")
	delete(out, "namespace")
	return out
}

// withReferent repeats the name of the desired configuration, or of the applied one.
func withReferent(in map[string]any) map[string]any {
	out := maps.Clone(in)
	out["name"] = noConfig
	for _, field := range []string{"desiredConfig", "lastAppliedConfig"} {
		if config, ok := in[field].(map[string]any); ok {
			maps.Copy(out, pick(config, "name", "namespace"))
			break
		}
	}
	return out
}

// toTyped converts registrations by signer, and the driver of all, to typed registrations.
func toTyped(in fields) fields {
	driver := in[1]
	return eachItem(func(r map[string]any) map[string]any {
		subject, _ := r["subject"].(map[string]any)
		if r["signerName"] != certificatesv1.KubeAPIServerClientSignerName {
			custom := pick(r, "signerName")
			putSubject(custom, subject != nil, rename(pick(subject, "user", "groups", "organizationUnit"), "organizationUnit", "organizationUnits"))
			return map[string]any{"type": string(addonv1beta1.CustomSigner), "customSigner": custom}
		}
		kube := map[string]any{}
		putSubject(kube, subject != nil, pick(subject, "user", "groups"))
		if driver != nil {
			kube["driver"] = driver
		}
		return map[string]any{"type": string(addonv1beta1.KubeClient), "kubeClient": kube}
	})(in)
}

// toSigners is the way back. A custom signer without a name is dropped.
func toSigners(in fields) fields {
	var driver any
	out := eachItem(func(r map[string]any) map[string]any {
		if r["type"] == string(addonv1beta1.KubeClient) {
			kube, _ := r["kubeClient"].(map[string]any)
			if driver == nil {
				driver = kube["driver"]
			}
			out := map[string]any{"signerName": certificatesv1.KubeAPIServerClientSignerName}
			subject, has := kube["subject"].(map[string]any)
			putSubject(out, has, pick(subject, "user", "groups"))
			return out
		}
		custom, _ := r["customSigner"].(map[string]any)
		if custom["signerName"] == nil {
			return nil
		}
		out := pick(custom, "signerName")
		subject, has := custom["subject"].(map[string]any)
		putSubject(out, has, rename(pick(subject, "user", "groups", "organizationUnits"), "organizationUnits", "organizationUnit"))
		return out
	})(in)
	return fields{out[0], driver}
}

// pick returns the named fields that an object has.
func pick(object map[string]any, names ...string) map[string]any {
	out := maps.Clone(object)
	maps.DeleteFunc(out, func(name string, _ any) bool { return !slices.Contains(names, name) })
	if out == nil {
		return map[string]any{}
	}
	return out
}

func rename(object map[string]any, from, to string) map[string]any {
	if value, ok := object[from]; ok {
		delete(object, from)
		object[to] = value
	}
	return object
}

// putSubject sets the subject of an identity that has one.
func putSubject(into map[string]any, has bool, subject map[string]any) {
	if has {
		into["subject"] = subject
	}
}
