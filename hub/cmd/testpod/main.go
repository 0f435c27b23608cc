// Command testpod is the only program of two images in the tests on a real node. As "pause" it waits, as the sandbox of a pod must.
// Without an argument it serves the variable VERSION on port 8080, and with a URL it prints what is served there. It is part of no release.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// maxWait bounds a request, maxBytes what is read of its response.
const maxWait, maxBytes = 5 * time.Second, 1 << 10

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testpod:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	switch {
	case filepath.Base(os.Args[0]) == "pause":
		<-ctx.Done()
		return nil
	case len(os.Args) > 1:
		return fetch(ctx, os.Args[1])
	default:
		return serve(ctx)
	}
}

func serve(ctx context.Context) error {
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: maxWait, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, os.Getenv("VERSION")) // the caller sees a lost response
	})}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() }) // the process ends
	defer stopped()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

func fetch(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody) //nolint:gosec // the test chooses the URL
	if err != nil {
		return fmt.Errorf("reading the URL: %w", err)
	}
	response, err := http.DefaultClient.Do(request) //nolint:gosec // as above
	if err != nil {
		return fmt.Errorf("fetching %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if _, err := io.Copy(os.Stdout, io.LimitReader(response.Body, maxBytes)); err != nil {
		return fmt.Errorf("reading the response of %s: %w", url, err)
	}
	return nil
}
