package plot

import (
	"math"
	"strconv"
	"strings"
)

// scale turns the numbers of an axis into pixels.
type scale struct {
	axis        Axis
	least, most float64
	from, to    float64
}

// newScale returns a scale that holds some values, with some room.
func newScale(axis Axis, values []float64, from, to float64) scale {
	out := scale{axis: axis, least: math.Inf(1), most: math.Inf(-1), from: from, to: to}
	for _, value := range values {
		out.least, out.most = min(out.least, value), max(out.most, value)
	}
	switch {
	case len(axis.Names) > 0:
		out.least, out.most = 0.5, float64(len(axis.Names))+0.5
	case axis.Log:
		out.least, out.most = out.least/1.6, out.most*1.6
	default:
		out.most += (out.most - out.least) * 0.08
		if out.most == out.least {
			out.most++
		}
	}
	return out
}

// at returns the pixel of a value.
func (s scale) at(value float64) float64 {
	least, most := s.least, s.most
	if s.axis.Log {
		value, least, most = math.Log(value), math.Log(least), math.Log(most)
	}
	return s.from + (value-least)/(most-least)*(s.to-s.from)
}

// step is the pixels from one name to the next.
func (s scale) step() float64 { return s.at(2) - s.at(1) }

type tick struct {
	value float64
	text  string
}

// ticks returns the values that are written at the axis.
func (s scale) ticks() []tick {
	var out []tick
	switch {
	case len(s.axis.Names) > 0:
		for i, name := range s.axis.Names {
			out = append(out, tick{float64(i + 1), name})
		}
	case s.axis.Log:
		for power := math.Floor(math.Log10(s.least)); power <= math.Log10(s.most); power++ {
			for _, digit := range s.digits() {
				if value := digit * math.Pow(10, power); value >= s.least && value <= s.most {
					out = append(out, tick{value, Number(value)})
				}
			}
		}
	default:
		for step, i := round((s.most-s.least)/5), 0.0; s.least+i*step <= s.most; i++ {
			out = append(out, tick{s.least + i*step, Number(s.least + i*step)})
		}
	}
	return out
}

// digits returns those that powers of ten are multiplied with: the more, the fewer powers there are.
func (s scale) digits() []float64 {
	switch powers := math.Log10(s.most / s.least); {
	case powers < 1.5:
		return []float64{1, 2, 5}
	case powers < 2.5:
		return []float64{1, 3}
	default:
		return []float64{1}
	}
}

// round returns the 1, 2 or 5 with noughts that is not less than a value.
func round(value float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(value)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= value {
			return digit * power
		}
	}
	return 10 * power
}

// Number writes a number for people: thousands are divided, and a billion is a word.
func Number(value float64) string {
	if value >= 1e9 {
		return Number(value/1e9) + " billion"
	}
	if value >= 1e6 {
		return Number(value/1e6) + " million"
	}
	if value < 1000 {
		return strconv.FormatFloat(value, 'g', 3, 64)
	}
	digits := strconv.FormatFloat(value, 'f', 0, 64)
	var out strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	return out.String()
}
