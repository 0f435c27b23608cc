package hubtest

import "os"

// longVariable asks for the long variants of tests, as make long does.
const longVariable = "BERTH_LONG"

// LongTests reports whether the long variants of tests are wanted: those that take minutes or hours.
func LongTests() bool { return os.Getenv(longVariable) == "1" }
