package desk

import (
	"hash/fnv"
	"strings"
	"unicode"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
)

// person is a user or customer with an avatar: initials on one of twelve hues.
type person struct {
	ID       int64
	Name     string
	Initials string
	Hue      int
	Picture  string // address; "" for none
	Online   bool
}

func newPerson(id int64, name, key string) person {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return person{ID: id, Name: name, Initials: initials(name), Hue: int(h.Sum32() % 12)}
}

// First returns the first word of the name, for short sentences.
func (p person) First() string {
	first, _, _ := strings.Cut(p.Name, " ")
	return first
}

// initials returns the first letters of the first and the last word of a name.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	switch len(words) {
	case 0:
		return "?"
	case 1:
		return strings.ToUpper(string([]rune(words[0])[:1]))
	}
	return strings.ToUpper(string([]rune(words[0])[:1]) + string([]rune(words[len(words)-1])[:1]))
}

// person shows a member.
func (v *visit) person(u identity.User) person {
	p := member(u)
	if u.Picture != "" {
		p.Picture = v.at("/people/" + itoa(u.ID) + "/" + u.Picture + ".jpg")
	}
	return p
}

func member(u identity.User) person {
	name := u.Name
	if name == "" {
		name = u.Email
	}
	return newPerson(u.ID, name, u.EmailKey)
}

func customerPerson(c helpdesk.Customer) person {
	return newPerson(c.ID, customerName(c), customerKey(c))
}

func customerName(c helpdesk.Customer) string {
	if name := strings.TrimSpace(c.FirstName + " " + c.LastName); name != "" {
		return name
	}
	if len(c.Emails) > 0 {
		return c.Emails[0].Email
	}
	return c.Company
}

func customerKey(c helpdesk.Customer) string {
	if len(c.Emails) > 0 {
		return c.Emails[0].Key
	}
	return customerName(c)
}

// without returns a set of ids without one of them.
func without(ids []int64, id int64) []int64 {
	seen := map[int64]bool{id: true}
	var out []int64
	for _, one := range ids {
		if !seen[one] {
			seen[one] = true
			out = append(out, one)
		}
	}
	return out
}

// team lists the members to whom conversations can be assigned, by name. For members who may not see others, it is only
// themselves.
func (v *visit) team() ([]person, error) {
	if !v.may(identity.MembershipsView) {
		return []person{v.person(v.user)}, nil
	}
	members, err := v.memberships()
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(members))
	for i, m := range members {
		ids[i] = m.UserID
	}
	found, err := v.people(ids)
	if err != nil {
		return nil, err
	}
	var team []person
	for _, m := range members {
		if p, ok := found[m.UserID]; ok {
			p.Online = v.Members().Online(m)
			team = append(team, p)
		}
	}
	sortByName(team)
	return team, nil
}

// maxTeam is the maximum number of members in a choice.
const maxTeam = 500
