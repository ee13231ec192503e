package desk

import (
	_ "embed"
	"errors"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// zoneFile lists the time zones that members choose from: those of the IANA database's zone.tab, and UTC.
//
//go:embed zones.txt
var zoneFile string

var zoneNames = sync.OnceValue(func() []string { return strings.Fields(zoneFile) })

// profileView is the page of the member's own user.
type profileView struct {
	Name, Email, Action, PasswordAction string
	Person                              person
	PictureAction                       string
	HasPassword, Own                    bool // Own: the desk signs users in, not the application
	Preferences                         preferencesForm
	Signature                           *signatureForm
	Sessions                            []sessionRow
	Factor, FactorSince                 string // address of the second factor's page, and the date of its set-up
	Passkeys                            string // page of the passkeys
	PasskeyCount                        int
	Connected                           string // page of the identity providers; "" if there are none
	OthersAction                        string // ends all other sessions; "" if there are none
	Errors                              map[string]string
}

// preferencesForm is the form of a member's preferences.
type preferencesForm struct {
	Action    string
	Languages []tick
	Browser   string // language and zone that the browser has
	Here      string
	Zones     []zoneGroup
	Zone      string // a chosen zone that is in no group
	Now       string // the time of day with these choices
	Replies   bool   // the member writes replies
	Assign    bool
	Assigns   bool // the member may assign
	After     []tick
}

// zoneGroup are the time zones of a continent.
type zoneGroup struct {
	Name  string
	Zones []tick
}

func (v *visit) profilePage() error { return v.showProfile(v.user.Name, nil, 0) }

func (v *visit) showProfile(name string, problems map[string]string, status int, change ...func(*signatureForm)) error {
	view := profileView{Name: name, Email: v.user.Email, Action: v.at("/settings/profile"), PasswordAction: v.at("/settings/password"),
		Person: v.person(v.user), PictureAction: v.at("/settings/picture"), Preferences: v.preferencesForm(),
		HasPassword: v.user.PasswordHash != "", Own: v.h.cfg.Authenticate == nil, Errors: orEmpty(problems),
		Factor: v.h.url("/second-factor"), FactorSince: v.when(v.user.SecondFactorAt)}
	if view.Own {
		if err := v.countPasskeys(&view); err != nil {
			return err
		}
	}
	if len(v.service().SignIn().Providers()) > 0 {
		view.Connected = v.h.url("/connected")
	}
	if v.may(identity.InteractionsCreate) && v.may(identity.InteractionsView) {
		body, err := v.Signatures().Get(v.ctx())
		if err != nil {
			return err
		}
		view.Signature = v.signatureForm("signature", body)
		for _, fn := range change {
			fn(view.Signature)
		}
	}
	var err error
	if view.Sessions, err = v.sessions(); err != nil {
		return err
	}
	if len(view.Sessions) > 1 {
		view.OthersAction = v.at("/settings/sessions/others")
	}
	return v.settingsPage("profile", v.words.T("Profile"), view, status)
}

// zoneGroups returns the time zones by continent, and whether the chosen one is among them.
func zoneGroups(chosen string) (groups []zoneGroup, listed bool) {
	for _, name := range zoneNames() {
		region, place, _ := strings.Cut(name, "/")
		if place == "" {
			place = region
		}
		if n := len(groups); n == 0 || groups[n-1].Name != region {
			groups = append(groups, zoneGroup{Name: region})
		}
		g := &groups[len(groups)-1]
		g.Zones = append(g.Zones, tick{ID: name, Text: spaced(place), On: name == chosen})
		listed = listed || name == chosen
	}
	return groups, listed
}

// preferencesForm shows the member's preferences.
func (v *visit) preferencesForm() preferencesForm {
	chosen := v.user.Preferences
	f := preferencesForm{
		Action: v.at("/settings/preferences"), Browser: languageName(chooseWords(v.r).lang), Here: spaced(zoneOf(v.r).String()), Now: v.moment(v.now),
		Replies: v.may(identity.InteractionsCreate), Assign: !chosen.LeaveUnassigned, Assigns: v.may(identity.ConversationsAssign),
	}
	own := ""
	if chosen.Language != "" {
		own = v.words.lang
	}
	for _, lang := range languages {
		f.Languages = append(f.Languages, tick{ID: lang, Text: languageName(lang), On: lang == own})
	}
	var listed bool
	if f.Zones, listed = zoneGroups(chosen.TimeZone); !listed {
		f.Zone = chosen.TimeZone
	}
	now := v.afterSending()
	for _, a := range identity.AfterSendings() {
		f.After = append(f.After, tick{ID: string(a), Text: v.afterText(a), On: a == now})
	}
	return f
}

// spaced is a name of a time zone as people read it.
func spaced(zone string) string { return strings.ReplaceAll(zone, "_", " ") }

// prefer applies the member's language and time zone, which follow them into every browser.
func (v *visit) prefer() {
	p := v.user.Preferences
	if tag, err := language.Parse(p.Language); p.Language != "" && err == nil {
		v.words = matching(tag)
	}
	if p.TimeZone == "" {
		return
	}
	if zone, err := time.LoadLocation(p.TimeZone); err == nil {
		v.zone = zone
	}
}

// updateMe changes the member's own user and returns to the profile.
func (v *visit) updateMe(in identity.UserUpdate, done string) error {
	err := v.changeMe(in)
	if fault.Is(err, fault.Invalid) {
		return v.showProfile(in.Name.Or(v.user.Name), v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "profile", done)
}

// changeMe changes the member's own user.
func (v *visit) changeMe(in identity.UserUpdate) error {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	changed, err := admin.UpdateMe(v.ctx(), in)
	if err == nil {
		v.user = changed
	}
	return err
}

func (v *visit) saveProfile() error {
	return v.updateMe(identity.UserUpdate{Name: storage.Some(v.r.PostFormValue("name"))}, v.words.T("Saved"))
}

// savePreferences stores the preferences of the form, and says so in the language that was chosen. The browser remembers the
// language for pages before signing in.
func (v *visit) savePreferences() error {
	in := identity.PreferencesUpdate{Language: chosen(v.r.PostFormValue("language")), TimeZone: chosen(v.r.PostFormValue("zone"))}
	if v.r.PostFormValue("replies") != "" {
		in.AfterSending = storage.Some(identity.AfterSending(v.r.PostFormValue("after")))
	}
	if v.r.PostFormValue("assigns") != "" {
		in.AssignOnReply = storage.Some(v.r.PostFormValue("assign") != "")
	}
	err := v.changeMe(identity.UserUpdate{Preferences: in})
	if fault.Is(err, fault.Invalid) {
		return v.showProfile(v.user.Name, v.problems(err), http.StatusUnprocessableEntity)
	}
	if err == nil {
		v.rememberLanguage()
	}
	return v.unless(err, "profile", v.words.T("Saved"))
}

// rememberLanguage makes the browser remember the member's language.
func (v *visit) rememberLanguage() {
	c := v.setting(languageCookie, v.user.Preferences.Language)
	if v.user.Preferences.Language == "" {
		c.MaxAge = -1
		v.words = chooseWordsAnew(v.r)
	}
	http.SetCookie(v.w, c)
	v.prefer()
}

// chosen is a value of a form; null if it is empty.
func chosen(value string) storage.Opt[string] {
	if value == "" {
		return storage.Null[string]()
	}
	return storage.Some(value)
}

func (v *visit) savePassword() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	in := identity.UserUpdate{Password: v.r.PostFormValue("password"), CurrentPassword: v.r.PostFormValue("current_password")}
	if in.Password == "" {
		return v.showProfile(v.user.Name, map[string]string{"password": v.words.T("Use at least 8 characters")}, http.StatusUnprocessableEntity)
	}
	return v.updateMe(in, v.words.T("Password changed. You are signed out everywhere else."))
}

// savePicture makes an uploaded image the member's picture, or removes it.
func (v *visit) savePicture() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, helpdesk.MaxPicture+64<<10)
	files, err := v.pictureFiles()
	if err != nil {
		return v.pictureRefused(err)
	}
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	if v.r.PostFormValue("remove") != "" {
		_, err = admin.RemovePicture(v.ctx())
		return v.unless(err, "profile", v.words.T("Picture removed"))
	}
	if len(files) == 0 {
		return v.pictureRefused(fault.Field("picture", "is required"))
	}
	content, err := files[0].Open()
	if err != nil {
		return fault.Wrap(fault.Internal, "opening an upload", err)
	}
	defer func() { _ = content.Close() }() // only read
	if _, err = admin.SetPicture(v.ctx(), content); fault.Is(err, fault.Invalid) {
		return v.pictureRefused(err)
	}
	return v.unless(err, "profile", v.words.T("Picture saved"))
}

