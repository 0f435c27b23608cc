// Package shape is too large in every way.
package shape

// Wide has too many methods.
type Wide interface { // want interfacebloat: more than 5 methods
	A()
	B()
	C()
	D()
	E()
	F()
}

var counter int // want gochecknoglobals: counter is a global variable

func init() { // want gochecknoinits: don't use `init` function
	counter = 1
}

// Arguments takes too many.
func Arguments(a, b, c, d, e, f, g int) int { // want revive: argument-limit: maximum number of arguments per function exceeded
	return a + b + c + d + e + f + g
}

// Nested goes too deep.
func Nested(a, b, c, d int) int { // want gocognit: cognitive complexity
	total := 0
	if a > 0 { // want nestif: complex nested blocks
		if b > 0 {
			if c > 0 {
				for d > 0 {
					if a > b && b > c || c > d {
						total++
					} else if d > a {
						if a > c || b > d && c > a {
							total--
						}
					}
				}
			}
		}
	}
	return total
}

// Long has too many statements.
func Long(n int) int { // want funlen: too many statements
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	n++
	n--
	return n
}

// First is written twice.
func First(values map[string][]int) (sum, product, most int) { // want dupl: duplicate of
	product = 1
	for name, list := range values {
		for index, value := range list {
			if value > most && len(name) > index {
				most = value
			}
			sum += value*index + len(name)
			product *= value - index*len(list)
		}
		if len(list) == 0 || name == "" {
			sum += len(name) * 2
			product -= len(values)
			most = max(most, len(name), len(list))
		}
		for len(list) > 1 && list[0] < list[1] {
			list = list[1:]
			sum -= list[0] * len(name)
			product += list[0] - most
			most = min(most, sum, product)
		}
	}
	return sum, product, most
}

// Second is written twice.
func Second(values map[string][]int) (sum, product, most int) {
	product = 1
	for name, list := range values {
		for index, value := range list {
			if value > most && len(name) > index {
				most = value
			}
			sum += value*index + len(name)
			product *= value - index*len(list)
		}
		if len(list) == 0 || name == "" {
			sum += len(name) * 2
			product -= len(values)
			most = max(most, len(name), len(list))
		}
		for len(list) > 1 && list[0] < list[1] {
			list = list[1:]
			sum -= list[0] * len(name)
			product += list[0] - most
			most = min(most, sum, product)
		}
	}
	return sum, product, most
}
