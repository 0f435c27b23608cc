package registration

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// HandOverName is the name of the Secret that hands an agent over to another hub, in the namespace of its cluster. The Role and the
// RoleBinding by which the agent reads it have the same name.
const HandOverName = "berth-hand-over"

// Keys of the Secret.
const (
	serverKey = "server"
	caKey     = "ca.crt"
	tokenKey  = "token"
)

// Reasons why a hand-over is not followed.
var (
	errHandOverHash   = errors.New("the Secret " + HandOverName + " does not have the hash that the ManagedCluster records")
	errHandOverServer = errors.New("the URL of the next hub is not of the form https://HOST:PORT")
	errHandOverToken  = errors.New("the Secret " + HandOverName + " has no token")
)

// OriginalUID returns the UID of an object on the hub where it was created. It stays the same when the hub moves to another Kubernetes. The
// original UID of its ManagedCluster identifies the hub of an agent, whatever the URL of the hub.
func OriginalUID(object metav1.Object) string {
	return cmp.Or(object.GetAnnotations()[clusterv1.OriginalUIDAnnotationKey], string(object.GetUID()))
}

// HandOver is how an agent reaches the hub that it is handed over to: the URL, the CA bundle in PEM, and a join token of its cluster.
type HandOver struct {
	Server string
	CA     []byte
	Token  string
}

// Data returns the content of the Secret.
func (h HandOver) Data() map[string][]byte {
	return map[string][]byte{serverKey: []byte(h.Server), caKey: h.CA, tokenKey: []byte(h.Token)}
}

// Hash returns the SHA-256 hash of all fields, for the annotation of the ManagedCluster.
func (h HandOver) Hash() string {
	sum := sha256.New()
	for _, field := range []string{h.Server, string(h.CA), h.Token} {
		sum.Write(fmt.Appendf(nil, "%d:%s", len(field), field))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ReadHandOver returns the hand-over of a Secret, and an error unless it has the hash of the annotation. Only a user who may write both
// the Secret and the ManagedCluster can hand an agent over.
func ReadHandOver(data map[string][]byte, hash string) (HandOver, error) {
	out := HandOver{Server: string(data[serverKey]), CA: data[caKey], Token: string(data[tokenKey])}
	if out.Hash() != hash {
		return HandOver{}, errHandOverHash
	}
	if out.Token == "" {
		return HandOver{}, errHandOverToken
	}
	return out, CheckHub(out.Server, out.CA)
}

// CheckHub returns why an agent cannot be handed over to a hub with a URL and a CA bundle. An agent without a bundle would accept a hub of
// any CA of its system.
func CheckHub(server string, ca []byte) error {
	at, err := url.Parse(server)
	if err != nil || at.Scheme != "https" || at.Hostname() == "" || at.User != nil {
		return fmt.Errorf("%w: %q", errHandOverServer, server)
	}
	if _, err := CABundle(ca); err != nil {
		return fmt.Errorf("the CA of the next hub: %w", err)
	}
	return nil
}
