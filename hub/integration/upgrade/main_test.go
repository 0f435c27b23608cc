// Package upgrade tests that a new release keeps the stored state of an older one. It loads the objects of the older release,
// with their statuses, into a hub, and runs a manager of this checkout on it with default flags.
//
// testdata/recorded-RELEASE.jsonl contains the objects of a release, or of a commit before the first one. Each release is recorded once,
// before it is made, and every later one must read it. To record the release of this checkout, run in hub
//
//	go test ./integration/upgrade -run TestRecord -record -release v0.1.0
//
// BERTH_HUB_BINARY and BERTH_BINARY name the programs of another release.
package upgrade

import "time"

// testTimeout is far longer than any wait of the tests on an idle machine. No test measures speed.
const testTimeout = 3 * time.Minute
