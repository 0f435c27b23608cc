package run

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/bench/pages"
	"github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// consoleClusters and consolePlacements are the size of the hub whose pages are open.
	consoleClusters, consolePlacements = 10_000, 200
	// openPages is how many pages are open, pagesPerUser how many of one user.
	openPages, pagesPerUser = 200, 10
	// consoleRounds is how often open pages and none alternate, consoleTime how long each lasts. Pages load before that.
	consoleRounds, consoleTime = 3, 30 * time.Second
	// consoleHeartbeats is how many clusters a second write their status meanwhile.
	consoleHeartbeats = 50
	// consoleDecisions is how many placements are decided in each round.
	consoleDecisions = 150
	// settleTime is how long the manager rests after pages were opened or closed.
	settleTime = 5 * time.Second
)

var errNoPages = errors.New("the pages are not served")

// consoleRun measures the pages of a large fleet, and what open pages cost a manager.
func consoleRun() Run {
	return Run{
		Name:  "console",
		About: fmt.Sprintf("the pages of %d clusters, and a manager with %d open pages beside one without", consoleClusters, openPages),
		Measure: func(ctx context.Context, s Options) ([]bench.Figure, error) {
			out, err := pages.Measure(ctx, s.Progress)
			if err != nil {
				return nil, err
			}
			figures, err := measureOpenPages(ctx, s)
			return append(out, figures...), err
		},
	}
}

// browserRun measures the fleet in a real browser.
func browserRun() Run {
	return Run{
		Name:  "browser",
		About: "the fleet in a browser: its first paint, and the script of a frame while a user filters",
		Measure: func(ctx context.Context, s Options) ([]bench.Figure, error) {
			return pages.MeasureBrowser(ctx, s.Bin, s.Progress)
		},
	}
}

// consoleHub is a hub whose manager serves the console.
type consoleHub struct {
	*measuredHub

	address string
	tokens  []string
	// follower waits for decisions, beats are the status writes of the fleet.
	follower *decisionWatcher
	beats    *agents
	spare    []*clusterv1beta1.Placement
}

func measureOpenPages(ctx context.Context, s Options) ([]bench.Figure, error) {
	s.logf("console: starting a hub with %d clusters", consoleClusters)
	fleet := generate.New(generate.Shape{
		Clusters: consoleClusters, Placements: consolePlacements + 2*consoleRounds*consoleDecisions,
		Seed: fleetSeed,
	})
	h, err := newConsoleHub(ctx, s, fleet)
	if err != nil {
		return nil, err
	}
	defer h.stop()
	defer h.follower.stop()
	var idle, open consolePart
	for round := range consoleRounds {
		s.logf("console: round %d of %d", round+1, consoleRounds)
		if err := h.measurePart(ctx, &idle); err != nil {
			return nil, err
		}
		opened, err := h.openAll(ctx)
		if err != nil {
			return nil, err
		}
		err = h.measurePart(ctx, &open)
		if err = errors.Join(err, opened.close()); err != nil {
			return nil, err
		}
		s.logf("console: %d events came to %d pages", opened.events.Load(), openPages)
	}
	return consoleFigures(&idle, &open), nil
}

// consoleFigures compares a manager with open pages with one without.
func consoleFigures(idle, open *consolePart) []bench.Figure {
	cores := func(p *consolePart) float64 { return p.cpu.Seconds() / p.wall.Seconds() }
	out := []bench.Figure{
		{
			Name: "cores for open pages while the fleet heartbeats", Unit: bench.Ratio, Value: cores(open) - cores(idle),
			Detail: fmt.Sprintf("%.3f with %d pages, %.3f without, at %d status writes a second", cores(open), openPages, cores(idle),
				consoleHeartbeats),
		},
		{
			// The collector lets the heap grow to twice of what is in use. Resident memory also has what earlier bursts left.
			Name: "memory for open pages", Unit: bench.MiB, Value: 2 * mib(slices.Min(open.inUse)-slices.Min(idle.inUse)),
			Detail: fmt.Sprintf("twice the difference of %.0f MiB in use with %d pages and %.0f MiB without; resident %.0f MiB and %.0f MiB",
				mib(slices.Min(open.inUse)), openPages, mib(slices.Min(idle.inUse)), mib(slices.Min(open.resident)), mib(slices.Min(idle.resident))),
		},
	}
	return append(out, open.decided.ratiosAt("decided with open pages, beside without", idle.decided, 50, 90)...)
}

// consolePart is what a manager used while pages were open, or while none was.
type consolePart struct {
	cpu, wall time.Duration
	// resident is the memory of the process, inUse what a collection leaves of it, in bytes, in each round.
	resident, inUse []int64
	decided         sample
}

// measurePart measures the manager for a while, and the time of single decisions after that.
func (h *consoleHub) measurePart(ctx context.Context, into *consolePart) error {
	if err := pause(ctx, settleTime); err != nil {
		return err
	}
	load := heartbeatLoad{agents: h.beats, rate: consoleHeartbeats}
	err := load.runDuring(ctx, func() error {
		before, err := h.manager.Usage()
		if err != nil {
			return err
		}
		began := time.Now()
		if err := pause(ctx, consoleTime); err != nil {
			return err
		}
		after, err := h.manager.Usage()
		if err != nil {
			return err
		}
		into.cpu, into.wall = into.cpu+after.CPU-before.CPU, into.wall+time.Since(began)
		into.resident = append(into.resident, after.Resident)
		inUse, err := h.manager.InUse(ctx)
		into.inUse = append(into.inUse, inUse)
		return err
	})
	if err != nil {
		return err
	}
	var decided latencies
	for _, placement := range h.takeSpare(consoleDecisions) {
		if err := (&hubPair{managed: h.measuredHub}).decideOne(ctx, h.follower, placement, &decided); err != nil {
			return err
		}
	}
	into.decided = append(into.decided, decided.decided...)
	return nil
}

