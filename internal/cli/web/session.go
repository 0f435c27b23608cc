package web

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/console"
)

// session returns what the pages read, and what keeps it current.
func (o *options) session(ctx context.Context, now time.Time) (console.Session, func(context.Context), error) {
	if o.Offline() {
		return o.fileSession(ctx, now)
	}
	return o.hubSession(ctx)
}

func (o *options) fileSession(ctx context.Context, now time.Time) (console.Session, func(context.Context), error) {
	bundle, err := o.Load(ctx, reader.Scope{})
	if err != nil {
		return console.Session{}, nil, err
	}
	if len(bundle.Clusters) == 0 {
		return console.Session{}, nil, errors.New("the files hold no ManagedCluster: give those of a fleet with -f")
	}
	read := NewFiles(bundle, now)
	out := console.Session{Reader: read, Members: read, Previewer: read, Place: "files: " + strings.Join(o.Files, ", ")}
	if read.HasWorks() {
		out.Deliveries = read
	}
	for _, name := range o.Files {
		out.Flags = strings.TrimSpace(out.Flags + " -f " + shellQuote(name))
	}
	return out, func(context.Context) {}, nil
}

func (o *options) hubSession(ctx context.Context) (console.Session, func(context.Context), error) {
	hub, err := o.Connect()
	if err != nil {
		return console.Session{}, nil, err
	}
	config, err := o.HubFlags.RESTConfig(o.Streams.ErrOut)
	if err != nil {
		return console.Session{}, nil, err
	}
	works, err := rollouts.NewClient(config)
	if err != nil {
		return console.Session{}, nil, err
	}
	writer, err := NewWriter(config)
	if err != nil {
		return console.Session{}, nil, err
	}
	read := NewHub(o.Fleet, hub, works, clock.RealClock{})
	status, err := NewHubStatus(config, hub, clock.RealClock{})
	if err != nil {
		return console.Session{}, nil, err
	}
	follow, err := read.Start(ctx)
	if err != nil {
		return console.Session{}, nil, err
	}
	out := console.Session{
		//nolint:contextcheck // a preview lives as long as the page
		Reader: read, Deliveries: read, Members: read, Previewer: read.Previewer(), Writer: writer,
		Hub:   status,
		Place: "hub: " + config.Host,
	}
	return out, follow, nil
}

// shellQuote returns a word as a shell reads it.
func shellQuote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
