package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/member"
)

const (
	// maxCustomClaims bounds the claims that are not reserved.
	maxCustomClaims = 20
	// maxClaimName and maxClaimValue are the limits of the ManagedCluster, in characters. The hub refuses the whole status for
	// one claim above them.
	maxClaimName, maxClaimValue = 253, 1024
	// namesInMessage bounds the names in the message of a condition.
	namesInMessage = 3
)

// reservedClaims are always reported, before the others.
func reservedClaims() []string {
	return []string{
		clusterv1.ClaimID, clusterv1.ClaimKubeVersion, clusterv1.ClaimPlatform, clusterv1.ClaimProduct,
		clusterv1.ClaimRegion, clusterv1.ClaimZone,
	}
}

// Omitted are claims that are not reported, by name.
type Omitted struct {
	// TooLong have a name or a value above the limits, or no value. OverLimit are those after the first 20.
	TooLong, OverLimit []string
}

// Claims returns the claims to report, and the claims that are left out. The reserved claims come first and then the others,
// each sorted by name. A ClusterProperty wins over a ClusterClaim of its name, and both win over a derived claim.
func Claims(facts member.Facts) ([]clusterv1.ManagedClusterClaim, Omitted) {
	var omitted Omitted
	values := derived(facts)
	for _, found := range []map[string]string{facts.Claims, facts.Properties} {
		for name, value := range found {
			if fits(name, value) {
				values[name] = value
			} else {
				omitted.TooLong = append(omitted.TooLong, name)
			}
		}
	}
	slices.Sort(omitted.TooLong)
	omitted.TooLong = slices.Compact(omitted.TooLong)
	var reserved, custom []clusterv1.ManagedClusterClaim
	for _, name := range slices.Sorted(maps.Keys(values)) {
		claim := clusterv1.ManagedClusterClaim{Name: name, Value: values[name]}
		switch {
		case slices.Contains(reservedClaims(), name):
			reserved = append(reserved, claim)
		case len(custom) < maxCustomClaims:
			custom = append(custom, claim)
		default:
			omitted.OverLimit = append(omitted.OverLimit, name)
		}
	}
	return append(reserved, custom...), omitted
}

func fits(name, value string) bool {
	length := utf8.RuneCountInString(value)
	return utf8.RuneCountInString(name) <= maxClaimName && length >= 1 && length <= maxClaimValue
}

// message describes the claims that are left out; empty where all are reported.
func (o Omitted) message() string {
	var parts []string
	if len(o.TooLong) > 0 {
		parts = append(parts, fmt.Sprintf("%d without a value of 1 to %d characters: %s", len(o.TooLong), maxClaimValue, firstNames(o.TooLong)))
	}
	if len(o.OverLimit) > 0 {
		parts = append(parts, fmt.Sprintf("%d above the limit of %d: %s", len(o.OverLimit), maxCustomClaims, firstNames(o.OverLimit)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Claims that are not reported, so that placements do not see them: " + strings.Join(parts, "; ")
}

func firstNames(names []string) string {
	if len(names) <= namesInMessage {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namesInMessage], ", "), len(names)-namesInMessage)
}
