package wake

// bucket is a list of subscriptions in no order. A subscription may be in it more than once. Adding and removing take
// constant time.
type bucket []*subscription

// position is where a subscription is in a bucket.
type position struct {
	bucket *bucket
	index  int
}

// addTo adds the subscription to a bucket.
func (r *subscription) addTo(on *bucket) {
	r.positions = append(r.positions, position{on, len(*on)})
	*on = append(*on, r)
}

// removeFromAll removes the subscription from all its buckets. The last of a bucket fills the gap.
func (r *subscription) removeFromAll() {
	for len(r.positions) > 0 {
		p := r.positions[len(r.positions)-1]
		r.positions = r.positions[:len(r.positions)-1]
		last := len(*p.bucket) - 1
		if filler := (*p.bucket)[last]; p.index != last {
			(*p.bucket)[p.index] = filler
			filler.moved(position{p.bucket, last}, p.index)
		}
		(*p.bucket)[last] = nil
		if *p.bucket = (*p.bucket)[:last]; last == 0 {
			*p.bucket = nil
		}
	}
}

func (r *subscription) moved(from position, to int) {
	for i := range r.positions {
		if r.positions[i] == from {
			r.positions[i].index = to
		}
	}
}

// buckets holds buckets by what is read. Empty buckets are deleted.
type buckets[K comparable] map[K]*bucket

func (s buckets[K]) getOrCreate(key K) *bucket {
	if s[key] == nil {
		s[key] = new(bucket)
	}
	return s[key]
}

// get returns the subscriptions of a key.
func (s buckets[K]) get(key K) bucket {
	if found := s[key]; found != nil {
		return *found
	}
	return nil
}

func (s buckets[K]) deleteIfEmpty(key K) {
	if len(s.get(key)) == 0 {
		delete(s, key)
	}
}
