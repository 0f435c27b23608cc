package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

const (
	// loads is how many different loads there are at first, from 0 up.
	loads = 40
	// scrapeTimeout is far longer than the time between two scrapes.
	scrapeTimeout = 2 * time.Minute
)

// clusterLoad is an exporter of the load of clusters, from 0 to 100.
type clusterLoad struct {
	address string
	server  *http.Server
	names   []string

	mu     sync.Mutex
	added  float64
	served int
}

func newClusterLoad(ctx context.Context, clusters []*clusterv1.ManagedCluster) (*clusterLoad, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("exporting the load of clusters: %w", err)
	}
	out := &clusterLoad{address: listener.Addr().String()}
	for _, cluster := range clusters {
		out.names = append(out.names, cluster.Name)
	}
	out.server = &http.Server{Handler: out, ReadHeaderTimeout: scrapeTimeout}
	go func() { _ = out.server.Serve(listener) }() // it ends when the exporter stops
	return out, nil
}

func (l *clusterLoad) stop() { _ = l.server.Close() } // the run ends

// add moves the load of every cluster.
func (l *clusterLoad) add(load float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.added += load
}

// ServeHTTP implements http.Handler.
func (l *clusterLoad) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	out := bufio.NewWriter(w)
	for i, name := range l.names {
		_, _ = fmt.Fprintf(out, "load{cluster=%q} %g\n", name, float64(i%loads)+l.added) // Prometheus scrapes again
	}
	_ = out.Flush()
	l.served++
}

var errNotScraped = errors.New("the program Prometheus does not scrape")

// awaitScrape returns after two scrapes that begin after now: the first is complete then.
func (l *clusterLoad) awaitScrape(ctx context.Context) error {
	l.mu.Lock()
	before := l.served
	l.mu.Unlock()
	err := wait.PollUntilContextTimeout(ctx, scorePoll, scrapeTimeout, true, func(context.Context) (bool, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.served >= before+2, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for a scrape: %w: %w", errNotScraped, err)
	}
	return nil
}
