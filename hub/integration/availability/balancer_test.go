//go:build slow

package availability

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// balancer forwards TCP connections to replicas in turn, as a Service does. A replica that refuses a connection is left out for it.
type balancer struct {
	listener net.Listener

	mu       sync.Mutex
	backends []string
	next     int
	open     map[net.Conn]bool
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	listener := kit.Must(new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")).In(t)
	b := &balancer{listener: listener, open: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() { b.accept(t.Context(), &running) })
	t.Cleanup(func() {
		_ = listener.Close() // ends accept
		b.mu.Lock()
		for connection := range b.open {
			_ = connection.Close() // ends its copies
		}
		b.mu.Unlock()
		running.Wait()
	})
	return b
}

func (b *balancer) url() string { return "https://" + b.listener.Addr().String() }

func (b *balancer) accept(ctx context.Context, running *sync.WaitGroup) {
	for {
		connection, err := b.listener.Accept()
		if err != nil {
			return // closed
		}
		running.Go(func() { b.forward(ctx, connection) })
	}
}

// forward copies bytes in both directions until one side ends.
func (b *balancer) forward(ctx context.Context, client net.Conn) {
	defer b.track(client)()
	server := b.dial(ctx)
	if server == nil {
		return
	}
	defer b.track(server)()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // an error ends the connection, as it would without a balancer
			ended <- struct{}{}
		}()
	}
	<-ended
	_ = client.Close()
	_ = server.Close()
	<-ended
}

// track closes a connection with the balancer. The returned function closes it earlier.
func (b *balancer) track(connection net.Conn) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[connection] = true
	return func() {
		_ = connection.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, connection)
	}
}

// dial connects to the first replica in turn that accepts; nil where none does.
func (b *balancer) dial(ctx context.Context) net.Conn {
	b.mu.Lock()
	candidates := slices.Clone(b.backends)
	b.next++
	first := b.next
	b.mu.Unlock()
	for i := range candidates {
		address := candidates[(first+i)%len(candidates)]
		if connection, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "tcp4", address); err == nil {
			return connection
		}
	}
	return nil
}

// add sends new connections to a replica too, and remove does not. Connections that are open stay.
func (b *balancer) add(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = append(b.backends, address)
}

func (b *balancer) remove(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = slices.DeleteFunc(b.backends, func(other string) bool { return other == address })
}
