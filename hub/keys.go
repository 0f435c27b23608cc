package hub

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/internal/pki"
	"github.com/berth-project/berth/hub/internal/rotation"
)

// proxyUser is the name under which the API server calls aggregated APIs.
const proxyUser = "berth-hub-aggregator"

// keys are the hub's certificates on disk. There are four authorities, because trust in one must not extend to another. A user
// must not act as the aggregator, which may impersonate any user. A user must not reach etcd, which checks no permission. The
// key that signs agents is used online, and must not sign a serving certificate or a system user.
type keys struct {
	users, agents, proxies, etcd           *pki.Authority
	former                                 *pki.Authority // signed users before and is still trusted; nil outside a rotation
	expired                                error          // names the former authority that is left out, because it has expired; else nil
	serving, proxy, etcdServer, etcdClient pki.Files
	signing                                string // the path of the key that signs service account tokens
	clientCAs                              string // the path of the bundle with the authorities of users and agents
	rootCAs                                string // the path of the bundle that verifies the API server
}

// trusted returns the bundle that verifies the API server and users. The authority that signs is the first.
func (k *keys) trusted() []byte {
	if k.former == nil {
		return k.users.CertPEM()
	}
	return append(k.users.CertPEM(), k.former.CertPEM()...)
}

// chain returns what the API server presents beside its certificate: its authorities, because agents verify one by its hash at
// their first contact. During a rotation, clients that trust only the former authority follow the certificate that it signed for
// the new one. That is the first, because some clients try no other.
func (k *keys) chain() ([]byte, error) {
	if k.former == nil {
		return k.trusted(), nil
	}
	out, err := k.former.Certify(k.users)
	return append(out, k.trusted()...), err
}

// openAuthorities opens the authorities in dir, and creates those that are missing but the former one. It takes the next step of a
// rotation. A former authority that has expired is left out: no client can use it, and it must not stop the hub.
func openAuthorities(dir string, now time.Time) (*keys, error) {
	state, err := rotation.Advance(dir)
	if err != nil {
		return nil, err
	}
	k := &keys{}
	for name, authority := range map[string]**pki.Authority{
		state.Signing: &k.users, "agents-ca": &k.agents, "proxies-ca": &k.proxies, "etcd-ca": &k.etcd,
	} {
		if *authority, err = pki.Open(dir, name, now); err != nil {
			return nil, err
		}
	}
	if state.Former == "" {
		return k, nil
	}
	if k.former, err = pki.Existing(dir, state.Former, now); errors.Is(err, pki.ErrExpired) {
		k.expired, err = fmt.Errorf("the former CA %s in %s: %w, so the hub trusts it no more; end the rotation with `berth-hub ca drop`", state.Former, dir, pki.ErrExpired), nil
	}
	return k, err
}

// issueKeys opens the authorities in dir and replaces all other certificates. The API server is known by the names of a service
// in its own cluster and by hosts.
func issueKeys(dir string, hosts []string, clock clock.PassiveClock) (*keys, error) {
	k, err := openAuthorities(dir, clock.Now())
	if err != nil {
		return nil, err
	}
	if k.signing, err = pki.SigningKey(dir, "service-accounts"); err != nil {
		return nil, err
	}
	k.clientCAs, k.rootCAs = filepath.Join(dir, "client-cas.crt"), filepath.Join(dir, "root-cas.crt")
	for path, bundle := range map[string][]byte{k.clientCAs: append(k.trusted(), k.agents.CertPEM()...), k.rootCAs: k.trusted()} {
		if err := pki.WriteFile(path, bundle); err != nil {
			return nil, err
		}
	}
	names := []string{
		"127.0.0.1", "::1", "localhost", "kubernetes",
		"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "10.0.0.1",
	}
	for _, host := range hosts {
		if !slices.Contains(names, host) {
			names = append(names, host)
		}
	}
	chain, err := k.chain()
	if err != nil {
		return nil, err
	}
	var errs [4]error
	serving, err := k.users.Server(names...)
	serving.Cert = append(serving.Cert, chain...)
	k.serving, errs[0] = stored(dir, "serving")(serving, err)
	k.proxy, errs[1] = stored(dir, "proxy")(k.proxies.Client(proxyUser))
	k.etcdServer, errs[2] = stored(dir, "etcd-server")(k.etcd.Server("127.0.0.1", "localhost"))
	k.etcdClient, errs[3] = stored(dir, "etcd-client")(k.etcd.Client("kube-apiserver"))
	return k, errors.Join(errs[:]...)
}

// stored returns a function that writes a signed pair.
func stored(dir, name string) func(pki.Pair, error) (pki.Files, error) {
	return func(pair pki.Pair, err error) (pki.Files, error) {
		if err != nil {
			return pki.Files{}, err
		}
		return pair.Write(dir, name)
	}
}
