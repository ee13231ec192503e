package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// Participants are the address keys that take part in a conversation, in bytewise order.
type Participants struct {
	ConversationID int64
	Keys           []string
}

// Redirect says where a conversation went that was merged into another one.
type Redirect struct {
	ConversationID int64 // it is gone
	MailboxID      int64 // that it was of
	IntoID         int64
}

// TransferReader reads in bulk what other readers give of one conversation at a time. It is for exports.
type TransferReader interface {
	// AllInteractions lists the interactions of all conversations, by id.
	AllInteractions(ctx context.Context, seek storage.Seek) ([]Interaction, error)
	// ParticipantsOf are those of conversations, by conversation; one without any is left out.
	ParticipantsOf(ctx context.Context, conversationIDs []int64) ([]Participants, error)
	// ReadMarks are those of conversations, by conversation and user.
	ReadMarks(ctx context.Context, conversationIDs []int64) ([]ReadMark, error)
	// Redirects are those that lead into conversations, by the conversation that is gone.
	Redirects(ctx context.Context, intoIDs []int64) ([]Redirect, error)
}

// TransferWriter writes what otherwise only comes about by what people do. It is for imports.
type TransferWriter interface {
	storage.IDMap
	// InsertMoves notes moves as they are, in their order. Neither conversations nor mailboxes are looked up; the interactions
	// must be there.
	InsertMoves(ctx context.Context, moves []Move) error
	// InsertRedirects notes redirects as they are. IntoID must be there; nothing else is looked up.
	InsertRedirects(ctx context.Context, redirects []Redirect) error
}

// IndexCustomers makes customers findable, and the conversations that are indexed later by them. It is for imports, in a
// transaction that has just inserted the customers.
func IndexCustomers(ctx context.Context, tx Tx, customers []Customer) error {
	for _, c := range customers {
		if err := indexCustomer(ctx, tx, c); err != nil {
			return err
		}
	}
	return nil
}

// IndexConversations makes conversations findable by their subjects and by what was said in them; interactions of others are
// passed over. It adds to what they are found by already. It is for imports, in a transaction that has just inserted the
// interactions.
func IndexConversations(ctx context.Context, tx Tx, conversations []Conversation, said []Interaction) error {
	of := make(map[int64][]Interaction, len(conversations))
	for _, i := range said {
		of[i.ConversationID] = append(of[i.ConversationID], i)
	}
	var index indexing
	for _, c := range conversations {
		if err := index.add(ctx, tx, c, of[c.ID]...); err != nil {
			return err
		}
	}
	return index.write(ctx, tx)
}

// Secrets returns the sealed fields of a mailbox. They are bound to InternalLocal.
func (m *Mailbox) Secrets() []storage.Secret {
	return []storage.Secret{
		{Sealed: &m.Inbound.SealedPassword, Context: passwordContext(m)}, {Sealed: &m.Inbound.OAuth.SealedSecrets, Context: oauthContext(m)},
		{Sealed: &m.Outbound.SealedPassword, Context: outboundContext(m)},
	}
}

// Secrets returns the sealed fields of a portal key. They are bound to the account and CreatedAt.
func (k *PortalKey) Secrets(accountID int64) []storage.Secret {
	return []storage.Secret{{Sealed: &k.SealedSecret, Context: k.secretContext(accountID)}}
}