func (h *consoleHub) takeSpare(count int) []*clusterv1beta1.Placement {
	out := h.spare[:count]
	h.spare = h.spare[count:]
	return out
}

// pause waits for a while.
func pause(ctx context.Context, lasting time.Duration) error {
	timer := time.NewTimer(lasting)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newConsoleHub starts a hub with a decided fleet, and users who see all of it.
func newConsoleHub(ctx context.Context, s Options, fleet *generate.Fleet) (out *consoleHub, err error) {
	started, err := startWithViews(ctx, s.Bin)
	if err != nil {
		return nil, err
	}
	plain, err := measure(ctx, started, fleet, false)
	if err != nil {
		return nil, err
	}
	out = &consoleHub{measuredHub: plain}
	defer func() {
		if err != nil {
			out.stop()
		}
	}()
	if out.manager, out.address, err = plain.hub.StartConsole(ctx); err != nil {
		return nil, err
	}
	if out.beats, err = newAgents(plain, fleet.Clusters); err != nil {
		return nil, err
	}
	for i := range openPages / pagesPerUser {
		config, err := plain.hub.Account(ctx, fmt.Sprintf("reader-%02d", i),
			rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
		if err != nil {
			return nil, err
		}
		out.tokens = append(out.tokens, config.BearerToken)
	}
	if out.follower, err = plain.watchDecisions(ctx); err != nil {
		return nil, err
	}
	created := fleet.Placements[:consolePlacements]
	out.spare = fleet.Placements[consolePlacements:]
	err = inParallel(ctx, len(created), func(ctx context.Context, _, i int) error {
		return client.IgnoreAlreadyExists(plain.admin.Create(ctx, created[i].DeepCopy()))
	})
	if err == nil {
		err = out.follower.awaitDecided(ctx, created...)
	}
	if err == nil {
		err = out.awaitPages(ctx)
	}
	return out, err
}

// startWithViews starts a hub without a manager, with the access rules of the views: the pages need the views.
func startWithViews(ctx context.Context, bin string) (*hub.Hub, error) {
	folder, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return nil, fmt.Errorf("storing manifests: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // a leftover temporary folder does no harm
	if err := copyManifests(folder, apiserver.Local()); err != nil {
		return nil, err
	}
	return hub.StartWith(ctx, bin, folder)
}

// awaitPages waits until the first user gets the fleet.
func (h *consoleHub) awaitPages(ctx context.Context) error {
	last := errNoPages
	err := wait.PollUntilContextTimeout(ctx, time.Second, noticeTimeout, true, func(ctx context.Context) (bool, error) {
		response, err := h.get(ctx, h.tokens[0], "/")
		if err != nil {
			last = err
			return false, nil
		}
		defer response.Body.Close() //nolint:errcheck // it was read
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the pages: %w: %w", err, last)
	}
	return nil
}

func (h *consoleHub) get(ctx context.Context, bearer, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+h.address+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("requesting a page: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	transport := &http.Transport{
		//nolint:gosec // the certificate is the manager's own
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13},
		DisableKeepAlives: true,
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("requesting a page: %w", err)
	}
	return response, nil
}

// pageSet is open pages.
type pageSet struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	closing atomic.Bool
	events  atomic.Int64
	failed  atomic.Pointer[error]
}

// paths are the pages that users have open, in turn: mostly the fleet, and some of each other kind.
func (h *consoleHub) paths() []string {
	placement := h.spare[len(h.spare)-1].Namespace // any namespace of the fleet
	return []string{
		"/", "/", "/", "/", "/placements", "/placements?q=" + placement, "/hub", "/clusters/" + h.beats.clusters[0].Name, "/",
		"/?view=table",
	}
}

// openAll opens the pages, and returns once each has what it shows.
func (h *consoleHub) openAll(ctx context.Context) (*pageSet, error) {
	ctx, cancel := context.WithCancel(ctx)
	out := &pageSet{cancel: cancel}
	paths, ready := h.paths(), make(chan struct{}, openPages)
	for i := range openPages {
		out.running.Go(func() {
			if err := h.follow(ctx, out, h.tokens[i/pagesPerUser], paths[i%len(paths)], ready); err != nil && !out.closing.Load() {
				out.failed.CompareAndSwap(nil, &err)
				cancel()
			}
		})
	}
	for range openPages {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, out.close()
		}
	}
	return out, nil
}

// follow opens a page and reads its stream until the context ends.
func (h *consoleHub) follow(ctx context.Context, of *pageSet, bearer, path string, ready chan<- struct{}) error {
	response, err := h.get(ctx, bearer, "/events?"+url.Values{"page": {path}, "since": {"0"}}.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // the stream ends with the run
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream of %s has status %d: %w", path, response.StatusCode, errNoPages)
	}
	lines := bufio.NewReaderSize(response.Body, 1<<16)
	for first := true; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the stream of %s: %w", path, err)
		}
		if strings.HasPrefix(line, "event: ") {
			of.events.Add(1)
		}
		if first && strings.HasPrefix(line, "event: version") {
			first = false
			ready <- struct{}{}
		}
	}
}

// close closes the pages, and returns why one had ended before.
func (p *pageSet) close() error {
	p.closing.Store(true)
	p.cancel()
	p.running.Wait()
	if failed := p.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}
