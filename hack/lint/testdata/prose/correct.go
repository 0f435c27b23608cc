// Package prose holds comments without a violation: `nobody` in a code span, and a block:
//
//	whoever asks is told; nobody is one that knows
package prose

// Kind is a kind of cluster.
// +kubebuilder:validation:XValidation:rule="self.a == self.b || (has(self.c) && self.c in self.d && self.e != self.f && self.g.all(x, x in self.h)) || !has(self.i)",message="no"
type Kind string
