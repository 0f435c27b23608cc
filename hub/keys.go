package hub

import (
	"errors"
	"path/filepath"
	"slices"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/internal/pki"
)

// proxyUser is the name under which the API server calls aggregated APIs.
const proxyUser = "berth-hub-aggregator"

// usersAuthority is the name of the authority that signs users.
const usersAuthority = "users-ca"

// keys are the hub's certificates on disk. There are four authorities, because trust in one must not extend to another. A user
// must not act as the aggregator, which may impersonate any user. A user must not reach etcd, which checks no permission. The
// key that signs agents is used online, and must not sign a serving certificate or a system user.
type keys struct {
	users, agents, proxies, etcd           *pki.Authority
	serving, proxy, etcdServer, etcdClient pki.Files
	signing                                string // the path of the key that signs service account tokens
	clientCAs                              string // the path of the bundle with the authorities of users and agents
}

// issueKeys opens the authorities in dir and replaces all other certificates. The API server is known by the names of a service
// in its own cluster and by hosts.
func issueKeys(dir string, hosts []string, clock clock.PassiveClock) (*keys, error) {
	var err error
	k := &keys{}
	for name, authority := range map[string]**pki.Authority{
		usersAuthority: &k.users, "agents-ca": &k.agents, "proxies-ca": &k.proxies, "etcd-ca": &k.etcd,
	} {
		if *authority, err = pki.Open(dir, name, clock.Now()); err != nil {
			return nil, err
		}
	}
	if k.signing, err = pki.SigningKey(dir, "service-accounts"); err != nil {
		return nil, err
	}
	k.clientCAs = filepath.Join(dir, "client-cas.crt")
	if err := pki.WriteFile(k.clientCAs, append(k.users.CertPEM(), k.agents.CertPEM()...)); err != nil {
		return nil, err
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
	var errs [4]error
	serving, err := k.users.Server(names...)
	serving.Cert = append(serving.Cert, k.users.CertPEM()...) // agents verify the authority by its hash at their first contact
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
