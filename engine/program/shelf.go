package program

// shelf lists readers that a change may concern, each as often as it was filed. Filing and taking out cost the same however
// long it is. No order is to be had from it.
type shelf []*reader

// place is where a reader is filed.
type place struct {
	on *shelf
	at int
}

// file puts the reader on a shelf.
func (r *reader) file(on *shelf) {
	r.places = append(r.places, place{on, len(*on)})
	*on = append(*on, r)
}

// unfile takes the reader from all its shelves: the last of a shelf fills the gap.
func (r *reader) unfile() {
	for len(r.places) > 0 {
		p := r.places[len(r.places)-1]
		r.places = r.places[:len(r.places)-1]
		last := len(*p.on) - 1
		if filler := (*p.on)[last]; p.at != last {
			(*p.on)[p.at] = filler
			filler.moved(place{p.on, last}, p.at)
		}
		(*p.on)[last] = nil
		if *p.on = (*p.on)[:last]; last == 0 {
			*p.on = nil
		}
	}
}

func (r *reader) moved(from place, to int) {
	for i := range r.places {
		if r.places[i] == from {
			r.places[i].at = to
		}
	}
}

// shelves are shelves by what is read. They appear and go with their readers.
type shelves[K comparable] map[K]*shelf

func (s shelves[K]) at(key K) *shelf {
	if s[key] == nil {
		s[key] = new(shelf)
	}
	return s[key]
}

// on returns the readers at a key.
func (s shelves[K]) on(key K) shelf {
	if found := s[key]; found != nil {
		return *found
	}
	return nil
}

func (s shelves[K]) tidy(key K) {
	if len(s.on(key)) == 0 {
		delete(s, key)
	}
}
