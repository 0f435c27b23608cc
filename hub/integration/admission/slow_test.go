//go:build slow

package admission

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCertificateFromFiles serves a certificate from files and replaces it, as cert-manager does. The CAs of both are trusted
// together, so no request fails.
func TestCertificateFromFiles(t *testing.T) {
	for sentence, issue := range map[string]func(*testing.T) (certificate, key, authorities []byte){
		"a certificate of a CA": certificateOfCA, "a certificate of an issuer without a CA": selfSignedCertificate,
	} {
		t.Run(sentence, func(t *testing.T) { checkCertificateFromFiles(t, issue) })
	}
}

// TestManyLabels checks that the match condition works with as many labels as an agent may write. The webhook sends at most one review
// for each distinct permission, however many labels need it.
func TestManyLabels(t *testing.T) {
	requireWebhooks(t)
	const number, reserved = 1000, "info.open-cluster-management.io/"
	many := func(prefix, value string) (pairs, rights []string) {
		for i := range number {
			key := prefix + "label-" + strconv.Itoa(i)
			pairs, rights = append(pairs, key, value), append(rights, key+":*")
		}
		return pairs, rights
	}
	_, each := many(reserved, "")
	one := newUser(t, "agent", []rule{allVerbsOn("managedclusters"), grantNamed("create", "managedclusters/label", "*")})
	several := newUser(t, "agent", []rule{allVerbsOn("managedclusters"), grantNamed("create", "managedclusters/label", each...)})
	for name, tc := range map[string]struct {
		caller *user
		prefix string
		rights float64 // the permissions to review at each change
	}{
		"free labels":                               {one, "feature.example.com/", 0},
		"labels of the longest key":                 {one, strings.Repeat("a.", 120) + "a/", 0},
		"reserved labels, by one right":             {one, reserved, 1},
		"reserved labels, by a right to each label": {several, reserved, number + 1}, // the broadest is reviewed first
	} {
		t.Run(name, func(t *testing.T) {
			object := cluster("c-"+unique(), labels(setLabel, "dev"))
			admin(t).mustCreate(t, object)
			for _, value := range []string{"a", "b"} {
				pairs, _ := many(tc.prefix, value)
				before, began := accessReviews(t), time.Now()
				err := tc.caller.update(t, object, "", labels(append(pairs, setLabel, "dev")...))
				check(t, err, 0, "")
				reviews := accessReviews(t) - before
				t.Logf("took %s and %v reviews", time.Since(began), reviews)
				if reviews > tc.rights {
					t.Errorf("%v reviews of %v distinct rights", reviews, tc.rights)
				}
			}
		})
	}
}
