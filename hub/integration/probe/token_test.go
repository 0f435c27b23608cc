package probe

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

var (
	errAccepted  = errors.New("the member still accepts the first token")
	errAllowed   = errors.New("the account may still create tokens")
	errNotStored = errors.New("the Secret has no renewed token")
)

func (c *cluster) awaitRenewedToken() {
	c.t.Helper()
	c.Await("the renewed token is stored", func(ctx context.Context) error {
		secret := &corev1.Secret{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: c.name}, secret)
		if err == nil && len(secret.Data["renewed-token"]) == 0 {
			err = errNotStored
		}
		return err
	})
}

// refused returns an error while the member accepts a token.
func (c *cluster) refused(ctx context.Context, token string) error {
	config := member.Config()
	config.BearerToken, config.CertData, config.KeyData, config.CertFile, config.KeyFile = token, nil, nil, "", ""
	system := &corev1.Namespace{}
	if kit.For(c.t, config).Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system) == nil {
		return errAccepted
	}
	return nil
}

// tokenUntil returns a token of the probe's account that ends at a time, and whose half is over. An API server issues no token as short.
func tokenUntil(t *testing.T, ends time.Time) string {
	t.Helper()
	parts := strings.Split(memberToken(t), ".")
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{}
	kit.NoError(t, json.Unmarshal(text, &claims))
	begins := ends.Add(-10 * time.Minute).Unix()
	claims["iat"], claims["nbf"], claims["exp"] = begins, begins, ends.Unix()
	if text, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(text)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature(t, signed))
}

// signature returns the signature of a text by the key of the member's tokens.
func signature(t *testing.T, text string) []byte {
	t.Helper()
	found := kit.Must(keyutil.PrivateKeyFromFile(filepath.Join(memberData, "pki", "service-accounts.key"))).In(t)
	key, ok := found.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("the key of the tokens is a %T", found)
	}
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out
}
