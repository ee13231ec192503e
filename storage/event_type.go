package storage

// EventType describes a type of events in the log of an account.
type EventType struct {
	Name        string // <area>.<past tense>, such as "conversation.created"
	Description string // what happened, in one sentence
}
