package registration

// The actions of the events about acceptance and deletion, which several controllers report.
const (
	ActionAcceptanceApplied = "AcceptanceApplied"
	ActionDeletionApplied   = "DeletionApplied"
)
