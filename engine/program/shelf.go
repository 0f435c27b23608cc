package program

// bucket lists readers that a change may concern, each as often as it was filed. Filing and taking out cost the same however
// long it is. No order is to be had from it.
type bucket []*subscription

// position is where a reader is filed.
type position struct {
	bucket *bucket
	index  int
}

// addTo puts the reader on a shelf.
func (r *subscription) addTo(on *bucket) {
	r.positions = append(r.positions, position{on, len(*on)})
	*on = append(*on, r)
}

// removeFromAll takes the reader from all its shelves: the last of a shelf fills the gap.
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

// buckets are shelves by what is read. They appear and go with their readers.
type buckets[K comparable] map[K]*bucket

func (s buckets[K]) getOrCreate(key K) *bucket {
	if s[key] == nil {
		s[key] = new(bucket)
	}
	return s[key]
}

// get returns the readers at a key.
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
