package boundary

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// blockCiphers are the ciphers of TLS 1.2 without authenticated encryption (CBC).
var blockCiphers = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_128_GCM_SHA256,
}

// TestWeakTLSIsRefused attempts handshakes with the servers of the hub. The API server accepts TLS 1.2 with authenticated
// encryption, and newer versions. The manager accepts TLS 1.3 only.
func TestWeakTLSIsRefused(t *testing.T) {
	for server, address := range map[string]string{
		"the API server": hostOf(t, shared.Config().Host),
		"the webhooks":   hostOf(t, webhookURL(t)),
		"the views":      fmt.Sprintf("127.0.0.1:%v", viewPort(t)),
	} {
		api := server == "the API server"
		for attempt, test := range map[string]struct {
			config *tls.Config
			want   bool
		}{
			"TLS 1.0": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, false},
			"TLS 1.1": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false},
			"TLS 1.2, no AEAD cipher": {
				&tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, CipherSuites: blockCiphers},
				false,
			},
			"TLS 1.2, all ciphers of clients": {&tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}, api},
			"TLS 1.3":                         {&tls.Config{MinVersion: tls.VersionTLS13}, true},
		} {
			t.Run(server+"/"+attempt, func(t *testing.T) {
				test.config.InsecureSkipVerify = true // the test is about protocols only
				dialer := &tls.Dialer{Config: test.config}
				connection, err := dialer.DialContext(t.Context(), "tcp", address)
				if err == nil {
					defer connection.Close()
				}
				if (err == nil) != test.want {
					t.Errorf("the handshake: %v, want success %t", err, test.want)
				}
			})
		}
	}
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	parsed := kit.Must(url.Parse(address)).In(t)
	return parsed.Host
}

func webhookURL(t *testing.T) string {
	t.Helper()
	hooks := getObject(t, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/berth").at("webhooks").([]any)
	return object(hooks[0].(map[string]any)).at("clientConfig.url").(string)
}

func viewPort(t *testing.T) any {
	t.Helper()
	return getObject(t, "/apis/apiregistration.k8s.io/v1/apiservices/v1.view.cluster.open-cluster-management.io").at("spec.service.port")
}
