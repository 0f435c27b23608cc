package fleet

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// TestEveryFieldIsOfAFacet changes one field after the other. Without a facet for a field, expressions would keep
// outdated outcomes.
func TestEveryFieldIsOfAFacet(t *testing.T) {
	for name, change := range fieldChanges(reflect.TypeFor[clusterv1.ManagedCluster](), "") {
		unread := name == ".ObjectMeta.ResourceVersion" || name == ".TypeMeta.Kind" || name == ".TypeMeta.APIVersion"
		before, after := &clusterv1.ManagedCluster{}, &clusterv1.ManagedCluster{}
		change(reflect.ValueOf(after).Elem())
		if got := ChangedFacets(before, after); (got != 0) == unread {
			t.Errorf("%s: facets %b", name, got)
		}
		change(reflect.ValueOf(before).Elem())
		if got := ChangedFacets(before, after); got != 0 {
			t.Errorf("%s, the same twice: facets %b", name, got)
		}
		if got := ChangedFacets(before, before.DeepCopy()); got != 0 {
			t.Errorf("%s, copied: facets %b", name, got)
		}
	}
}

// fieldChanges returns, for each field below a type, a function that gives it another value.
func fieldChanges(of reflect.Type, name string) map[string]func(reflect.Value) {
	out := map[string]func(reflect.Value){}
	below := func(of reflect.Type, name string, at func(reflect.Value) reflect.Value) {
		for field, change := range fieldChanges(of, name) {
			out[field] = func(v reflect.Value) { change(at(v)) }
		}
	}
	switch {
	case name == ".ObjectMeta.ManagedFields":
	case of == reflect.TypeFor[metav1.Time]():
		out[name] = func(v reflect.Value) { v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1, 0)))) }
	case of.Kind() == reflect.Struct:
		for i := range of.NumField() {
			if field := of.Field(i); field.IsExported() {
				below(field.Type, name+"."+field.Name, func(v reflect.Value) reflect.Value { return v.Field(i) })
			}
		}
	case of.Kind() == reflect.Pointer:
		below(of.Elem(), name, func(v reflect.Value) reflect.Value {
			v.Set(reflect.New(of.Elem()))
			return v.Elem()
		})
	case of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8:
		below(of.Elem(), name, func(v reflect.Value) reflect.Value {
			if v.Len() == 0 {
				v.Set(reflect.MakeSlice(of, 1, 1))
			}
			return v.Index(0)
		})
	case of.Kind() == reflect.Map:
		out[name] = func(v reflect.Value) {
			v.Set(reflect.MakeMap(of))
			v.SetMapIndex(reflect.ValueOf("key").Convert(of.Key()), reflect.Zero(of.Elem()))
		}
	default:
		out[name] = func(v reflect.Value) { v.Set(other(of)) }
	}
	return out
}

// other returns a value of a plain type that is not its zero.
func other(of reflect.Type) reflect.Value {
	switch of.Kind() {
	case reflect.Bool:
		return reflect.ValueOf(true).Convert(of)
	case reflect.String:
		return reflect.ValueOf("x").Convert(of)
	case reflect.Slice:
		return reflect.ValueOf([]byte("x")).Convert(of)
	default:
		return reflect.ValueOf(1).Convert(of)
	}
}

func TestNextHoldsWhatIsTheSameOnce(t *testing.T) {
	object := &clusterv1.ManagedCluster{Status: clusterv1.ManagedClusterStatus{
		ClusterClaims: []clusterv1.ManagedClusterClaim{{Name: "a", Value: "b"}},
	}}
	c := NewCluster(object)
	same := c.WithObject(object.DeepCopy())
	if reflect.ValueOf(c.Claims).Pointer() != reflect.ValueOf(same.Claims).Pointer() {
		t.Error("the claims are held twice")
	}
	differs := object.DeepCopy()
	differs.Status.ClusterClaims[0].Value = "c"
	if got := c.WithObject(differs).Claims["a"]; got != "c" {
		t.Errorf("claim a is %q, want c", got)
	}
}
