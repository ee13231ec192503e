package helpdesk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/internal/portrait"
	"github.com/helpwright/helpwright/storage/fault"
)

// MaxPicture is the maximum size of an uploaded picture in bytes.
const MaxPicture = portrait.MaxBytes

// PictureType is the content type of a user's picture.
const PictureType = portrait.ContentType

// SetPicture makes the middle of an image the caller's picture: a JPEG of 256 × 256 pixels. The image is a JPEG, PNG or GIF of
// at most 8 MB and 30 megapixels; another is an Invalid fault. It is forbidden to tokens with scopes.
func (a *Admin) SetPicture(ctx context.Context, image io.Reader) (identity.User, error) {
	if _, err := a.guard.Write(ownUser); err != nil {
		return identity.User{}, err
	}
	content, err := io.ReadAll(io.LimitReader(image, MaxPicture+1))
	if err != nil {
		return identity.User{}, fault.New(fault.Malformed, "The picture could not be read.")
	}
	made, err := a.svc.portray(ctx, content)
	if err != nil {
		return identity.User{}, err
	}
	sum := sha256.Sum256(made)
	return a.setPicture(ctx, hex.EncodeToString(sum[:8]), made)
}

// portray makes a picture of an image. It makes one at a time: a large image takes a hundred megabytes.
func (s *Service) portray(ctx context.Context, image []byte) ([]byte, error) {
	select {
	case s.pictures <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.pictures }()
	return portrait.Make(image)
}

// RemovePicture removes the caller's picture. It is forbidden to tokens with scopes.
func (a *Admin) RemovePicture(ctx context.Context) (identity.User, error) {
	return a.setPicture(ctx, "", nil)
}

func (a *Admin) setPicture(ctx context.Context, name string, content []byte) (identity.User, error) {
	begin, err := a.guard.Write(ownUser)
	if err != nil {
		return identity.User{}, err
	}
	var user identity.User
	err = begin(ctx, func(ctx context.Context, tx SystemTx) error {
		if user, err = tx.UserForUpdate(ctx, a.userID); err != nil {
			return err
		}
		user.Picture, user.UpdatedAt = name, a.svc.now()
		if err := tx.SetPicture(ctx, user.ID, content); err != nil {
			return err
		}
		return tx.UpdateUser(ctx, &user)
	})
	return user, err
}

// Picture returns the picture of a member, of type [PictureType]. It is a NotFound fault if there is none.
func (d Members) Picture(ctx context.Context, userID int64) ([]byte, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return nil, err
	}
	return r.Picture(ctx, userID)
}
