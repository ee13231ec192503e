package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

type pictureInput struct {
	File *transport.Upload `json:"file" required:"true"`
}

type userID struct {
	UserID int64 `path:"user_id"`
}

func (a *api) addPictures(t *transport.Table) {
	set := transport.Operation{
		ID: "setPicture", Method: http.MethodPut, Path: "/user/picture", Tag: "Users",
		Summary: "Set the caller's picture",
		Description: "multipart/form-data with a JPEG, PNG or GIF of at most 8 MB and 30 megapixels. Its middle becomes a JPEG of " +
			"256 × 256 pixels, without the file's other data. Not allowed with a token that has scopes.",
		MaxBody: helpdesk.MaxPicture + multipartRoom,
	}
	transport.Handle(t, a.admin, set, a.setPicture)
	transport.HandleEmpty(t, a.admin, transport.Operation{
		ID: "deletePicture", Method: http.MethodDelete, Path: "/user/picture", Tag: "Users",
		Summary:     "Remove the caller's picture",
		Description: "Not allowed with a token that has scopes.",
	}, func(ctx context.Context, admin *helpdesk.Admin, _ struct{}) error {
		_, err := admin.RemovePicture(ctx)
		return err
	})
	transport.HandleContent(t, a.desk, transport.Operation{
		ID: "getPicture", Method: http.MethodGet, Path: accountPath + "/users/{user_id}/picture", Tag: "Users",
		Summary:     "Download a member's picture",
		Description: "A JPEG of 256 × 256 pixels. 404 if there is none.",
	}, a.getPicture)
}

func (a *api) setPicture(ctx context.Context, admin *helpdesk.Admin, in pictureInput) (me, error) {
	if in.File == nil {
		return me{}, fault.Field("file", "is required")
	}
	image, err := in.File.Open()
	if err != nil {
		return me{}, fault.Wrap(fault.Internal, "opening an upload", err)
	}
	defer image.Close()
	var u identity.User
	u, err = admin.SetPicture(ctx, image)
	return showMe(u), err
}

func (a *api) getPicture(ctx context.Context, d *helpdesk.Desk, in userID) (transport.Content, error) {
	content, err := d.Members().Picture(ctx, in.UserID)
	if err != nil {
		return transport.Content{}, err
	}
	sum := sha256.Sum256(content)
	return transport.Content{
		Type: helpdesk.PictureType, ETag: hex.EncodeToString(sum[:8]), Held: len(content), Body: memory{bytes.NewReader(content)},
	}, nil
}
