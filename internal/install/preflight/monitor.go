package preflight

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-project/berth/engine/plan"
)

const (
	// interval is the time between reads of the generations of the definitions.
	interval = 10 * time.Second
	// permissionInterval is the time between checks of the permissions, while no definition changes and no requirement is
	// missing.
	permissionInterval = 5 * time.Minute
	// timeout bounds one comparison.
	timeout = time.Minute
	// confirmations is how often a newly refused permission is checked again before it counts as missing. confirmInterval
	// is the time between these checks. An API server refuses requests until it has read the roles.
	confirmations   = 10
	confirmInterval = 200 * time.Millisecond
)

// Options configures a Monitor.
type Options struct {
	// Runs returns whether a part of the manager runs: a controller by its name, or one of the Part constants.
	Runs func(part string) bool
	// Namespace holds the lease and the certificate of the manager.
	Namespace string
	Clock     clock.WithTicker
}

// Monitor compares a hub with the requirements at the start and while the manager runs. It is safe for concurrent use.
type Monitor struct {
	hub     client.Client
	options Options
	changed chan struct{}

	mu                   sync.Mutex
	report               Report
	generations          []int64
	permissionsCheckedAt time.Time
}

// New returns a monitor that has not compared anything yet.
func New(hub *rest.Config, options Options) (*Monitor, error) {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, scheme.AddToScheme} {
		if err := add(kinds); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	reader, err := client.New(hub, client.Options{Scheme: kinds})
	if err != nil {
		return nil, fmt.Errorf("reaching the hub: %w", err)
	}
	return &Monitor{hub: reader, options: options, changed: make(chan struct{}, 1)}, nil
}

// Check compares the hub and returns the report.
func (m *Monitor) Check(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	before, err := m.readGenerations(ctx)
	if err != nil {
		return Report{}, err
	}
	lacks, err := MissingDefinitions(ctx, m.hub)
	if err != nil {
		return Report{}, err
	}
	optional, err := missingOptional(ctx, m.hub, m.options.Runs)
	if err != nil {
		return Report{}, err
	}
	refused, err := m.refused(ctx)
	if err != nil {
		return Report{}, err
	}
	found := Report{Missing: slices.Concat(lacks, optional, refused)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report, m.generations, m.permissionsCheckedAt = found, before, m.options.Clock.Now()
	return found, nil
}

// refused returns the missing permissions: those that were missing before, and those that are refused repeatedly.
func (m *Monitor) refused(ctx context.Context) ([]Missing, error) {
	before := m.Report()
	for attempt := 0; ; attempt++ {
		refused, err := reviewAll(ctx, accessRequests(m.options.Runs, m.options.Namespace), ownReview(m.hub))
		known := !slices.ContainsFunc(refused, func(lack Missing) bool { return !slices.Contains(before.Missing, lack) })
		if err != nil || known || attempt == confirmations {
			return refused, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-m.options.Clock.After(confirmInterval):
		}
	}
}

// readGenerations returns the generation of each definition, 0 for a missing definition.
func (m *Monitor) readGenerations(ctx context.Context) ([]int64, error) {
	var names []string
	for _, need := range requirements() {
		names = append(names, need.resource+"."+group)
	}
	for _, need := range optionalDefinitions() {
		names = append(names, need.name)
	}
	var out []int64
	for _, name := range names {
		generation, err := generationOf(ctx, m.hub, name)
		if err != nil {
			return nil, err
		}
		out = append(out, generation)
	}
	return out, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica warns.
func (*Monitor) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it compares again whenever a definition changed, and periodically.
func (m *Monitor) Start(ctx context.Context) error {
	m.logChanges(ctx, Report{}, m.Report())
	ticker := m.options.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			m.recheck(ctx)
		}
	}
}

// recheck compares again where that is due, and logs the changes. A failed read changes nothing.
func (m *Monitor) recheck(ctx context.Context) {
	before := m.Report()
	due, err := m.due(ctx)
	if err == nil && !due {
		return
	}
	var now Report
	if err == nil {
		now, err = m.Check(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			log.FromContext(ctx).Info("WARNING: comparing the hub with the requirements of Berth failed; retrying", "cause", err.Error(), "interval",
				interval)
		}
		return
	}
	m.logChanges(ctx, before, now)
	if before.RequiredMissing() == now.RequiredMissing() && reflect.DeepEqual(before.DroppedFields(), now.DroppedFields()) {
		return
	}
	select {
	case m.changed <- struct{}{}:
	default: // a value is waiting
	}
}

// due returns whether a definition changed since the last comparison, or the permissions must be checked again.
func (m *Monitor) due(ctx context.Context) (bool, error) {
	now, err := m.readGenerations(ctx)
	if err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	every := permissionInterval
	if m.report.RequiredMissing() != "" {
		every = interval
	}
	return !slices.Equal(now, m.generations) || m.options.Clock.Since(m.permissionsCheckedAt) >= every, nil
}

func (*Monitor) logChanges(ctx context.Context, before, now Report) {
	for _, lack := range now.Missing {
		if !slices.Contains(before.Missing, lack) {
			log.FromContext(ctx).Info("WARNING: "+lack.String(), "kind", lack.Kind)
		}
	}
	for _, lack := range before.Missing {
		if !slices.Contains(now.Missing, lack) {
			log.FromContext(ctx).Info("a missing requirement is met", "kind", lack.Kind, "what", lack.What)
		}
	}
}

// Report returns the last report. It is read-only.
func (m *Monitor) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.report
}

// Defines returns whether the hub had an optional definition when it was last compared.
func (m *Monitor) Defines(definition string) bool {
	return !slices.ContainsFunc(m.Report().Missing, func(lack Missing) bool { return lack.What == whatDefinition+definition })
}

// Serves returns whether the hub had an optional definition, and let the manager list and watch its objects, when it was last compared.
func (m *Monitor) Serves(definition string) bool {
	reads := []string{whatDefinition + definition, whatPermission + "list " + definition, whatPermission + "watch " + definition}
	return !slices.ContainsFunc(m.Report().Missing, func(lack Missing) bool { return slices.Contains(reads, lack.What) })
}

// DroppedFields returns the status fields that the hub drops. Ok is false if no placement can be decided.
func (m *Monitor) DroppedFields() (dropped plan.Dropped, ok bool) {
	found := m.Report()
	return found.DroppedFields(), found.RequiredMissing() == ""
}

// Changed receives a value when the result of DroppedFields changes.
func (m *Monitor) Changed() <-chan struct{} { return m.changed }
