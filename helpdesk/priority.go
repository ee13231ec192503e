package helpdesk

// Priority is the urgency of a conversation. It does not affect the order of lists.
type Priority string

// The priorities of a conversation.
const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal" // the default
	PriorityHigh   Priority = "high"
	PriorityUrgent Priority = "urgent"
)

// Priorities lists all priorities, the least urgent first.
func Priorities() []Priority {
	return []Priority{PriorityLow, PriorityNormal, PriorityHigh, PriorityUrgent}
}

const mustBePriority = "must be low, normal, high or urgent"

func (p Priority) valid() bool {
	switch p {
	case PriorityLow, PriorityNormal, PriorityHigh, PriorityUrgent:
		return true
	}
	return false
}
