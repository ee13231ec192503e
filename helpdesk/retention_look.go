package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// retentionBatch is how many conversations are read and matched together.
const retentionBatch = 200

// retentionLook finds what a retention policy is about at a time, page by page in the order of the last activity.
type retentionLook struct {
	r       Reader
	p       RetentionPolicy
	at      time.Time
	match   compiledSLAs
	refused map[int64]bool // customers who are not to be erased
}

// matcherOf compiles the conditions of a policy.
func matcherOf(p RetentionPolicy, fields []Field) compiledSLAs {
	only := rules.Rule{ID: 1, On: []string{slaOccasion}, All: p.All, Any: p.Any}
	return compiledSLAs{fields: fields, set: rules.Compile(slaVocabulary(fields), []rules.Rule{only})}
}

// nextDue returns the conversations after a position whose time is over, and whether there may be more.
func (l *retentionLook) nextDue(ctx context.Context, from *storage.Position) (batch []Conversation, more bool, err error) {
	order := ConversationOrder{ConversationFilter: ConversationFilter{Unerased: l.p.Action != RetainNothing}, Sort: ByUpdated}
	batch, err = l.r.Conversations().List(ctx, order, storage.Seek{From: from, Limit: retentionBatch})
	before := l.p.Before(l.at)
	for i, c := range batch {
		if c.UpdatedAt.After(before) {
			return batch[:i], false, err
		}
	}
	return batch, len(batch) == retentionBatch, err
}

// retentionPosition returns where a conversation is in the order of the last activity.
func retentionPosition(c Conversation) storage.Position {
	return storage.Position{Key: c.SortKey(ByUpdated), ID: c.ID}
}

// matching returns which of some conversations are over and match, those on hold among them.
func (l *retentionLook) matching(ctx context.Context, batch []Conversation) (map[int64]bool, error) {
	matched := map[int64]bool{}
	if len(batch) == 0 {
		return matched, nil
	}
	facts, err := l.match.facts(ctx, l.r, batch)
	if err != nil {
		return nil, err
	}
	for _, c := range batch {
		if l.p.over(c, l.at) && l.match.match(c, facts[c.ID]) != 0 {
			matched[c.ID] = true
		}
	}
	return matched, nil
}

// customerDue reports whether a customer is to be erased: all own conversations are due and match, and those of others are due.
func (l *retentionLook) customerDue(ctx context.Context, customerID int64) (bool, error) {
	if l.refused[customerID] {
		return false, nil
	}
	due, err := l.everyDue(ctx, customerID)
	if err == nil && !due {
		l.refused[customerID] = true
	}
	return due, err
}

func (l *retentionLook) everyDue(ctx context.Context, customerID int64) (bool, error) {
	customer, err := l.r.Customer(ctx, customerID)
	if fault.Is(err, fault.NotFound) {
		return false, nil // erased meanwhile
	}
	if err != nil {
		return false, err
	}
	for _, e := range customer.Emails {
		if Unreachable(e.Key) {
			return false, nil
		}
	}
	seek := storage.Seek{Limit: retentionBatch}
	for {
		some, err := l.r.Involving(ctx, customerID, customer.keys(), seek)
		if err != nil {
			return false, err
		}
		matched, err := l.matching(ctx, some)
		if err != nil {
			return false, err
		}
		for _, c := range some {
			own := c.CustomerID == customerID
			quiet := !c.UpdatedAt.After(l.p.Before(l.at)) && c.SnoozedUntil.UnixMicro() <= 0
			if c.IsHeld() || !quiet || own && !matched[c.ID] && c.ErasedAt.Before(c.UpdatedAt) {
				return false, nil
			}
			seek.From = &storage.Position{ID: c.ID}
		}
		if len(some) < seek.Limit {
			return true, nil
		}
	}
}

// previewDue counts what the policy would do.
func (l *retentionLook) previewDue(ctx context.Context) (RetentionPreview, error) {
	var out RetentionPreview
	var from *storage.Position
	customers := map[int64]bool{} // whether they are to be erased
	for examined, more := 0, true; more; {
		batch, rest, err := l.nextDue(ctx, from)
		if err != nil {
			return RetentionPreview{}, err
		}
		matched, err := l.matching(ctx, batch)
		if err != nil {
			return RetentionPreview{}, err
		}
		for _, c := range batch {
			last := retentionPosition(c)
			from = &last
			if !matched[c.ID] {
				continue
			}
			if c.IsHeld() {
				out.Held++
				continue
			}
			if l.p.Action == RetainNoCustomer {
				due, known := customers[c.CustomerID]
				if !known && len(customers) == mostPreviewedCustomer {
					out.AtLeast = true
					return out, nil
				}
				if !known {
					if due, err = l.customerDue(ctx, c.CustomerID); err != nil {
						return RetentionPreview{}, err
					}
					customers[c.CustomerID] = due
					if due {
						out.Customers++
					}
				}
				if !due {
					continue
				}
			}
			if out.Conversations++; out.Conversations == 1 {
				out.Oldest = c.UpdatedAt
			}
			if len(out.Examples) < retentionExamples {
				out.Examples = append(out.Examples, c)
			}
		}
		examined += len(batch)
		more = rest
		if more && examined >= mostPreviewed {
			out.AtLeast = true
			more = false
		}
	}
	return out, nil
}
