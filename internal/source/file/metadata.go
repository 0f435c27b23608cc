package file

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// placeholder stands for the UID of an owner that was never on a server.
const placeholder = "unassigned"

// normaliseMetadata changes the metadata of an object into what a server would store. It returns the fields that a server
// would drop, and the faults that it would find.
func (d *definition) normaliseMetadata(o object, namespace string) (unknown []string, faults field.ErrorList) {
	path := field.NewPath("metadata")
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(o.Object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, field.OmitValueType{}, err.Error())}
	}
	if !found || meta == nil {
		return nil, field.ErrorList{field.Required(path.Child("name"), "every object has a name")}
	}
	switch {
	case !d.namespaced && meta.Namespace != "":
		unknown = append(unknown, path.Child("namespace").String())
		meta.Namespace = ""
	case d.namespaced && meta.Namespace == "":
		meta.Namespace = namespace
	}
	if err := objectmeta.SetObjectMeta(o.Object, meta); err != nil {
		faults = append(faults, field.Invalid(path, field.OmitValueType{}, err.Error()))
	}
	return unknown, append(faults, validateMetadata(*meta, d.namespaced, path)...)
}

// validateMetadata checks metadata as a server does, with two differences. A name is required, because no name is
// generated. The owner of an object that was never on a server needs no UID.
func validateMetadata(meta metav1.ObjectMeta, namespaced bool, path *field.Path) field.ErrorList {
	if meta.UID == "" {
		owners := meta.OwnerReferences
		meta.OwnerReferences = make([]metav1.OwnerReference, 0, len(owners))
		for _, owner := range owners {
			if owner.UID == "" {
				owner.UID = placeholder
			}
			meta.OwnerReferences = append(meta.OwnerReferences, owner)
		}
	}
	var faults field.ErrorList
	if meta.Name == "" {
		faults = append(faults, field.Required(path.Child("name"), "every object has a name; one cannot be generated here"))
		meta.Name = placeholder
	}
	return append(faults, validation.ValidateObjectMeta(&meta, namespaced, validation.NameIsDNSSubdomain, path)...)
}
