package hub

import (
	"errors"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/internal/pki"
)

// proxyUser is the name under which the API server calls aggregated APIs.
const proxyUser = "berth-hub-aggregator"

// usersAuthority is the name of the authority that signs users.
const usersAuthority = "users-ca"

// keys are the hub's certificates on disk. There are three authorities, because trust in one must not extend to another. A user
// must not act as the aggregator, which may impersonate any user. A user must not reach etcd, which checks no permission.
type keys struct {
	users, proxies, etcd                   *pki.Authority
	serving, proxy, etcdServer, etcdClient pki.Files
	signing                                string // the path of the key that signs service account tokens
}

// issueKeys opens the authorities in dir and replaces all other certificates.
func issueKeys(dir string, clock clock.PassiveClock) (*keys, error) {
	var err error
	k := &keys{}
	for name, authority := range map[string]**pki.Authority{usersAuthority: &k.users, "proxies-ca": &k.proxies, "etcd-ca": &k.etcd} {
		if *authority, err = pki.Open(dir, name, clock.Now()); err != nil {
			return nil, err
		}
	}
	if k.signing, err = pki.SigningKey(dir, "service-accounts"); err != nil {
		return nil, err
	}
	var errs [4]error
	k.serving, errs[0] = stored(dir, "serving")(k.users.Server("127.0.0.1", "::1", "localhost", "kubernetes",
		"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "10.0.0.1"))
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
