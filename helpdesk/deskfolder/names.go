package deskfolder

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// names finds names of ids, and ids of names, of the nouns that rules and others refer to. Its first error stays.
type names struct {
	ctx  context.Context //nolint:containedctx // it lives as long as an export or an application
	desk *helpdesk.Desk
	of   map[string]map[int64]string // by noun; what was asked for before, of customers and companies
	bad  map[string]bool             // nouns and names of what could not be made
	err  error
}

// noteSaved remembers the name of what was made or changed; id 0: it could not be.
func (n *names) noteSaved(noun string, id int64, name string) {
	if id == 0 {
		n.bad[noun+"/"+nameKey(noun, name)] = true
		return
	}
	n.of[noun][id] = name
}

// lost stands for what does not exist any more.
const lost = "(deleted)"

func newNames(ctx context.Context, desk *helpdesk.Desk) (*names, error) {
	n := &names{ctx: ctx, desk: desk, of: map[string]map[int64]string{}, bad: map[string]bool{}}
	for _, noun := range []string{"user", "team", "mailbox", "tag", "calendar", "saved_reply", "webhook", "customer", "company"} {
		n.of[noun] = map[int64]string{}
	}
	for _, read := range []func() error{n.readMembers, n.readMailboxes, n.readWebhooks} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	note(n, "team", desk.Teams().List, func(t helpdesk.Team) (int64, string) { return t.ID, t.Name })
	note(n, "tag", desk.Tags().List, func(t helpdesk.Tag) (int64, string) { return t.ID, t.Name })
	note(n, "calendar", desk.Calendars().List, func(c helpdesk.Calendar) (int64, string) { return c.ID, c.Name })
	note(n, "saved_reply", sharedReplies(desk), func(r helpdesk.SavedReply) (int64, string) { return r.ID, r.Name })
	return n, n.err
}

// lister lists something page by page.
type lister[T any] = func(context.Context, storage.PageRequest) (storage.Page[T], error)

// note takes over the names of a list.
func note[T any](n *names, noun string, list lister[T], of func(T) (int64, string)) {
	all, err := listed(n.ctx, list)
	n.keep(err)
	for _, one := range all {
		id, name := of(one)
		n.of[noun][id] = name
	}
}

