package selection

// nobody is the winner among no players.
const nobody = -1

// tournament finds the best of many players, of whom few change at a time. Players are numbers. Its winners are a binary
// tree: those of place n play for place n/2, and the best of all is at place 1.
type tournament struct {
	players int
	winners []int
}

func newTournament(players int) tournament {
	out := tournament{players: players, winners: make([]int, 2*max(players, 1))}
	for i := range out.winners {
		out.winners[i] = nobody
	}
	for i := range players {
		out.winners[players+i] = i
	}
	return out
}

// best returns the winner of all, or nobody.
func (t tournament) best() int {
	return t.winners[1]
}

// replay plays again all matches that the players from first up to, without, end are in.
func (t tournament) replay(first, end int, better func(a, b int) bool) {
	if first >= end {
		return
	}
	low, high := t.players+first, t.players+end-1
	for low > 1 {
		low, high = low/2, high/2
		for place := high; place >= low; place-- {
			t.winners[place] = winner(t.winners[2*place], t.winners[2*place+1], better)
		}
	}
}

func winner(a, b int, better func(a, b int) bool) int {
	switch {
	case a == nobody || b != nobody && better(b, a):
		return b
	default:
		return a
	}
}
