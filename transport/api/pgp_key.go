package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// pgpKey as the API shows it.
type pgpKey struct {
	ID            int64           `json:"id"`
	Name          string          `json:"name"`
	Fingerprint   string          `json:"fingerprint" description:"Upper-case hex."`
	ExpiresAt     *transport.Time `json:"expires_at" description:"Null: never."`
	CustomerEmail emailOfKey      `json:"customer_email"`
	CreatedAt     transport.Time  `json:"created_at"`
	UpdatedAt     transport.Time  `json:"updated_at"`
}

// emailOfKey is an address with times. Addresses have no times of their own, so they are the customer's.
type emailOfKey struct {
	ID        int64          `json:"id"`
	Email     string         `json:"email"`
	CreatedAt transport.Time `json:"created_at" description:"Name of the customer."`
	UpdatedAt transport.Time `json:"updated_at" description:"Name of the customer."`
}

type pgpKeyInput struct {
	CustomerID      int64  `path:"customer_id"`
	CustomerEmailID int64  `json:"customer_email_id" required:"true" example:"1"`
	Name            string `json:"name" maxLength:"200" description:"Default: the key's primary user id."`
	Content         string `json:"content" required:"true" description:"Base64 of one OpenPGP public key, armored or binary, for the address."`
}

type pgpKeyList struct {
	transport.Paging
	customerID
}

type pgpKeyID struct {
	CustomerID int64 `path:"customer_id"`
	KeyID      int64 `path:"key_id"`
}

type pgpKeyUpdate struct {
	pgpKeyID
	Name string `json:"name" required:"true" maxLength:"200" example:"Work"`
}

const (
	pgpKeysPath = customerPath + "/pgp-public-keys"
	pgpKeyPath  = pgpKeysPath + "/{key_id}"
)

func (a *api) addPGPKeys(t *transport.Table) {
	const off = " 404 with code feature_disabled if PGP is switched off."
	transport.Handle(t, a.desk, transport.Operation{
		ID: "createPGPKey", Method: http.MethodPost, Path: pgpKeysPath, Tag: "PGP keys", Status: http.StatusCreated, Bare: true,
		Summary:     "Add a PGP public key to an address of a customer",
		Description: "422 for a key that cannot encrypt mail: expired, revoked, signing only, or private. Needs pgp_keys.create." + off,
	}, a.createPGPKey)
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listPGPKeys", Method: http.MethodGet, Path: pgpKeysPath, Tag: "PGP keys",
		Summary:     "List the PGP public keys of a customer",
		Description: "Oldest first. Needs pgp_keys.view." + off,
	}, a.listPGPKeys)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getPGPKey", Method: http.MethodGet, Path: pgpKeyPath, Tag: "PGP keys", Bare: true,
		Summary:     "Retrieve a PGP public key",
		Description: "Needs pgp_keys.view." + off,
	}, a.getPGPKey)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "updatePGPKey", Method: http.MethodPut, Path: pgpKeyPath, Tag: "PGP keys", Bare: true,
		Summary:     "Rename a PGP public key",
		Description: "Needs pgp_keys.update." + off,
	}, a.updatePGPKey)
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "deletePGPKey", Method: http.MethodDelete, Path: pgpKeyPath, Tag: "PGP keys",
		Summary:     "Delete a PGP public key",
		Description: "Mail to the address is then sent unencrypted unless it has another key. Needs pgp_keys.delete." + off,
	}, a.deletePGPKey)
}

func (a *api) createPGPKey(ctx context.Context, d *helpdesk.Desk, in pgpKeyInput) (pgpKey, error) {
	k, err := d.PGPKeys().Create(ctx, in.CustomerID, helpdesk.PGPKeyInput{CustomerEmailID: in.CustomerEmailID, Name: in.Name, Content: in.Content})
	return showPGPKey(k), err
}

func (a *api) listPGPKeys(ctx context.Context, d *helpdesk.Desk, in pgpKeyList) (storage.Page[pgpKey], error) {
	page, err := d.PGPKeys().List(ctx, in.CustomerID, in.Request())
	return mapPage(page, showPGPKey), err
}

func (a *api) getPGPKey(ctx context.Context, d *helpdesk.Desk, in pgpKeyID) (pgpKey, error) {
	k, err := d.PGPKeys().Get(ctx, in.CustomerID, in.KeyID)
	return showPGPKey(k), err
}

func (a *api) updatePGPKey(ctx context.Context, d *helpdesk.Desk, in pgpKeyUpdate) (pgpKey, error) {
	k, err := d.PGPKeys().Update(ctx, in.CustomerID, in.KeyID, in.Name)
	return showPGPKey(k), err
}

func (a *api) deletePGPKey(ctx context.Context, d *helpdesk.Desk, in pgpKeyID) error {
	return d.PGPKeys().Delete(ctx, in.CustomerID, in.KeyID)
}

func showPGPKey(k helpdesk.AddressedKey) pgpKey {
	return pgpKey{
		ID: k.ID, Name: k.Name, Fingerprint: k.Fingerprint, ExpiresAt: transport.TimePtr(&k.ExpiresAt),
		CustomerEmail: emailOfKey{
			ID: k.CustomerEmailID, Email: k.Email, CreatedAt: transport.Time(k.Customer.CreatedAt), UpdatedAt: transport.Time(k.Customer.UpdatedAt),
		},
		CreatedAt: transport.Time(k.CreatedAt), UpdatedAt: transport.Time(k.UpdatedAt),
	}
}
