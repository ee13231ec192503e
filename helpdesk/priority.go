package helpdesk

// Priority says how urgent a conversation is. It orders no list by itself.
type Priority string

// The priorities of a conversation.
const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal" // of those that nobody gave another one
	PriorityHigh   Priority = "high"
	PriorityUrgent Priority = "urgent"
)

// Priorities lists them, the least urgent first.
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
