package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shard is a part of the slow tests. The zero value is all of them.
type shard struct{ number, count int }

// parseShard reads a shard such as 2/8. Empty is all of the slow tests.
func parseShard(text string) (shard, error) {
	if text == "" {
		return shard{}, nil
	}
	first, second, _ := strings.Cut(text, "/")
	number, err1 := strconv.Atoi(first)
	count, err2 := strconv.Atoi(second)
	if errors.Join(err1, err2) != nil || number < 1 || number > count {
		return shard{}, fmt.Errorf("SHARD=%s is no part of the slow tests: write 2/8 for the second of eight", text)
	}
	return shard{number, count}, nil
}

// unit is what a shard has whole: a slow test, the fuzz targets of a package, or a package on another release of Kubernetes.
type unit struct {
	of testPackage
	// test is the name of a slow test; empty for the whole package.
	test string
	// on is the variant that the package runs on; the zero value for a slow test.
	on variant
	// fuzz is true for the fuzz targets.
	fuzz    bool
	seconds float64
}

// thoroughVariable is 1 in slow runs: tests with random cases try more of them than in others.
const thoroughVariable = "BERTH_THOROUGH"

// unknownSeconds is the guess for a unit that no recorded run has.
const unknownSeconds = 30

// name returns the key of the unit in files of times.
func (u unit) name() string {
	switch {
	case u.fuzz:
		return u.of.folder + " fuzz"
	case u.on.name != "":
		return u.of.folder + " on " + u.on.name
	default:
		return u.of.folder + " " + u.test
	}
}

// guess returns the time of a variant that was never recorded: that of the package in a run for a change.
func (u unit) guess(known times) float64 {
	if u.on.name == "" {
		return 0
	}
	return known[u.of.folder]
}

// units returns all that make slow runs.
func units(packages []testPackage, known times) []unit {
	var out []unit
	for _, p := range packages {
		for _, test := range p.slow {
			out = append(out, unit{of: p, test: test})
		}
		if len(p.fuzz) > 0 {
			out = append(out, unit{of: p, fuzz: true})
		}
		for _, v := range variants() {
			if slices.Contains(v.packages, p.folder) {
				out = append(out, unit{of: p, on: v})
			}
		}
	}
	for i := range out {
		out[i].seconds = cmp.Or(known[out[i].name()], out[i].guess(known), unknownSeconds)
	}
	return out
}

// slowPart returns the units that the command line chooses.
func slowPart(packages []testPackage, known times, opts options) ([]unit, error) {
	all := units(packages, known)
	if opts.run != "" { // a pattern names slow tests
		top, _, _ := strings.Cut(opts.run, "/")
		matches, err := regexp.Compile(top)
		if err != nil {
			return nil, fmt.Errorf("RUN=%s is no pattern of tests: %w", opts.run, err)
		}
		all = slices.DeleteFunc(all, func(u unit) bool { return u.test == "" || !matches.MatchString(u.test) })
	}
	if len(all) == 0 {
		return nil, errNoSlowTest
	}
	return opts.shard.part(all), nil
}

// errNoSlowTest fails a slow run of packages that have no slow tests.
var errNoSlowTest = errors.New("no slow test matches: these packages have none, or RUN names none of them; `make test` runs the others")

// part returns the units of a shard. Units that need the same programs of other projects are neighbours, so that few shards build them, and
// the shards are sections of the same length.
func (s shard) part(all []unit) []unit {
	if s.count == 0 {
		return all
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b unit) int {
		return cmp.Or(slices.Compare(a.targets(), b.targets()), cmp.Compare(a.of.folder, b.of.folder), cmp.Compare(a.name(), b.name()))
	})
	var total, before float64
	for _, u := range all {
		total += u.seconds
	}
	var out []unit
	for _, u := range all {
		section := int((before + u.seconds/2) / total * float64(s.count))
		if min(section, s.count-1) == s.number-1 {
			out = append(out, u)
		}
		before += u.seconds
	}
	return out
}

// targets returns the programs of other projects that the unit needs, as targets of make.
func (u unit) targets() []string {
	switch {
	case u.on.target != "":
		return []string{u.on.target}
	case u.test != "":
		return needs()[u.of.folder]
	default:
		return nil
	}
}

// variant is another way to run the tests of some packages, beside make test.
type variant struct {
	name string
	// environment has its variables; a path in it is from the root.
	environment, target string
	packages            []string
	// skip is a pattern of tests that it leaves out; empty for none.
	skip string
}

const (
	oldestSet = "bin/kubernetes/v1.30"
	formerSet = "bin/kubernetes/v1.35"
)

// histories are the tests of random histories. What they find is the manager's, whatever the API server is.
const histories = "^(TestAccidentsMoveNothing|TestRolloutHistory)$"

