package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

const portalKeysPath = accountPath + "/portal-keys"

// portalKey as the API shows it; its secret only once.
type portalKey struct {
	ID         int64   `json:"id" description:"What tokens name as kid, as text."`
	Name       string  `json:"name"`
	Algorithm  string  `json:"algorithm" enum:"EdDSA,HS256"`
	PublicKey  *string `json:"public_key" description:"Of EdDSA: its 32 bytes in base64. Null for HS256."`
	UserID     *int64  `json:"user_id" description:"Who made it; null for keys of before this was noted. The key serves as long as that member may make it."`
	LastUsedAt *Time   `json:"last_used_at" description:"Exact to a minute."`
	CreatedAt  Time    `json:"created_at"`
	Secret     string  `json:"secret,omitempty" description:"Of HS256, in the answer to its creation only. Its text as it is signs tokens."`
}

type portalKeyInput struct {
	Name      string `json:"name" required:"true" maxLength:"200" example:"Customer area"`
	Algorithm string `json:"algorithm" required:"true" enum:"EdDSA,HS256" example:"EdDSA"`
	PublicKey string `json:"public_key" description:"Of EdDSA, required there: PEM, or its 32 bytes in base64." example:"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="`
}

type portalKeyID struct {
	PortalKeyID int64 `path:"portal_key_id"`
}

func (a *api) addPortalKeys(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Portal", Summary: summary, Description: description}
	}
	create := op("createPortalKey", http.MethodPost, portalKeysPath, "Register a key of portal tokens",
		"An application that embeds the desk signs a portal token for a customer who is signed in there. A portal token is a JSON Web Token "+
			"(RFC 7519), sent as `Authorization: Bearer`. Its header has the key's id as `kid` and the key's `alg`; its claims are `aud`: "+
			"`account:<account_id>`, `email`: the customer's verified address, `iat` and `exp`, at most an hour apart, and as you like "+
			"`nbf`, `name` (for a customer who is new), `iss` and `sub` (not looked at). Clocks may differ by 30 seconds. Its bearer reads "+
			"and begins the customer's own conversations, and posts customer interactions and files to them, nothing else. Needs accounts.update.")
	create.Status = http.StatusCreated
	Handle(t, a.desk, create, a.createPortalKey)
	HandlePage(t, a.desk, op("listPortalKeys", http.MethodGet, portalKeysPath, "List the keys of portal tokens", "Needs accounts.update."), a.listPortalKeys)
	HandleEmpty(t, a.desk, op("deletePortalKey", http.MethodDelete, portalKeysPath+"/{portal_key_id}", "Delete a key of portal tokens",
		"Tokens that it signed are not taken any more. Needs accounts.update."), a.deletePortalKey)
}

func (a *api) createPortalKey(ctx context.Context, d *helpdesk.Desk, in portalKeyInput) (portalKey, error) {
	created, secret, err := d.CreatePortalKey(ctx, helpdesk.PortalKeyInput{Name: in.Name, Algorithm: in.Algorithm, PublicKey: in.PublicKey})
	out := showPortalKey(created)
	out.Secret = secret
	return out, err
}

func (a *api) listPortalKeys(ctx context.Context, d *helpdesk.Desk, in Paging) (storage.Page[portalKey], error) {
	page, err := d.PortalKeys(ctx, in.Request())
	return mapPage(page, showPortalKey), err
}

func (a *api) deletePortalKey(ctx context.Context, d *helpdesk.Desk, in portalKeyID) error {
	return d.DeletePortalKey(ctx, in.PortalKeyID)
}

func showPortalKey(k helpdesk.PortalKey) portalKey {
	return portalKey{
		ID: k.ID, Name: k.Name, Algorithm: k.Algorithm, PublicKey: base64OrNull(k.PublicKey), UserID: idOrNull(k.UserID),
		LastUsedAt: TimePtr(&k.LastUsedAt), CreatedAt: Time(k.CreatedAt),
	}
}
