package hub

import (
	"errors"
	"fmt"
	"os"
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
	dir                                    string
	hosts                                  []string // of the API server, beside its names in its own cluster
	users, etcd                            *pki.Authority
	agents, proxies                        *rotation.Authority
	former                                 *pki.Authority // signed users before and is still trusted; nil outside a rotation
	expired                                error          // names the former authority that is left out, because it has expired; else nil
	serving, proxy, etcdServer, etcdClient pki.Files
	signing                                string // the path of the key that signs service account tokens
	// the path of the key that signed them before and still verifies them; empty outside a rotation
	formerSigning string
	clientCAs     string // the path of the bundle with the authorities of users and agents
	proxyCAs      string // the path of the bundle with the authorities of the aggregator
	rootCAs       string // the path of the bundle that verifies the API server
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
	state, err := rotation.Advance(dir, now)
	if err != nil {
		return nil, err
	}
	k := &keys{dir: dir}
	if err := k.openTokenKeys(state); err != nil {
		return nil, err
	}
	if k.users, err = pki.Open(dir, state.Signing, now); err != nil {
		return nil, err
	}
	if k.agents, err = rotation.Open(dir, "agents-ca", now); err != nil {
		return nil, err
	}
	if k.proxies, err = rotation.Open(dir, "proxies-ca", now); err != nil {
		return nil, err
	}
	if k.etcd, err = openEtcdAuthority(dir, now); err != nil {
		return nil, err
	}
	if state.Former == "" {
		return k, nil
	}
	if k.former, err = pki.Existing(dir, state.Former, now); errors.Is(err, pki.ErrExpired) {
		k.expired, err = fmt.Errorf("the former CA %s in %s: %w, so the hub trusts it no more; end the rotation with `berth-hub ca drop`",
			state.Former, dir, pki.ErrExpired), nil
	}
	return k, err
}

// openTokenKeys opens the keys of tokens. A former key may be removed by hand.
func (k *keys) openTokenKeys(state rotation.State) (err error) {
	if k.signing, err = pki.SigningKey(k.dir, state.TokenKey); err != nil || state.FormerTokenKey == "" {
		return err
	}
	former := filepath.Join(k.dir, state.FormerTokenKey+".key")
	if _, err := os.Stat(former); err == nil {
		k.formerSigning = former
	}
	return nil
}

// openEtcdAuthority replaces the authority of etcd at a start of the hub, once half of its life has passed. No client of etcd outlives the
// hub, and etcd reads its authority once.
func openEtcdAuthority(dir string, now time.Time) (*pki.Authority, error) {
	out, err := rotation.Open(dir, "etcd-ca", now)
	if err != nil {
		return nil, err
	}
	if !out.Due(now) {
		return out.Signing(), nil
	}
	if err := out.Prepare(now); err != nil {
		return nil, err
	}
	if err := out.Promote(now); err != nil {
		return nil, err
	}
	return out.Signing(), nil
}

// issueKeys opens the authorities in dir and replaces all other certificates. The API server is known by the names of a service
// in its own cluster and by hosts.
func issueKeys(dir string, hosts []string, clock clock.PassiveClock) (*keys, error) {
	k, err := openAuthorities(dir, clock.Now())
	if err != nil {
		return nil, err
	}
	k.hosts = hosts
	k.clientCAs, k.proxyCAs, k.rootCAs = filepath.Join(dir, "client-cas.crt"), filepath.Join(dir, "proxy-cas.crt"),
		filepath.Join(dir, "root-cas.crt")
	if err := pki.WriteFile(k.rootCAs, k.trusted()); err != nil {
		return nil, err
	}
	if err := k.writeBundles(); err != nil {
		return nil, err
	}
	return k, k.issue(clock.Now())
}

// writeBundles writes the authorities that clients may have. The API server reads them again when they change.
func (k *keys) writeBundles() error {
	return errors.Join(
		pki.WriteFile(k.clientCAs, append(k.trusted(), k.agents.Bundle()...)),
		pki.WriteFile(k.proxyCAs, k.proxies.Bundle()),
	)
}

// issue replaces the certificates of the servers and of the API server as a client. All of them are read again when they change.
func (k *keys) issue(now time.Time) error {
	names := []string{
		"127.0.0.1", "::1", "localhost", "kubernetes",
		"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "10.0.0.1",
	}
	for _, host := range k.hosts {
		if !slices.Contains(names, host) {
			names = append(names, host)
		}
	}
	chain, err := k.chain()
	if err != nil {
		return err
	}
	end := now.Add(certificateLife)
	var errs [4]error
	serving, err := k.users.Server(end, names...)
	serving.Cert = append(serving.Cert, chain...)
	k.serving, errs[0] = stored(k.dir, "serving")(serving, err)
	k.proxy, errs[1] = stored(k.dir, "proxy")(k.proxies.Signing().Client(end, proxyUser))
	k.etcdServer, errs[2] = stored(k.dir, "etcd-server")(k.etcd.Server(end, "127.0.0.1", "localhost"))
	k.etcdClient, errs[3] = stored(k.dir, "etcd-client")(k.etcd.Client(end, "kube-apiserver"))
	return errors.Join(errs[:]...)
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
