package fleet

// Term names one thing that may be true of a cluster: that it exists, has a taint, or has a label or claim, with or
// without a certain value. The snapshot keeps for each term the set of clusters for which it holds. Two terms are
// the same thing exactly when they are the same string; its form is private to this package.
type Term string

const (
	// TermExists holds for every cluster.
	TermExists Term = "e"
	// TermTainted holds for every cluster with at least one taint.
	TermTainted Term = "t"
	// TermTerminating holds for every cluster that is being deleted.
	TermTerminating Term = "d"
)

// Source says where a requirement looks: at the labels or at the claims of a cluster.
type Source uint8

const (
	// Label is a key of metadata.labels.
	Label Source = iota + 1
	// Claim is a name in status.clusterClaims.
	Claim
)

// String returns "label" or "claim".
func (s Source) String() string {
	if s == Claim {
		return "claim"
	}
	return "label"
}

// TermKey is the term "has a label (claim) of this key", whatever its value.
func TermKey(source Source, key string) Term {
	if source == Claim {
		return Term("c" + key)
	}
	return Term("l" + key)
}

// TermPair is the term "has a label (claim) of this key with this value".
func TermPair(source Source, key, value string) Term {
	if source == Claim {
		return Term("C" + key + "\x00" + value)
	}
	return Term("L" + key + "\x00" + value)
}
