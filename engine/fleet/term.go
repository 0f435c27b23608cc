package fleet

import "strconv"

// Term is one condition on a cluster: it exists, has a taint, or has a label or claim, with or without a certain value.
// The snapshot keeps the set of clusters of each term. Equal conditions are equal strings; their form is private to
// this package.
//
// TermName and TermChangedValue are transient: ChangedTerms returns them, ClustersWith does not have them. Stored, each
// would be one set for every cluster.
type Term string

const (
	// TermExists holds for every cluster.
	TermExists Term = "e"
	// TermTainted holds for every cluster with at least one taint.
	TermTainted Term = "t"
	// TermTerminating holds for every cluster that is being deleted.
	TermTerminating Term = "d"
	// TermWithdrawing holds for every cluster with a label or claim that is being withdrawn.
	TermWithdrawing Term = "w"
)

// Source is where a requirement looks: at the labels, the claims or the name of a cluster.
type Source uint8

const (
	// Label is a key of metadata.labels.
	Label Source = iota + 1
	// Claim is a name in status.clusterClaims.
	Claim
	// Name is metadata.name, which has no key.
	Name
)

// String returns "label", "claim" or "name".
func (s Source) String() string {
	switch s {
	case Claim:
		return "claim"
	case Name:
		return "name"
	default:
		return "label"
	}
}

// TermKey is the term "has a label (claim) of this key", whatever its value.
func TermKey(source Source, key string) Term {
	if source == Claim {
		return Term("c" + key)
	}
	return Term("l" + key)
}

// TermKeyValue is the term "has a label (claim) of this key with this value". The name of a claim may hold any character,
// so the term starts with the length of the name.
func TermKeyValue(source Source, key, value string) Term {
	if source == Claim {
		return Term("C" + strconv.Itoa(len(key)) + ":" + key + value)
	}
	return Term("L" + key + "\x00" + value)
}

// TermName is the term "is the cluster of this name". It is transient, for a cluster that comes or goes.
func TermName(name string) Term { return Term("n" + name) }

// TermChangedValue is the term "has the value that it has for the label (claim) of this key". It is transient, for a
// value that changes, comes or goes.
func TermChangedValue(source Source, key string) Term { return "v" + TermKey(source, key) }
