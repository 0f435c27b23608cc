package program

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Toleration is one of spec.tolerations.
type Toleration struct {
	// Key is empty if every key is tolerated, Effect is empty if every effect is tolerated.
	Key    string
	Exists bool
	Value  string
	Effect clusterv1.TaintEffect
	// Seconds is how long after its timeAdded a taint is tolerated. Nil means without end, 0 or less means never.
	Seconds *int64
}

func compileTolerations(in []clusterv1beta1.Toleration, path *field.Path) ([]Toleration, field.ErrorList) {
	in = nonZeroTolerations(in)
	out := make([]Toleration, 0, len(in))
	var faults field.ErrorList
	for i, toleration := range in {
		at := path.Index(i)
		exists := toleration.Operator == clusterv1beta1.TolerationOpExists
		if !exists && toleration.Operator != "" && toleration.Operator != clusterv1beta1.TolerationOpEqual {
			faults = append(faults, field.NotSupported(at.Child("operator"), toleration.Operator,
				[]clusterv1beta1.TolerationOperator{clusterv1beta1.TolerationOpExists, clusterv1beta1.TolerationOpEqual}))
		}
		if toleration.Key == "" && !exists {
			faults = append(faults, field.Invalid(at.Child("operator"), toleration.Operator,
				"If the key is empty, operator must be Exists."))
		}
		if exists && toleration.Value != "" {
			faults = append(faults, field.Invalid(at.Child("value"), toleration.Value,
				"If the operator is Exists, the value should be empty."))
		}
		switch toleration.Effect {
		case "", clusterv1.TaintEffectNoSelect, clusterv1.TaintEffectPreferNoSelect, clusterv1.TaintEffectNoSelectIfNew:
		default:
			faults = append(faults, field.NotSupported(at.Child("effect"), toleration.Effect, []clusterv1.TaintEffect{
				clusterv1.TaintEffectNoSelect, clusterv1.TaintEffectPreferNoSelect, clusterv1.TaintEffectNoSelectIfNew,
			}))
		}
		made := Toleration{Key: toleration.Key, Exists: exists, Value: toleration.Value, Effect: toleration.Effect}
		if toleration.TolerationSeconds != nil {
			made.Seconds = new(*toleration.TolerationSeconds) // the placement is not retained
		}
		out = append(out, made)
	}
	return out, faults
}