// variants are the oldest API server that Berth supports, for installation, decisions, permissions, webhooks, views, agents and delivery,
// the race detector, for the managers that do the most at a time, and more random cases than make test tries.
func variants() []variant {
	return []variant{
		{name: "v1.30", environment: "BERTH_KUBERNETES=" + oldestSet, target: oldestSet, packages: integration(
			"compat", "install", "placement", "permission", "admission", "workadmission", "boundary", "tenancy", "explain", "view", "join",
			"registration",
			"member", "memberagent", "agent", "delivery", "endtoend",
		), skip: histories},
		{name: race, environment: "BERTH_RACE=1", packages: integration("admission", "failover", "placement", "tenancy")},
		{name: "more random cases", packages: []string{"engine/enginetest"}},
	}
}

func integration(names ...string) []string {
	for i := range names {
		names[i] = "hub/integration/" + names[i]
	}
	return names
}

// needs are the programs of other projects that the slow tests of a package run, as targets of make.
func needs() map[string][]string {
	return map[string][]string{
		"hack/runtests":              {"bin/helm"},
		"hub/integration/argocd":     {"bin/argocd"},
		"hub/integration/compat":     {formerSet},
		"hub/integration/console":    {"bin/chromium", "bin/axe.min.js"},
		"hub/integration/howto":      {"bin/argocd"},
		"hub/integration/install":    {"bin/helm"},
		"hub/integration/monitoring": {"bin/prometheus"},
		nodeTests:                    {"bin/node", "bin/helm"},
		"hub/integration/score":      {"bin/prometheus"},
	}
}

// makeNeeds makes the programs of other projects that some units need. A program that cannot be made is an error.
func makeNeeds(ctx context.Context, root string, of []unit) error {
	var targets []string
	for _, u := range of {
		targets = append(targets, u.targets()...)
	}
	slices.Sort(targets)
	targets = slices.Compact(targets)
	if len(targets) == 0 {
		return nil
	}
	command := exec.CommandContext(ctx, "make", targets...)
	command.Dir, command.Stdout, command.Stderr = root, os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("making the programs that slow tests run (%s): %w", strings.Join(targets, ", "), err)
	}
	return nil
}

// maxCallSeconds is how long the slow tests that one call runs take together, unless one alone takes longer. The tests of a call run one
// after the other, and calls run side by side: a shard must not end with one call that is far longer than the others.
const maxCallSeconds = 120

// slowRuns returns the calls that run some units, the longest first.
func slowRuns(root string, of []unit, opts options) []goTest {
	var out []goTest
	longest := float64(maxCallSeconds)
	if opts.run != "" {
		longest = math.MaxFloat64 // each call would run all tests that the pattern matches
	}
	calls := groups(of, longest)
	slices.SortStableFunc(calls, func(a, b []unit) int { return cmp.Compare(seconds(b), seconds(a)) })
	for _, group := range calls {
		first := group[0]
		run := goTest{
			module: first.of.module, packages: []string{first.of.pattern()}, parallel: 1, flags: append(opts.goFlags(), "-count=1"),
			environment: append(rareCollection(), thoroughVariable+"=1"),
		}
		switch {
		case first.fuzz:
			run.fuzz = first.of.folder
		case first.on.name != "":
			run.suffix = " on " + first.on.name
			if first.on.skip != "" {
				run.flags = append(run.flags, "-skip="+first.on.skip)
			}
			if first.on.environment != "" {
				run.environment = append(run.environment, strings.Replace(first.on.environment, "=bin/", "="+root+"/bin/", 1))
			}
		default:
			run.suffix = slowSuffix
			run.flags = append(run.flags, "-tags="+strings.Join(slowTags(), ","))
			if opts.run == "" {
				run.flags = append(run.flags, "-run="+pattern(group))
			}
		}
		out = append(out, run)
	}
	return out
}

// groups divides units into those that one call runs: of one package, release and kind, and of at most some seconds together.
func groups(of []unit, longest float64) [][]unit {
	var out [][]unit
	for _, u := range of {
		at := slices.IndexFunc(out, func(g []unit) bool {
			return g[0].of.folder == u.of.folder && g[0].on.name == u.on.name && g[0].fuzz == u.fuzz && seconds(g)+u.seconds <= longest
		})
		if at < 0 {
			out = append(out, nil)
			at = len(out) - 1
		}
		out[at] = append(out[at], u)
	}
	return out
}

// seconds returns how long some units take one after the other.
func seconds(of []unit) float64 {
	var out float64
	for _, u := range of {
		out += u.seconds
	}
	return out
}

// pattern returns the pattern of the tests of some units.
func pattern(of []unit) string {
	var names []string
	for _, u := range of {
		names = append(names, regexp.QuoteMeta(u.test))
	}
	return "^(" + strings.Join(names, "|") + ")$"
}
