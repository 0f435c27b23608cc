package prose

// Nobody is evicted. <!-- want Berth.People: 'Nobody' -->
const people = 0

// report tells the agent. <!-- want Berth.Personification: 'tells' -->
func report() {}

// A placement has ten seats. <!-- want Berth.Metaphor: 'seats' -->
type placement struct {
	// A cluster is one that has a lease. <!-- want Berth.Shape: 'one that' -->
	cluster string
}

// The manager reads the lease of the cluster and writes the taint of the cluster and records the event of the cluster and
// counts the metric of the cluster and updates the condition of the cluster at once.
// <!-- want Berth.Length: more than 32 words -->
var length = 0 // whoever reads this <!-- want Berth.People: 'whoever' -->
