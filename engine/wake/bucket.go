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
func (s *subscription) addTo(on *bucket) {
	s.positions = append(s.positions, position{on, len(*on)})
	*on = append(*on, s)
}

// removeFromAll removes the subscription from all its buckets. The last of a bucket fills the gap.
func (s *subscription) removeFromAll() {
	for len(s.positions) > 0 {
		p := s.positions[len(s.positions)-1]
		s.positions = s.positions[:len(s.positions)-1]
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

func (s *subscription) moved(from position, to int) {
	for i := range s.positions {
		if s.positions[i] == from {
			s.positions[i].index = to
		}
	}
}

// buckets holds buckets by what is read. Empty buckets are deleted.
type buckets[K comparable] map[K]*bucket

func (b buckets[K]) getOrCreate(key K) *bucket {
	if b[key] == nil {
		b[key] = new(bucket)
	}
	return b[key]
}

// get returns the subscriptions of a key.
func (b buckets[K]) get(key K) bucket {
	if found := b[key]; found != nil {
		return *found
	}
	return nil
}

func (b buckets[K]) deleteIfEmpty(key K) {
	if len(b.get(key)) == 0 {
		delete(b, key)
	}
}
