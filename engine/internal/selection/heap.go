package selection

// heap is a binary heap of positions. The comparison is an argument, so a heap is only a slice.
type heap []int

// bestFirst moves the best to the front. That is no heap yet, and enough until the first is removed.
func (h heap) bestFirst(by func(a, b int) int) {
	for i := range h {
		if by(h[i], h[0]) < 0 {
			h[i], h[0] = h[0], h[i]
		}
	}
}

// init establishes the heap order.
func (h heap) init(by func(a, b int) int) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i, by)
	}
}

// push adds a number.
func (h *heap) push(number int, by func(a, b int) int) {
	*h = append(*h, number)
	for i := len(*h) - 1; i > 0; {
		above := (i - 1) / 2
		if by((*h)[above], (*h)[i]) <= 0 {
			return
		}
		(*h)[above], (*h)[i] = (*h)[i], (*h)[above]
		i = above
	}
}

// pop removes the top and returns it.
func (h *heap) pop(by func(a, b int) int) int {
	top, last := (*h)[0], len(*h)-1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	h.sink(0, by)
	return top
}

func (h heap) sink(i int, by func(a, b int) int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && by(h[right], h[child]) < 0 {
			child = right
		}
		if by(h[i], h[child]) <= 0 {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
