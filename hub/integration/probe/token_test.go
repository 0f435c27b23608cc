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

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestATokenIsRenewedBeforeItExpires: the probe replaces a token near its end, and stores the new token. When the first token
// has expired the member is still read, also by a manager that starts later.
func TestATokenIsRenewedBeforeItExpires(t *testing.T) {
	manager := startManager(t)
	c := newCluster(t, "renewed")
	c.awaitCondition(clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionTrue, "") // the manager runs
	ends := time.Now().Add(30 * time.Second)
	given := tokenUntil(t, ends)
	c.setSecret(kubeconfig(t, member.Config().Host, given))
	c.awaitProbed(metav1.ConditionTrue, "Probing")
	c.awaitRenewedToken()
	c.Await("the given token is refused", func(ctx context.Context) error { return c.refused(ctx, given) })
	c.awaitRenewal()
	manager.Stop()
	startManager(t)
	c.awaitRenewal()
	c.awaitProbed(metav1.ConditionTrue, "Probing")
}

// TestATokenThatCannotBeRenewed: without the Role the member is read until the token expires, and the condition states it before. A
// Secret with another token ends it.
func TestATokenThatCannotBeRenewed(t *testing.T) {
	startManagerWith(t, hubtest.ManagerOptions{AllowErrors: true}) // the refusals of the member
	c, to := newCluster(t, "not-renewed"), kit.New(t, member)
	binding := &rbacv1.RoleBinding{}
	to.MustGet(client.ObjectKey{Namespace: namespace, Name: "berth-probe-token"}, binding)
	to.MustDelete(binding)
	t.Cleanup(func() {
		binding.ResourceVersion = ""
		if err := to.Create(context.WithoutCancel(t.Context()), binding); err != nil {
			t.Error(err)
		}
	})
	c.Await("the account may not create tokens", func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{}
		review.Spec.User = "system:serviceaccount:berth-probe:berth-probe"
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "create", Resource: "serviceaccounts", Subresource: "token", Name: "berth-probe",
		}
		err := to.Create(ctx, review)
		if err == nil && review.Status.Allowed {
			err = errAllowed
		}
		return err
	})
	c.setSecret(kubeconfig(t, member.Config().Host, tokenUntil(t, time.Now().Add(60*time.Second))))
	c.awaitProbed(metav1.ConditionTrue, "TokenNotRenewed: Secret berth-probe/not-renewed: the hub reads the member")
	c.awaitProbed(metav1.ConditionFalse, "Unauthorized")
	c.setSecret(kubeconfig(t, member.Config().Host, memberToken(t)))
	c.awaitProbed(metav1.ConditionTrue, "Probing")
}

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
