// Package upgrade tests that a new release keeps the stored state of an older one. It loads the objects of the older release,
// with their statuses, into a hub, and runs a manager of this checkout on it with default flags.
//
// testdata/recorded.jsonl contains the objects of the release of the commit in its first line. To record it again, run
//
//	BERTH_HUB_BINARY=.../berth-hub BERTH_BINARY=.../berth go test ./integration/upgrade -run TestRecord -record
//
// in hub. The two programs are of the recorded release, and -release is its commit.
package upgrade

import "time"

// testTimeout is far longer than any wait of the tests on an idle machine. No test measures speed.
const testTimeout = 3 * time.Minute