// listed reads all pages of a list.
func listed[T any](ctx context.Context, list lister[T]) ([]T, error) {
	all := []T{}
	for one, err := range storage.Each(func(req storage.PageRequest) (storage.Page[T], error) { return list(ctx, req) }) {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// sharedReplies lists the saved replies that all members see.
func sharedReplies(desk *helpdesk.Desk) lister[helpdesk.SavedReply] {
	return func(ctx context.Context, req storage.PageRequest) (storage.Page[helpdesk.SavedReply], error) {
		page, err := desk.SavedReplies().List(ctx, "", req)
		page.Items = slices.DeleteFunc(page.Items, func(r helpdesk.SavedReply) bool { return r.UserID != 0 })
		return page, err
	}
}

func (n *names) readMembers() error {
	members, err := listed(n.ctx, n.desk.Members().List)
	if err != nil {
		return err
	}
	var ids []int64
	for _, m := range members {
		ids = append(ids, m.UserID)
	}
	return n.readUsers(ids)
}

func (n *names) readUsers(ids []int64) error {
	for some := range slices.Chunk(ids, storage.MaxLimit) {
		users, err := n.desk.Members().Users(n.ctx, some)
		if err != nil {
			return err
		}
		for _, u := range users {
			n.of["user"][u.ID] = u.Email
		}
	}
	return nil
}

// readMailboxes names mailboxes by their address, or by their name until they have one.
func (n *names) readMailboxes() error {
	all, err := listed(n.ctx, n.desk.Mailboxes().List)
	for _, m := range all {
		n.of["mailbox"][m.ID] = m.Name
		if m.Email != "" {
			n.of["mailbox"][m.ID] = m.Email
		}
	}
	return err
}

// readWebhooks names webhooks by their host, as the rest of their addresses may be secret, and those of one host by their number.
func (n *names) readWebhooks() error {
	if !n.desk.Holds(identity.WebhooksView) {
		return nil
	}
	all, err := listed(n.ctx, n.desk.Webhooks().List)
	seen := map[string]int{}
	for _, w := range all {
		host := hostOf(w.URL)
		if seen[host]++; seen[host] > 1 {
			host += " #" + strconv.Itoa(seen[host])
		}
		n.of["webhook"][w.ID] = host
	}
	return err
}

func (n *names) keep(err error) {
	if n.err == nil {
		n.err = err
	}
}

// name returns the name of an id; lost: it is gone.
func (n *names) name(noun string, id int64) string {
	if id == 0 {
		return ""
	}
	if name, known := n.of[noun][id]; known {
		return name
	}
	name := lost
	switch noun {
	case "user": // a former member
		n.keep(n.readUsers([]int64{id}))
		if former, known := n.of[noun][id]; known {
			name = former
		}
	case "customer":
		c, err := n.desk.Customers().Get(n.ctx, id)
		if n.keep(ignoreMissing(err)); err == nil && len(c.Emails) > 0 {
			name = c.Emails[0].Email
		}
	case "company":
		c, err := n.desk.Companies().Get(n.ctx, id)
		if n.keep(ignoreMissing(err)); err == nil {
			name = c.Name
		}
	}
	n.of[noun][id] = name
	return name
}

func ignoreMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// id returns the id of a name; "" is 0.
func (n *names) id(noun, name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	switch noun {
	case "customer":
		return n.customer(name)
	case "company":
		return n.company(name)
	}
	key := nameKey(noun, name)
	var found []int64
	for _, id := range slices.Sorted(maps.Keys(n.of[noun])) {
		if nameKey(noun, n.of[noun][id]) == key {
			found = append(found, id)
		}
	}
	if len(found) == 0 && n.bad[noun+"/"+key] {
		return 0, &unresolved{}
	}
	return one(noun, name, found)
}

func nameKey(noun, name string) string {
	if noun == "user" || noun == "mailbox" && strings.Contains(name, "@") {
		return mailaddr.Key(name)
	}
	return plain.Key(name)
}

func one(noun, name string, found []int64) (int64, error) {
	what := strings.ReplaceAll(noun, "_", " ")
	if noun == "user" {
		what = "member"
	}
	switch len(found) {
	case 0:
		return 0, &unresolved{fmt.Sprintf("there is no %s %q", what, name)}
	case 1:
		return found[0], nil
	}
	return 0, &unresolved{fmt.Sprintf("there are several of %s %q", what, name)}
}

func (n *names) customer(address string) (int64, error) {
	page, err := n.desk.Customers().List(n.ctx, helpdesk.CustomerQuery{Email: address}, storage.PageRequest{Limit: 1})
	if err != nil {
		return 0, err
	}
	var found []int64
	for _, c := range page.Items {
		found = append(found, c.ID)
	}
	return one("customer", address, found)
}

func (n *names) company(name string) (int64, error) {
	all, err := listed(n.ctx, func(ctx context.Context, req storage.PageRequest) (storage.Page[helpdesk.Company], error) {
		return n.desk.Companies().List(ctx, helpdesk.CompanyQuery{Query: name}, req)
	})
	if err != nil {
		return 0, err
	}
	var found []int64
	for _, c := range all {
		if c.Key == plain.Key(name) {
			found = append(found, c.ID)
		}
	}
	return one("company", name, found)
}

// list returns the names of ids, sorted.
func (n *names) list(noun string, ids []int64) []string {
	var all []string
	for _, id := range ids {
		all = append(all, n.name(noun, id))
	}
	slices.Sort(all)
	return all
}

// ids returns the ids of names.
func (n *names) ids(noun string, list []string) ([]int64, error) {
	all := []int64{}
	for _, name := range list {
		id, err := n.id(noun, name)
		if err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	return all, nil
}
