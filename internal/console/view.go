package console

import (
	"strconv"
)

// rows returns the part of a list that the parameter page names, from 1, and sets the numbers of that page and of the last.
func (v *view) rows(length int, at, last *int) (from, to int) {
	*last = max(1, (length+pageRows-1)/pageRows)
	wanted, err := strconv.Atoi(v.query.Get("page"))
	if err != nil {
		wanted = 1
	}
	*at = min(max(wanted, 1), *last)
	from = (*at - 1) * pageRows
	return from, min(from+pageRows, length)
}
