package bench

import "strconv"

// Unit is what a figure counts.
type Unit string

// The units.
const (
	Ratio     Unit = "x"
	PerSecond Unit = "/s"
	Seconds   Unit = "s"
	Millis    Unit = "ms"
	Micros    Unit = "µs"
	MiB       Unit = "MiB"
	Requests  Unit = ""
	// Power is an exponent.
	Power Unit = "power"
)

// Figure is one measured value of a run.
type Figure struct {
	// Name is unique in the run.
	Name  string  `json:"figure"`
	Value float64 `json:"value"`
	Unit  Unit    `json:"unit,omitempty"`
	// Detail is what the value was made from, for the reader.
	Detail string `json:"from,omitempty"`
}

// String returns the value with its unit, in three digits or so.
func (f Figure) String() string { return Format(f.Value, f.Unit) }

// Format writes a value of a unit.
func Format(value float64, unit Unit) string {
	digits := 0
	switch {
	case unit == Requests || value >= 100:
	case value >= 10:
		digits = 1
	default:
		digits = 2
	}
	out := strconv.FormatFloat(value, 'f', digits, 64)
	if unit == Ratio || unit == Requests {
		return out + string(unit)
	}
	return out + " " + string(unit)
}
