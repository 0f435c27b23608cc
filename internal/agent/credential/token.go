package credential

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

var errNoToken = errors.New("it is no JSON Web Token with a subject and times")

// Validity is the user of a credential, and when it is valid.
type Validity struct {
	User        string
	From, Until time.Time
}

// Validity returns what the certificate or the token states. The hub verifies it, the agent only plans with it.
func (c Credential) Validity() (Validity, error) {
	if c.Token != "" {
		return parseToken(c.Token)
	}
	leaf, err := c.Leaf()
	if err != nil {
		return Validity{}, err
	}
	return Validity{leaf.Subject.CommonName, leaf.NotBefore, leaf.NotAfter}, nil
}

// parseToken reads the claims of a token, without its signature, which only the hub can verify.
func parseToken(token string) (Validity, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 { //nolint:mnd // header, claims, signature
		return Validity{}, fmt.Errorf("parsing the token: %w", errNoToken)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Validity{}, fmt.Errorf("parsing the token: %w", err)
	}
	var claims struct {
		Subject string `json:"sub"`
		Issued  int64  `json:"iat"`
		Expires int64  `json:"exp"`
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		return Validity{}, fmt.Errorf("parsing the token: %w", err)
	}
	if claims.Subject == "" || claims.Expires <= claims.Issued {
		return Validity{}, fmt.Errorf("parsing the token: %w", errNoToken)
	}
	return Validity{claims.Subject, time.Unix(claims.Issued, 0), time.Unix(claims.Expires, 0)}, nil
}