// pictureFiles reads the form of the picture.
func (v *visit) pictureFiles() ([]*multipart.FileHeader, error) {
	if err := v.r.ParseMultipartForm(1 << 20); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, fault.New(fault.TooLarge, "The picture is too large.")
		}
		return nil, fault.New(fault.Malformed, "The form could not be read.")
	}
	if v.r.MultipartForm == nil {
		return nil, nil
	}
	none := func(f *multipart.FileHeader) bool { return f.Filename == "" }
	return slices.DeleteFunc(v.r.MultipartForm.File["picture"], none), nil
}

func (v *visit) pictureRefused(err error) error {
	if fault.Is(err, fault.TooLarge) {
		err = fault.Field("picture", "is larger than 8 MB")
	}
	if !fault.Is(err, fault.Invalid) {
		return err
	}
	return v.showProfile(v.user.Name, v.problems(err), http.StatusUnprocessableEntity)
}

// picture serves a member's picture. Its address names its content.
func (v *visit) picture() error {
	content, err := v.Members().Picture(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", helpdesk.PictureType)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = v.w.Write(content) // the browser may have disconnected
	return nil
}

// afterText names where the desk leads after sending.
func (v *visit) afterText(a identity.AfterSending) string {
	switch a {
	case identity.AfterSendingNext:
		return v.words.T("Next conversation")
	case identity.AfterSendingList:
		return v.words.T("Back to the list")
	}
	return v.words.T("Stay here")
}

// knownAfter reports whether a choice is one.
func knownAfter(a identity.AfterSending) bool { return slices.Contains(identity.AfterSendings(), a) }
