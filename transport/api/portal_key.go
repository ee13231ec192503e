package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

const portalKeysPath = accountPath + "/portal-keys"

// portalKey as the API shows it; its secret only once.
type portalKey struct {
	ID         int64           `json:"id" description:"The value of kid in tokens, as a string."`
	Name       string          `json:"name"`
	Algorithm  string          `json:"algorithm" enum:"EdDSA,HS256"`
	PublicKey  *string         `json:"public_key" description:"For EdDSA: the 32 bytes in base64. Null for HS256."`
	UserID     *int64          `json:"user_id" description:"Who created it. Null for old keys. The key works as long as that member may create such keys."`
	LastUsedAt *transport.Time `json:"last_used_at" description:"Accurate to a minute."`
	CreatedAt  transport.Time  `json:"created_at"`
	Secret     string          `json:"secret,omitempty" description:"For HS256, returned only on creation. Sign tokens with the text as it is."`
}

type portalKeyInput struct {
	Name      string `json:"name" required:"true" maxLength:"200" example:"Customer area"`
	Algorithm string `json:"algorithm" required:"true" enum:"EdDSA,HS256" example:"EdDSA"`
	PublicKey string `json:"public_key" description:"Required for EdDSA: PEM, or the 32 bytes in base64." example:"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="`
}

type portalKeyID struct {
	PortalKeyID int64 `path:"portal_key_id"`
}

func (a *api) addPortalKeys(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Portal", Summary: summary, Description: description}
	}
	create := op("createPortalKey", http.MethodPost, portalKeysPath, "Create a portal key",
		"An application that embeds the desk signs a portal token for a customer who is signed in there. A portal token is a JSON Web Token "+
			"(RFC 7519), sent as `Authorization: Bearer`. Its header has the key's id as `kid` and the key's `alg`; its claims are `aud`: "+
			"`account:<account_id>`, `email`: the customer's verified address, `iat` and `exp`, at most an hour apart, and as you like "+
			"`nbf`, `name` (for a customer who is new), `iss` and `sub` (not looked at). Clocks may differ by 30 seconds. Its bearer reads "+
			"and begins the customer's own conversations, and posts customer interactions and files to them, nothing else. Needs accounts.update.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, a.createPortalKey)
	transport.HandlePage(t, a.desk, op("listPortalKeys", http.MethodGet, portalKeysPath, "List portal keys", "Needs accounts.update."), a.listPortalKeys)
	transport.HandleEmpty(t, a.desk, op("deletePortalKey", http.MethodDelete, portalKeysPath+"/{portal_key_id}", "Delete a portal key",
		"Tokens signed with it are refused. Needs accounts.update."), a.deletePortalKey)
}

func (a *api) createPortalKey(ctx context.Context, d *helpdesk.Desk, in portalKeyInput) (portalKey, error) {
	created, secret, err := d.PortalKeys().Create(ctx, helpdesk.PortalKeyInput{Name: in.Name, Algorithm: in.Algorithm, PublicKey: in.PublicKey})
	out := showPortalKey(created)
	out.Secret = secret
	return out, err
}

func (a *api) listPortalKeys(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[portalKey], error) {
	page, err := d.PortalKeys().List(ctx, in.Request())
	return mapPage(page, showPortalKey), err
}

func (a *api) deletePortalKey(ctx context.Context, d *helpdesk.Desk, in portalKeyID) error {
	return d.PortalKeys().Delete(ctx, in.PortalKeyID)
}

func showPortalKey(k helpdesk.PortalKey) portalKey {
	return portalKey{
		ID: k.ID, Name: k.Name, Algorithm: k.Algorithm, PublicKey: base64OrNull(k.PublicKey), UserID: idOrNull(k.UserID),
		LastUsedAt: transport.TimePtr(&k.LastUsedAt), CreatedAt: transport.Time(k.CreatedAt),
	}
}
