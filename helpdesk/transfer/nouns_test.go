package transfer

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage/transfer"
)

// A noun added to the help desk is transferred, or listed with the reason why not.
func TestAllNounsTravel(t *testing.T) {
	t.Parallel()
	travels := map[string]bool{}
	for _, n := range newNouns().all() {
		if n == nil || travels[n.Name()] {
			t.Fatalf("%v is twice among the nouns, or nothing", n)
		}
		travels[n.Name()] = true
	}
	if fields := reflect.TypeFor[nouns]().NumField(); fields != len(travels) {
		t.Errorf("%d nouns are declared, and %d listed", fields, len(travels))
	}
	declared := reflect.TypeFor[helpdesk.Declarations]()
	for i := range declared.NumField() {
		name := declared.Field(i).Name
		if _, out := LeftOut()[name]; out == travels[snake(name)] {
			t.Errorf("%s: an archive must either have it or leave it out for a reason", name)
		}
	}
}

// snake is how a noun is called in an archive.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(strings.NewReplacer("PGP", "Pgp", "SLA", "Sla").Replace(name))
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// plain are the numbers in rows that are no ids, or that do not travel: the store sets AccountID, and the account's default
// mailbox comes as settings, after the mailboxes.
var plain = strings.Fields(`NextNumber SendHold Number Day Port Epoch UIDValidity UID Failures Size Attempts Code References Known Deaths
	SortOrder After HeldBy Year Month Version RuleVersion Position OncePer Capacity ReturnAfter Load Free Of Hours ClockSeq
	FirstReply NextReply Resolution DueSoon Scale Score Delay SLAs AccountID account.DefaultMailboxID
	AfterDays Key Examined Conversations Customers Held Failed`)

// Every number in a row is passed to visitors as an id, or is listed as not being one.
func TestAllIDsAreShown(t *testing.T) {
	t.Parallel()
	for _, n := range newNouns().all() {
		row, walk := n.Sample()
		fill(reflect.ValueOf(row).Elem(), "")
		before := numbers(reflect.ValueOf(row).Elem(), "")
		change := func(_ string, id *int64) { *id += 1000 }
		walk(transfer.NewVisitor(change, func(noun string, id *int64, _ bool) { change(noun, id) }))
		after := numbers(reflect.ValueOf(row).Elem(), "")
		for path, was := range before {
			field := path[strings.LastIndex(path, ".")+1:]
			known := false
			for _, p := range plain {
				known = known || field == p || n.Name()+path == p
			}
			if changed := was != after[path]; changed == known {
				t.Errorf("%s%s: shown as an id: %v, known to be none: %v", n.Name(), path, changed, known)
			}
		}
	}
}

// fill gives all fields a value.
func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		switch v.Interface().(type) {
		case time.Time:
			return
		case subscription.Actor:
			v.Set(reflect.ValueOf(subscription.Actor{Type: subscription.ActorUser, ID: 7}))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint32:
		v.SetUint(7)
	case reflect.String:
		switch name {
		case "Agent":
			v.SetString("7")
		case "Action":
			v.SetString("mailbox.updated")
		default:
			v.SetString("text")
		}
	}
}

// numbers are all numbers, and the ids in texts, by path.
func numbers(v reflect.Value, path string) map[string]string {
	all := map[string]string{}
	add := func(more map[string]string) {
		for p, n := range more {
			all[p] = n
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		if _, ok := v.Interface().(time.Time); ok {
			return all
		}
		for i := range v.NumField() {
			add(numbers(v.Field(i), path+"."+v.Type().Field(i).Name))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 && v.Len() > 0 {
			add(numbers(v.Index(0), path))
		}
	case reflect.Int, reflect.Int64:
		all[path] = fmt.Sprint(v.Int())
	case reflect.Uint32:
		all[path] = fmt.Sprint(v.Uint())
	case reflect.String:
		if strings.HasSuffix(path, ".Agent") {
			all[path] = v.String()
		}
	}
	return all
}

// The members mentioned in a note have other ids in the target.
func TestMentionsTravel(t *testing.T) {
	t.Parallel()
	i := helpdesk.Interaction{Body: `<p><a href="mailto:member-7@mention.invalid">@Ada</a> &amp; <a href="mailto:member-8@mention.invalid">@Bob</a></p>`}
	to := map[int64]int64{7: 70, 8: -16}
	newNouns().interactions.Walk(transfer.NewVisitor(nil, func(noun string, id *int64, _ bool) {
		if noun == "user" {
			*id = to[*id]
		}
	}), &i)
	want := `<p><a href="mailto:member-70@mention.invalid" rel="noopener noreferrer nofollow" target="_blank">@Ada</a> &amp; @Bob</p>`
	if i.Body != want {
		t.Errorf("got  %s\nwant %s", i.Body, want)
	}
}

func TestGoneIsUnique(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	for id := int64(-300); id <= 300; id++ {
		if g := gone(id); id != 0 && (g >= 0 || seen[g]) {
			t.Fatalf("gone(%d) = %d", id, g)
		} else {
			seen[g] = true
		}
	}
}
