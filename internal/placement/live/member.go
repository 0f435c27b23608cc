package live

// addMember adds a member to the set at a key and returns whether it is new.
func addMember[K, M comparable](in map[K]map[M]struct{}, key K, member M) bool {
	if in[key] == nil {
		in[key] = map[M]struct{}{}
	}
	if _, there := in[key][member]; there {
		return false
	}
	in[key][member] = struct{}{}
	return true
}

// removeMember removes a member from the set at a key.
func removeMember[K, M comparable](in map[K]map[M]struct{}, key K, member M) {
	delete(in[key], member)
	if len(in[key]) == 0 {
		delete(in, key)
	}
}
