package desk

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// A browser that the member has asked to is told of notifications while the desk is closed. Its push service carries numbers
// only: the service worker asks the desk what they are about, as the member who is signed in.

func (h *Handler) routePush() {
	for pattern, fn := range map[string]func(*visit) error{
		"GET /push":                    (*visit).pushKey,
		"POST /push":                   (*visit).addPushDevice,
		"POST /push/remove":            (*visit).removePushDevice,
		"POST /push/test":              (*visit).testPush,
		"GET /notifications/{id}/push": (*visit).pushedNotification,
	} {
		h.mux.HandleFunc(below(pattern), h.member(fn))
	}
}

// pushURL returns the address for the script, "" if the server sends no push notifications.
func (v *visit) pushURL() string {
	if !v.h.cfg.Service.Pushes() {
		return ""
	}
	return v.at("/push")
}

func (v *visit) pushKey() error {
	key, err := v.Notifications().PushKey(v.ctx())
	if err != nil {
		return err
	}
	return v.json(map[string]string{"key": key})
}

func (v *visit) addPushDevice() error {
	in := helpdesk.PushDeviceInput{Endpoint: v.r.PostFormValue("endpoint"), Name: device(v.r.UserAgent())}
	var wrong [2]error
	in.PublicKey, wrong[0] = fromBase64(v.r.PostFormValue("p256dh"))
	in.Auth, wrong[1] = fromBase64(v.r.PostFormValue("auth"))
	if wrong[0] != nil || wrong[1] != nil {
		return fault.Field("public_key", "is not base64")
	}
	if _, err := v.Notifications().AddDevice(v.ctx(), in); err != nil {
		return err
	}
	return v.nothing()
}

func fromBase64(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
}

func (v *visit) removePushDevice() error {
	if err := v.Notifications().RemoveDevice(v.ctx(), v.r.PostFormValue("endpoint")); err != nil {
		return err
	}
	return v.nothing()
}

func (v *visit) testPush() error {
	if err := v.Notifications().TestDevice(v.ctx(), v.r.PostFormValue("endpoint")); err != nil {
		return err
	}
	return v.nothing()
}

// nothing answers the script that it was done.
func (v *visit) nothing() error {
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}

// pushedNotification tells the service worker what a notification is about; nothing if it was read meanwhile.
func (v *visit) pushedNotification() error {
	n, err := v.Notifications().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	if !n.ReadAt.IsZero() {
		return v.nothing()
	}
	rows, err := v.notices([]helpdesk.Notification{n})
	if err != nil {
		return err
	}
	one := rows[0]
	return v.json(browserNotice{ID: one.ID, Title: one.What, Text: one.Subject, Open: one.Open, About: one.About})
}
