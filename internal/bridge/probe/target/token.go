package target

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/credential"
)

// maxTokenBytes bounds a renewed token, so that its Secret stays below the limit.
const maxTokenBytes = 16 << 10

// Account is a service account of a member, and when its token is valid.
type Account struct {
	Namespace, Name string
	From, Until     time.Time
}

// ReadAccount returns the account that a token states, and false for a token that cannot be renewed: of another user, or without an
// end. The member verifies the token, the hub only plans with it.
func ReadAccount(token string) (Account, bool) {
	found, err := credential.Credential{Token: token}.Validity()
	if err != nil {
		return Account{}, false
	}
	namespace, name, err := serviceaccount.SplitUsername(found.User)
	if err != nil {
		return Account{}, false
	}
	return Account{namespace, name, found.From, found.Until}, true
}

// Tokens returns the resource of the tokens of the account.
func (a Account) Tokens() client.Object { return client.AccountToken(a.Namespace, a.Name) }

func (a Account) tokenPath() string { return a.Tokens().Path() }

// Renews returns whether a token can take the place of another: it is of the same account.
func Renews(former, next string) bool {
	before, ok := ReadAccount(former)
	after, valid := ReadAccount(next)
	return ok && valid && before.Namespace == after.Namespace && before.Name == after.Name && len(next) <= maxTokenBytes && isToken(next)
}

// isToken returns whether a text has only the characters of a token: it becomes a header.
func isToken(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Hash returns the SHA-256 of a token in hexadecimal digits. A token has far too many random bits to be found by its hash.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
