package endtoend

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// tlsProxy is a proxy with TLS between an agent and its hubs. It forwards connections and reads nothing in them.
type tlsProxy struct {
	server *httptest.Server

	mu sync.Mutex
	// opened are how many connections were made to each address.
	opened map[string]int
}

func newTLSProxy(t *testing.T) *tlsProxy {
	t.Helper()
	out := &tlsProxy{opened: map[string]int{}}
	out.server = httptest.NewUnstartedServer(out)
	out.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	out.server.StartTLS()
	t.Cleanup(out.server.Close)
	return out
}

// between returns a kubeconfig whose clients use the proxy. Its bundle verifies the proxy and the hub.
func (p *tlsProxy) between(t *testing.T, kubeconfig []byte) []byte {
	t.Helper()
	config := kit.Must(clientcmd.Load(kubeconfig)).In(t)
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	for _, cluster := range config.Clusters {
		cluster.ProxyURL = p.server.URL
		cluster.CertificateAuthorityData = slices.Concat(cluster.CertificateAuthorityData, own)
	}
	out := kit.Must(clientcmd.Write(*config)).In(t)
	return out
}

// connections returns how many connections were made to an address.
func (p *tlsProxy) connections(address string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened[address]
}

// ServeHTTP implements http.Handler.
func (p *tlsProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hijacker, ok := w.(http.Hijacker)
	if r.Method != http.MethodConnect || !ok {
		http.Error(w, "only CONNECT is served", http.StatusMethodNotAllowed)
		return
	}
	to, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer to.Close()
	from, buffered, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	p.mu.Lock()
	p.opened[r.Host]++
	p.mu.Unlock()
	if _, err := io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	var copying sync.WaitGroup
	for _, pair := range []struct {
		to   net.Conn
		from io.Reader
	}{{to, buffered}, {from, to}} {
		copying.Go(func() {
			_, _ = io.Copy(pair.to, pair.from) // its end is all that matters
			_ = pair.to.Close()
		})
	}
	copying.Wait()
}
