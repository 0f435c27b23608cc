package program

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// Predicate is a compiled selector of clusters: every requirement and every expression must hold.
type Predicate struct {
	Selector    fleet.Selector
	Expressions []*celenv.Expression
}

func compilePredicates(in []clusterv1beta1.ClusterPredicate, env *celenv.Env, path *field.Path) ([]Predicate, field.ErrorList) {
	out := make([]Predicate, 0, len(in))
	var faults field.ErrorList
	for i, predicate := range in {
		made, errs := CompileSelector(predicate.RequiredClusterSelector, env, path.Index(i).Child("requiredClusterSelector"))
		out, faults = append(out, made), append(faults, errs...)
	}
	return out, faults
}

// CompileSelector compiles a selector: names, labels, claims and expressions, in this order. It returns every fault below path.
func CompileSelector(in clusterv1beta1.ClusterSelector, env *celenv.Env, path *field.Path) (Predicate, field.ErrorList) {
	in = nonZeroSelector(in)
	byName, faults := fleet.NameSelector(in.ClusterNames, path.Child("clusterNames"))
	byLabel, errs := fleet.LabelSelector(in.LabelSelector, path.Child("labelSelector"))
	faults = append(faults, errs...)
	byClaim, errs := fleet.ClaimSelector(in.ClaimSelector, path.Child("claimSelector"))
	faults = append(faults, errs...)
	out := Predicate{Selector: slices.Concat(byName, byLabel, byClaim)}
	at := path.Child("celSelector", "celExpressions")
	for i, text := range in.CelSelector.CelExpressions {
		expression, err := env.Compile(text)
		if err != nil {
			faults = append(faults, field.Invalid(at.Index(i), text, err.Error()))
			continue
		}
		out.Expressions = append(out.Expressions, expression)
	}
	return out, faults
}
