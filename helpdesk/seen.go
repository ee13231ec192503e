package helpdesk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/fault"
)

// seenToken identifies a reply's delivery in its tracking image. It is opaque, the same in every attempt, and unforgeable: a
// MAC of the content also encrypts it.
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

// seenMask encrypts or decrypts a token's content.
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

// seenToken returns a message's token, "" unless it may contain a tracking image: the account enables it, and the
// conversation's customer is the only recipient. With several readers, it would be unclear who opened it.
func (o *Outgoing) seenToken(ctx context.Context, r Reader, reply *begunReply) (string, error) {
	i, c := reply.i, reply.c
	if i.IsForward || i.Automatic() || len(i.To)+len(i.Cc)+len(i.Bcc) != 1 || len(i.To) != 1 || mailaddr.Key(i.To[0]) != mailaddr.Key(c.CustomerEmail) {
		return "", nil
	}
	account, err := r.Account(ctx)
	if err != nil || !account.TrackSeen || len(reply.deliveries) != 1 {
		return "", err
	}
	return o.svc.seenToken(account.ID, i.ID, reply.deliveries[0].ID), nil
}

// SeenByPixel marks a reply as seen by its customer because the message's image was requested; the first request counts. It
// is written later, see [Service.Run], if the reply exists and its account enables this. A forged token is a NotFound fault,
// which must not be revealed to the client.
//
// Some programs load images before a message is read, and some readers load none, so this is a hint, no proof.
func (s *Service) SeenByPixel(ctx context.Context, token string) error {
	accountID, id, ok := s.readSeenToken(token)
	if !ok {
		return fault.New(fault.NotFound, "There is no such token.")
	}
	s.marks.Add(ctx, mark{kind: answerSeen, account: accountID, id: id}, s.now())
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
	if !account.TrackSeen || i.Type != TypeUser || i.Automatic() || i.IsForward || i.SendStartedAt.IsZero() || !i.SeenAt.IsZero() {
		return nil
	}
	c, err := tx.Conversations().Get(ctx, i.ConversationID)
	if err != nil {
		return err
	}
	_, err = markSeen(ctx, tx, c, []int64{id}, at)
	return err
}
