package bind_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/form"
	"github.com/helpwright/helpwright/transport/internal/bind"
)

type locale string

func (l *locale) UnmarshalText(b []byte) error {
	if len(b) != 2 {
		return errors.New("must have two letters")
	}
	*l = locale(bytes.ToLower(b))
	return nil
}

type email struct {
	ID    storage.Opt[int64] `json:"id"`
	Email string             `json:"email"`
}

type day struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type translation struct {
	Name    string              `json:"name"`
	Summary storage.Opt[string] `json:"summary"`
}

type Page struct {
	Limit int `query:"limit"`
}

func (p *Page) SetDefaults() { p.Limit = 50 }
func (p *Page) CheckInput(problem func(field, text string)) {
	if p.Limit > 100 {
		problem("limit", "is too large")
	}
}

type input struct {
	Page
	AccountID    int64                       `path:"account_id"`
	Name         string                      `json:"name"`
	Count        int                         `json:"count"`
	Small        int8                        `json:"small"`
	Unsigned     uint16                      `json:"unsigned"`
	Order        float64                     `json:"order"`
	Active       bool                        `json:"active"`
	At           time.Time                   `json:"at"`
	Locale       locale                      `json:"locale"`
	Pointer      *int64                      `json:"pointer"`
	Tags         []int64                     `json:"tags"`
	To           []string                    `json:"to"`
	Emails       []email                     `json:"emails"`
	Translations map[string]translation      `json:"translations"`
	Schedule     storage.Opt[map[string]day] `json:"schedule"`
	UserID       storage.Opt[int64]          `json:"user_id"`
	Note         storage.Opt[string]         `json:"note"`
	Items        storage.Opt[[]string]       `json:"items"`
	Filter       map[string][]string         `json:"filter" alias:"filters"`
	File         *form.File                  `json:"file"`
	Children     []node                      `json:"children"`
	Ignored      string                      `json:"-"`
}

type node struct {
	Name     string `json:"name"`
	Children []node `json:"children"`
}

var (
	plan = compile[input]()
	opts = cmp.Options{
		cmp.AllowUnexported(input{}, Page{}, form.File{}, storage.Opt[int64]{}, storage.Opt[string]{}, storage.Opt[[]string]{}, storage.Opt[map[string]day]{}),
	}
)

func compile[T any]() *bind.Plan {
	p, err := bind.Compile(reflect.TypeFor[T]())
	if err != nil {
		panic(err)
	}
	return p
}

func decode(t testing.TB, body *form.Node) (input, error) {
	t.Helper()
	var in input
	err := plan.Decode(&in, bind.Source{Path: map[string]string{"account_id": "7"}, Body: body})
	return in, err
}

func ptr[T any](v T) *T { return &v }

func base(change func(*input)) input {
	in := input{Page: Page{50}, AccountID: 7}
	change(&in)
	return in
}

