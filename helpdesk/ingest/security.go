package ingest

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/pgp"
)

// security checks a message's signature against its sender's keys.
func (f *Filer) security(ctx context.Context, accountID int64, from string, p mail.Protection) (ledger.Security, error) {
	out := ledger.Security{Protocol: p.Protocol, Encrypted: p.Encrypted, Signature: ledger.SignatureNone}
	if !p.Signed {
		return out, nil
	}
	out.Signature = ledger.SignatureUnchecked
	if p.Signature == nil {
		return out, nil
	}
	keys, enabled, err := f.cfg.Intake.SenderKeys(ctx, accountID, from)
	if err != nil || !enabled {
		return out, err
	}
	verdict, fingerprint := pgp.Verify(keys, p.Content, p.Signature, f.cfg.Now())
	out.Signature, out.Fingerprint = ledger.SignatureState(verdict), fingerprint
	return out, nil
}
