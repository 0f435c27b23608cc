package fleet

import "slices"

// ID is the dense number of a cluster name within a snapshot and all snapshots edited from it. A number is reused only
// when nothing refers to the old name. The order of IDs means nothing.
type ID = uint

const pageSize = 256

// column maps IDs to values in pages, so that an edit copies only the pages it touches and a snapshot shares the
// others. A page belongs to the edit that made it, and so does the list of pages: a copy of a column shares the list until
// another edit writes to it.
type column[T any] struct {
	owner *Edit
	pages []*page[T]
}

type page[T any] struct {
	owner *Edit
	cells [pageSize]T
}

// at returns the value of id, or the zero value beyond the end.
func (c *column[T]) at(id ID) T {
	if n := int(id / pageSize); n < len(c.pages) {
		return c.pages[n].cells[id%pageSize]
	}
	var none T
	return none
}

// set writes the value of id on behalf of owner, copying the list and the page first unless owner made them.
func (c *column[T]) set(owner *Edit, id ID, value T) {
	if c.owner != owner {
		c.owner, c.pages = owner, slices.Clone(c.pages)
	}
	n := int(id / pageSize)
	for len(c.pages) <= n {
		c.pages = append(c.pages, &page[T]{owner: owner})
	}
	if c.pages[n].owner != owner {
		own := *c.pages[n]
		own.owner = owner
		c.pages[n] = &own
	}
	c.pages[n].cells[id%pageSize] = value
}