// The same meaning in a form, in a multipart body and in JSON gives the same input.
func TestEncodingsAgree(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		form, json string
		want       func(*input)
	}{
		{"", `{}`, func(*input) {}},
		{"name=x&unknown=1&unknown2[a][b]=2", `{"name":"x","unknown":1,"unknown2":{"a":[]}}`, func(in *input) { in.Name = "x" }},
		{"name=", `{"name":""}`, func(*input) {}},
		{"count=-12&small=127&unsigned=65535", `{"count":-12,"small":127,"unsigned":65535}`, func(in *input) { in.Count, in.Small, in.Unsigned = -12, 127, 65535 }},
		{"count=12", `{"count":"12"}`, func(in *input) { in.Count = 12 }},
		{"order=1.5", `{"order":1.5}`, func(in *input) { in.Order = 1.5 }},
		{"order=-2e3", `{"order":"-2e3"}`, func(in *input) { in.Order = -2000 }},
		{"order=&count=&active=&at=&locale=", `{"order":null,"count":null,"active":null,"at":null,"locale":null}`, func(*input) {}},
		{"active=1", `{"active":true}`, func(in *input) { in.Active = true }},
		{"active=on", `{"active":1}`, func(in *input) { in.Active = true }},
		{"active=true", `{"active":"true"}`, func(in *input) { in.Active = true }},
		{"active=0", `{"active":false}`, func(*input) {}},
		{"active=off", `{"active":0}`, func(*input) {}},
		{"at=2026-01-02T13:00:00%2B01:00", `{"at":"2026-01-02T12:00:00Z"}`, func(in *input) { in.At = noon }},
		{"locale=EN", `{"locale":"En"}`, func(in *input) { in.Locale = "en" }},
		{"pointer=3", `{"pointer":3}`, func(in *input) { in.Pointer = ptr(int64(3)) }},
		{"pointer=", `{"pointer":null}`, func(*input) {}},
		{"tags[]=1&tags[]=2", `{"tags":[1,"2"]}`, func(in *input) { in.Tags = []int64{1, 2} }},
		{"tags[5]=2&tags[1]=1", `{"tags":{"1":1,"5":2}}`, func(in *input) { in.Tags = []int64{1, 2} }},
		{"tags=1&tags=2", `{"tags":[1,2]}`, func(in *input) { in.Tags = []int64{1, 2} }},
		{"tags=&to[]=", `{"tags":[],"to":[]}`, func(in *input) { in.Tags, in.To = []int64{}, []string{} }},
		{"emails[0][email]=a&emails[1][id]=2&emails[1][email]=b", `{"emails":[{"email":"a"},{"id":2,"email":"b"}]}`, func(in *input) {
			in.Emails = []email{{Email: "a"}, {ID: storage.Some(int64(2)), Email: "b"}}
		}},
		{"emails[][email]=a&emails[][email]=b", `{"emails":[{"email":"a"},{"email":"b"}]}`, func(in *input) { in.Emails = []email{{Email: "a"}, {Email: "b"}} }},
		{"translations[en-GB][name]=n&translations[de][summary]=", `{"translations":{"en-GB":{"name":"n"},"de":{"summary":""}}}`, func(in *input) {
			in.Translations = map[string]translation{"en-GB": {Name: "n"}, "de": {Summary: storage.Some("")}}
		}},
		{"translations=", `{"translations":[]}`, func(in *input) { in.Translations = map[string]translation{} }},
		{"schedule[mon][from]=09:00&schedule[mon][to]=17:00", `{"schedule":{"mon":{"from":"09:00","to":"17:00"}}}`, func(in *input) {
			in.Schedule = storage.Some(map[string]day{"mon": {"09:00", "17:00"}})
		}},
		{"schedule=&user_id=", `{"schedule":null,"user_id":null}`, func(in *input) {
			in.Schedule, in.UserID = storage.Null[map[string]day](), storage.Null[int64]()
		}},
		{"user_id=12", `{"user_id":"12"}`, func(in *input) { in.UserID = storage.Some(int64(12)) }},
		{"user_id=", `{"user_id":""}`, func(in *input) { in.UserID = storage.Null[int64]() }},
		{"note=", `{"note":""}`, func(in *input) { in.Note = storage.Some("") }},
		{"items=", `{"items":[]}`, func(in *input) { in.Items = storage.Some([]string{}) }},
		{"filters[status][]=posted", `{"filters":{"status":["posted"]}}`, func(in *input) { in.Filter = map[string][]string{"status": {"posted"}} }},
		{"filter[status][]=posted&filters[x]=y", `{"filter":{"status":["posted"]}}`, func(in *input) { in.Filter = map[string][]string{"status": {"posted"}} }},
		{"children[0][children][0][name]=x", `{"children":[{"children":[{"name":"x"}]}]}`, func(in *input) { in.Children = []node{{Children: []node{{Name: "x"}}}} }},
		{"file=", `{"file":null}`, func(*input) {}},
	} {
		want := base(tt.want)
		for name, body := range map[string]*form.Node{"form": formTree(t, tt.form), "multipart": multipartTree(t, tt.form), "json": jsonTree(t, tt.json)} {
			got, err := decode(t, body)
			if err != nil {
				t.Errorf("%s %s: %v", name, tt.form, err)
				continue
			}
			if diff := cmp.Diff(want, got, opts); diff != "" {
				t.Errorf("%s %s: %s", name, tt.form, diff)
			}
		}
	}
	got, err := decode(t, jsonTree(t, `{"note":null,"items":null}`))
	if err != nil || !got.Note.IsNull() || !got.Items.IsNull() {
		t.Errorf("null of strings and lists: %+v %v", got, err)
	}
}

