package hubtest

import "os"

// longVariable enables the long variants of tests. make long sets it.
const longVariable = "BERTH_LONG"

// LongTests returns whether the long variants of tests are enabled. They take minutes or hours.
func LongTests() bool { return os.Getenv(longVariable) == "1" }
