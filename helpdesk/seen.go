package helpdesk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// seenToken names an answer to whoever gets its mail. It is opaque, the same in every
// try to send, and cannot be made up: the MAC of what it says is also what hides it.
func (s *Service) seenToken(accountID, interactionID, deliveryID int64) string {
	var b []byte
	for _, n := range []int64{accountID, interactionID, deliveryID} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	mac := seenMAC(s.cfg.SigningKey, "sign", b)[:seenMACLength]
	return tokenEncoding.EncodeToString(append(mac, seenMask(s.cfg.SigningKey, mac, b)...))
}

const seenMACLength = 12

func seenMAC(key []byte, use string, b []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("seen token v1 " + use + "\x00"))
	mac.Write(b)
	return mac.Sum(nil)
}

// seenMask hides what a token says, and shows it again.
func seenMask(key, mac, b []byte) []byte {
	out := make([]byte, len(b))
	for i, mask := range seenMAC(key, "hide", mac)[:len(b)] {
		out[i] = b[i] ^ mask
	}
	return out
}

func (s *Service) readSeenToken(token string) (accountID, interactionID int64, ok bool) {
	b, err := tokenEncoding.DecodeString(token)
	if err != nil || len(b) <= seenMACLength || len(b) > seenMACLength+3*binary.MaxVarintLen64 {
		return 0, 0, false
	}
	mac, hidden := b[:seenMACLength], b[seenMACLength:]
	var body []byte
	if !s.signedBy(func(key []byte) bool {
		body = seenMask(key, mac, hidden)
		return hmac.Equal(mac, seenMAC(key, "sign", body)[:seenMACLength])
	}) {
		return 0, 0, false
	}
	account, n := binary.Uvarint(body)
	if n <= 0 {
		return 0, 0, false
	}
	interaction, m := binary.Uvarint(body[n:])
	return int64(account), int64(interaction), m > 0
}

// seenToken of a mail, "" unless it may hold a pixel: the account asks for it, and the
// mail goes to the conversation's customer alone. Of several readers, agents among
// them, nobody could tell whose reading it was.
func (o *Outgoing) seenToken(ctx context.Context, tx Tx, c Conversation, i Interaction) (string, error) {
	if i.IsForward || len(i.To)+len(i.Cc)+len(i.Bcc) != 1 || len(i.To) != 1 || EmailKey(i.To[0]) != EmailKey(c.CustomerEmail) {
		return "", nil
	}
	account, err := tx.Account(ctx)
	if err != nil || !account.TrackSeen {
		return "", err
	}
	deliveries, err := tx.Deliveries().List(ctx, DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil || len(deliveries) != 1 {
		return "", err
	}
	return o.svc.seenToken(account.ID, i.ID, deliveries[0].ID), nil
}

// SeenByPixel notes that the image of an answer's mail was asked for: its customer has
// seen it, the first time counts. It is written soon, see [Service.Run], where the
// answer is there and its account asks for this. A token that is none of ours is a
// NotFound fault, which nobody outside may be told.
//
// Programs that load images before a mail is read, and readers that load none, make
// this a hint and no proof.
func (s *Service) SeenByPixel(ctx context.Context, token string) error {
	accountID, id, ok := s.readSeenToken(token)
	if !ok {
		return fault.New(fault.NotFound, "There is no such token.")
	}
	s.mark(ctx, mark{kind: answerSeen, account: accountID, id: id}, s.now())
	return nil
}

func (s *Service) seenByPixel(ctx context.Context, tx Tx, id int64, at time.Time) error {
	account, err := tx.Account(ctx)
	if err != nil {
		return err
	}
	i, err := tx.Interactions().Get(ctx, id)
	if err != nil {
		return err
	}
	if !account.TrackSeen || i.Type != TypeUser || i.IsForward || i.SendStartedAt.IsZero() || !i.SeenAt.IsZero() {
		return nil
	}
	c, err := tx.Conversations().Get(ctx, i.ConversationID)
	if err != nil {
		return err
	}
	_, err = markSeen(ctx, tx, c, []int64{id}, at)
	return err
}