func formTree(t testing.TB, s string) *form.Node {
	t.Helper()
	n, err := form.Parse(s, form.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func jsonTree(t testing.TB, s string) *form.Node {
	t.Helper()
	n, err := form.ParseJSON([]byte(s), form.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func multipartTree(t testing.TB, s string) *form.Node {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for pair := range strings.SplitSeq(s, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			value, err := url.QueryUnescape(value)
			if err != nil {
				t.Fatal(err)
			}
			_ = w.WriteField(name, value)
		}
	}
	_ = w.Close()
	n, cleanup, err := form.ParseMultipart(&b, w.Boundary(), form.Limits{})
	t.Cleanup(cleanup)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ form, json, field, problem string }{
		{"count=x", `{"count":"x"}`, "count", "must be an integer"},
		{"count=1.0", `{"count":1.0}`, "count", "must be an integer"},
		{"count=1e3", `{"count":1e3}`, "count", "must be an integer"},
		{"count=%2B1", `{"count":"+1"}`, "count", "must be an integer"},
		{"count=+1", `{"count":" 1"}`, "count", "must be an integer"},
		{"count=1_000", `{"count":true}`, "count", "must be an integer"},
		{"count[a]=1", `{"count":[1]}`, "count", "must be an integer"},
		{"count=99999999999999999999", `{"count":99999999999999999999}`, "count", "is out of range"},
		{"small=128", `{"small":128}`, "small", "is out of range"},
		{"unsigned=-1", `{"unsigned":-1}`, "unsigned", "must be an integer of 0 or more"},
		{"order=Inf", `{"order":"NaN"}`, "order", "must be a number"},
		{"order=0x1p3", `{"order":"1_0"}`, "order", "must be a number"},
		{"order=1.", `{"order":".5"}`, "order", "must be a number"},
		{"order=1e999", `{"order":1e999}`, "order", "is out of range"},
		{"active=yes", `{"active":2}`, "active", "must be true or false"},
		{"active=TRUE", `{"active":"t"}`, "active", "must be true or false"},
		{"at=2026-01-02", `{"at":1}`, "at", "must be a time as in RFC 3339, such as 2006-01-02T15:04:05+00:00"},
		{"locale=eng", `{"locale":"eng"}`, "locale", "is not valid: must have two letters"},
		{"name[a]=1", `{"name":1}`, "name", "must be a string"},
		{"name=%ff", "{\"name\":\"\xff\"}", "name", "must be valid UTF-8 without NUL"},
		{"note=%00", `{"note":"\u0000"}`, "note", "must be valid UTF-8 without NUL"},
		{"tags=1", `{"tags":1}`, "tags", "must be a list"},
		{"tags[]=1&tags[]=", `{"tags":[1,null]}`, "tags[1]", "must not be empty"},
		{"tags[a]=1", `{"tags":{"a":1}}`, "tags[a]", "is no index of a list"},
		{"tags[1000]=1", `{"tags":{"1000":1}}`, "tags[1000]", "must be an index below 1000"},
		{"emails[7][email][x]=1", `{"emails":{"7":{"email":{}}}}`, "emails[7][email]", "must be a string"},
		{"emails[0]=a", `{"emails":["a"]}`, "emails[0]", "must be an object"},
		{"emails[0][email]=a&emails[1][id]=x", `{"emails":[{},{"id":"x"}]}`, "emails[1][id]", "must be an integer"},
		{"translations=x", `{"translations":[1]}`, "translations", "must be an object"},
		{"translations[en]=x", `{"translations":{"en":1}}`, "translations[en]", "must be an object"},
		{"schedule[mon][from][]=x", `{"schedule":{"mon":{"from":["x"]}}}`, "schedule[mon][from]", "must be a string"},
		{"file=x", `{"file":"x"}`, "file", "must be a file of a multipart body"},
		{"filters[a]=b", `{"filters":{"a":"b"}}`, "filters[a]", "must be a list"},
	} {
		for name, body := range map[string]*form.Node{"form": formTree(t, tt.form), "json": jsonTree(t, tt.json)} {
			_, err := decode(t, body)
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != fault.Invalid {
				t.Errorf("%s %s: %v", name, tt.form, err)
				continue
			}
			if diff := cmp.Diff(fault.Fields{tt.field: {tt.problem}}, f.Fields); diff != "" {
				t.Errorf("%s %s: %s", name, tt.form, diff)
			}
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	var in input
	err := plan.Decode(&in, bind.Source{
		Path: map[string]string{"account_id": "7"}, Query: formTree(t, "limit=101"),
		Body: formTree(t, "count=x&active=y&emails[3][id]=z"),
	})
	f, _ := errors.AsType[*fault.Error](err)
	want := fault.Fields{"count": {"must be an integer"}, "active": {"must be true or false"}, "emails[3][id]": {"must be an integer"}, "limit": {"is too large"}}
	if f == nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, f.Fields); diff != "" {
		t.Error(diff)
	}
}

// strict is a struct all of whose names must be known.
type strict struct {
	Known string `json:"known" alias:"old"`
	Page  *int64 `json:"page"`
}

func (*strict) RefuseUnknown() {}

func (*strict) CheckInput(problem func(field, text string)) { problem("list[2]", "is wrong") }

// Unknown names are problems in a strict struct, and only there.
func TestStrict(t *testing.T) {
	t.Parallel()
	plan := compile[struct {
		Filter strict `json:"filter" alias:"filters"`
	}]()
	for _, body := range []*form.Node{
		formTree(t, "filters[old]=a&filters[other][x]=b&more=c"), jsonTree(t, `{"filters": {"old": "a", "other": {"x": "b"}}, "more": 1}`),
	} {
		var in struct {
			Filter strict `json:"filter" alias:"filters"`
		}
		f, _ := errors.AsType[*fault.Error](plan.Decode(&in, bind.Source{Body: body}))
		want := fault.Fields{"filters[other]": {"is not known; known are known, page"}, "filters[list][2]": {"is wrong"}}
		if f == nil {
			t.Fatal("nothing is refused")
		}
		if diff := cmp.Diff(want, f.Fields); diff != "" || in.Filter.Known != "a" {
			t.Error(in.Filter.Known, diff)
		}
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	type both struct {
		ID  int64   `path:"id"`
		IDs []int64 `json:"ids"`
		Q   string  `query:"q"`
	}
	plan := compile[both]()
	var in both
	src := bind.Source{Path: map[string]string{"id": "1"}, Query: formTree(t, "ids[]=1&ids[]=2&q=x&id=9"), Body: formTree(t, "id=8&q=y"), BodyQuery: true}
	if err := plan.Decode(&in, src); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(both{1, []int64{1, 2}, "x"}, in); diff != "" {
		t.Error(diff)
	}
	for _, id := range []string{"", "x", "99999999999999999999"} {
		if err := plan.Decode(&in, bind.Source{Path: map[string]string{"id": id}}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		struct{ Name string }{}, struct {
			F func() `json:"f"`
		}{}, struct {
			M map[int]string `json:"m"`
		}{}, struct {
			A []any `json:"a"`
		}{}, 1,
	} {
		if _, err := bind.Compile(reflect.TypeOf(v)); err == nil {
			t.Errorf("%T compiled", v)
		}
	}
}

// FuzzDecode binds any form and any JSON body without a panic, and one text in one field alike, however it comes.
func FuzzDecode(f *testing.F) {
	for _, seed := range [][3]string{
		{"count=1&tags[]=2&emails[0][email]=x", `{"count":1,"tags":[2],"emails":[{"email":"x"}]}`, "1"},
		{"tags[999]=1&tags[1000]=2", `{"tags":{"5":1},"schedule":null}`, ""},
		{"children[0][children][0][children][0][name]=x", `{"children":[{"children":[]}]}`, "on"},
		{"order=1e999&at=x&user_id=", `{"order":1e400,"at":"2026-01-02T03:04:05Z"}`, "2026-01-02T03:04:05Z"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	names := []string{"name", "count", "order", "active", "at", "locale", "pointer", "tags", "emails", "translations", "user_id", "note", "items", "file"}
	f.Fuzz(func(t *testing.T, encoded, text, value string) {
		if tree, err := form.Parse(encoded, form.Limits{}); err == nil {
			if _, err := decode(t, tree); err != nil && !fault.Is(err, fault.Invalid) {
				t.Errorf("form: %v", err)
			}
		}
		if tree, err := form.ParseJSON([]byte(text), form.Limits{}); err == nil {
			if _, err := decode(t, tree); err != nil && !fault.Is(err, fault.Invalid) {
				t.Errorf("json: %v", err)
			}
		}
		body, err := json.Marshal(value)
		if err != nil || !utf8.ValidString(value) {
			return
		}
		for _, name := range names {
			a, errA := decode(t, formTree(t, name+"="+url.QueryEscape(value)))
			b, errB := decode(t, jsonTree(t, `{"`+name+`":`+string(body)+`}`))
			if fmt.Sprint(errA) != fmt.Sprint(errB) || !reflect.DeepEqual(a, b) {
				t.Errorf("%s=%q: form %+v %v, json %+v %v", name, value, a, errA, b, errB)
			}
		}
	})
}

const (
	benchForm = "first_name=Ada&last_name=Lovelace&company=Engines&emails[0][email]=ada%40example.org&emails[1][email]=a%40example.org&phones[0][phone]=1&websites[0][website]=x.example"
	benchJSON = `{"first_name":"Ada","last_name":"Lovelace","company":"Engines","emails":[{"email":"ada@example.org"},{"email":"a@example.org"}],"phones":[{"phone":"1"}],"websites":[{"website":"x.example"}]}`
)

type customer struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Company   string `json:"company"`
	Emails    []struct {
		Email string `json:"email"`
	} `json:"emails"`
	Phones []struct {
		Phone string `json:"phone"`
	} `json:"phones"`
	Websites []struct {
		Website string `json:"website"`
	} `json:"websites"`
}

// BenchmarkBind binds a customer as a form and as JSON; the floor is encoding/json without limits, null handling or field
// problems.
func BenchmarkBind(b *testing.B) {
	plan := compile[customer]()
	b.Run("form", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c customer
			tree, err := form.Parse(benchForm, form.Limits{})
			if err == nil {
				err = plan.Decode(&c, bind.Source{Body: tree})
			}
			if err != nil || c.Emails[1].Email != "a@example.org" {
				b.Fatal(err, c)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c customer
			tree, err := form.ParseJSON([]byte(benchJSON), form.Limits{})
			if err == nil {
				err = plan.Decode(&c, bind.Source{Body: tree})
			}
			if err != nil || c.Emails[1].Email != "a@example.org" {
				b.Fatal(err, c)
			}
		}
	})
	b.Run("floor-encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c customer
			if err := json.Unmarshal([]byte(benchJSON), &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func Example() {
	type input struct {
		AccountID int64               `path:"account_id"`
		Name      string              `json:"name"`
		UserID    storage.Opt[int64]  `json:"user_id"`
		Subject   storage.Opt[string] `json:"subject"`
	}
	plan, err := bind.Compile(reflect.TypeFor[input]())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := form.Parse("name=Ada&user_id=", form.Limits{})
	var in input
	err = plan.Decode(&in, bind.Source{Path: map[string]string{"account_id": "7"}, Body: body})
	fmt.Println(in.AccountID, in.Name, in.UserID.IsNull(), in.Subject.IsSet(), err)
	// Output: 7 Ada true false <nil>
}
