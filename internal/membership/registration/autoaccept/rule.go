// Package autoaccept owns the rules by which the hub accepts clusters without an administrator.
//
// A rule names who may request the first certificate of a cluster, and which clusters. It writes nothing. The invariant: a cluster that
// was accepted, denied or reported before is never accepted by a rule.
package autoaccept

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// MaxRules is how many rules a manager may have.
	MaxRules = 32
	// maxPattern bounds the pattern of names, in characters.
	maxPattern = 256
	defaultSet = "default"
)

var (
	errRequester = errors.New("give one requester, as user=NAME or group=NAME")
	errName      = errors.New("give name=PATTERN, of at most 256 characters")
	errField     = errors.New("fields are user=, group=, name= and set=, separated by semicolons, each once")
)

// Rule accepts clusters whose names match, in one set, on the request of one user or of the members of one group.
type Rule struct {
	text             string
	user, group, set string
	name             *regexp.Regexp
}

// Parse returns the rule in a text, such as "group=system:serviceaccounts:berth-join;name=edge-[0-9]+;set=edge". The pattern matches
// whole names. Without a set, the rule is for the set default.
func Parse(text string) (Rule, error) {
	fields := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		key, value, ok := strings.Cut(part, "=")
		if _, known := fields[key]; !ok || known || value == "" || !slices.Contains([]string{"user", "group", "name", "set"}, key) {
			return Rule{}, fmt.Errorf("%q: %w", text, errField)
		}
		fields[key] = value
	}
	pattern := fields["name"]
	switch {
	case (fields["user"] == "") == (fields["group"] == ""):
		return Rule{}, fmt.Errorf("%q: %w", text, errRequester)
	case pattern == "" || len(pattern) > maxPattern:
		return Rule{}, fmt.Errorf("%q: %w", text, errName)
	}
	name, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return Rule{}, fmt.Errorf("%q: reading the pattern of names: %w", text, err)
	}
	return Rule{text: text, user: fields["user"], group: fields["group"], set: cmp.Or(fields["set"], defaultSet), name: name}, nil
}

// String returns the text of the rule.
func (r Rule) String() string { return r.text }

// Accepts reports whether the rule accepts a cluster on a certificate request for it. The API server has recorded the requester.
func (r Rule) Accepts(cluster *clusterv1.ManagedCluster, request *certificatesv1.CertificateSigningRequest) bool {
	return undecided(cluster, request.Spec.Username) && r.name.MatchString(cluster.Name) &&
		cmp.Or(cluster.Labels[clusterv1beta2.ClusterSetLabel], defaultSet) == r.set &&
		(r.user != "" && r.user == request.Spec.Username || r.group != "" && slices.Contains(request.Spec.Groups, r.group))
}

// undecided reports whether no administrator and no rule has decided on a cluster, and no other requester or member is recorded.
func undecided(cluster *clusterv1.ManagedCluster, requester string) bool {
	_, acceptedBefore := cluster.Annotations[clusterv1.ClusterAcceptedAnnotationKey]
	recorded := cluster.Annotations[clusterv1.JoinRequesterAnnotationKey]
	return !cluster.Spec.HubAcceptsClient && !registration.Denied(cluster) && !registration.SimulationRequested(cluster) && !acceptedBefore &&
		cluster.DeletionTimestamp.IsZero() && cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] == "" &&
		(recorded == "" || recorded == requester)
}
