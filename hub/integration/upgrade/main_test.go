// Package upgrade tests that a new release takes over what an older one stored: objects as it left them, with their
// statuses, are loaded into a hub of their own, and a manager of this checkout runs on it with default flags.
//
// testdata/recorded.jsonl is what the release of the commit in its first line left behind. It is made again with
//
//	BERTH_HUB_BINARY=.../berth-hub BERTH_BINARY=.../berth go test ./integration/upgrade -run TestRecord -record
//
// in hub, where the two programs are of the release to be recorded, and -release says which that is.
package upgrade

import "time"

// testTimeout is far more than anything here needs on an idle machine: what is waited for is never a matter of speed.
const testTimeout = 3 * time.Minute
