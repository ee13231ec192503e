package demo

import (
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// The company.
const (
	companyName   = "Halden"
	companyDomain = "halden.example"
)

// locales are the languages of the help centre, in the order of its menu.
func locales() []string { return []string{"en", "de", "ar"} }

// member is a member of the team.
type member struct {
	name, email, role string
	speaks            []string // the native language first
	id                int64
	desk              *helpdesk.Desk
}

func (m *member) first() string {
	first, _, _ := strings.Cut(m.name, " ")
	return first
}

// staff are the members; the first one is the user who tries the demo.
func staff() []*member {
	return []*member{
		{name: "Maja Lindqvist", email: "maja@" + companyDomain, role: "owner", speaks: []string{"en", "de"}},
		{name: "Jonas Weber", email: "jonas@" + companyDomain, role: "agent", speaks: []string{"de", "en"}},
		{name: "Layla Haddad", email: "layla@" + companyDomain, role: "agent", speaks: []string{"ar", "en", "fr"}},
		{name: "Théo Marchand", email: "theo@" + companyDomain, role: "agent", speaks: []string{"fr", "en"}},
	}
}

// customer is a customer of the company.
type customer struct {
	first, last, email, locale string
	company, phone, city       string
}

func (c *customer) name() string { return c.first + " " + c.last }

func (c *customer) input() helpdesk.CustomerInput {
	in := helpdesk.CustomerInput{
		FirstName: storage.Some(c.first), LastName: storage.Some(c.last), Emails: storage.Some([]helpdesk.Item{{Value: c.email}}),
	}
	if c.company != "" {
		in.Company = storage.Some(c.company)
	}
	if c.phone != "" {
		in.Phones = storage.Some([]helpdesk.Item{{Value: c.phone}})
	}
	return in
}

// clientele are the customers. Their addresses and numbers are from ranges that are reserved for examples (RFC 2606, Ofcom's
// and the FCC's numbers for drama).
func clientele() []*customer {
	return []*customer{
		{"Ada", "Fairweather", "ada.fairweather@example.com", "en", "", "+44 20 7946 0112", "London"},
		{"Priya", "Raman", "priya@raman.example", "en", "", "", "Leeds"},
		{"Tom", "Ostrander", "tom.ostrander@example.net", "en", "Ostrander & Daughters", "+1 202 555 0143", "Boston"},
		{"Grace", "Mbeki", "grace.mbeki@example.org", "en", "", "", "Bristol"},
		{"Callum", "Doyle", "callum@doyle.example", "en", "Doyle Cycles", "+44 141 496 0187", "Glasgow"},
		{"Hannah", "Whitlock", "h.whitlock@example.com", "en", "", "", "Dublin"},
		{"Mateo", "Alvarez", "mateo.alvarez@example.net", "en", "", "", "Lisbon"},
		{"Sunniva", "Berg", "sunniva.berg@example.org", "en", "", "", "Bergen"},
		{"Owen", "Pritchard", "owen.pritchard@example.com", "en", "", "+44 29 2018 0164", "Cardiff"},
		{"Keiko", "Tanaka", "keiko.tanaka@example.net", "en", "", "", "Utrecht"},
		{"Ruth", "Adeyemi", "ruth@adeyemi.example", "en", "Adeyemi Architects", "+44 161 496 0155", "Manchester"},
		{"Ben", "Carlisle", "ben.carlisle@example.org", "en", "", "", "York"},
		{"Ines", "Duarte", "ines.duarte@example.com", "en", "", "", "Porto"},
		{"Noah", "Kessler", "noah@kessler.example", "en", "Studio Kessler", "+1 202 555 0178", "Chicago"},
		{"Freya", "Lund", "freya.lund@example.net", "en", "", "", "Copenhagen"},
		{"Samir", "Patel", "samir.patel@example.org", "en", "", "", "Birmingham"},
		{"Moira", "Sinclair", "moira.sinclair@example.com", "en", "", "", "Edinburgh"},
		{"Luca", "Bianchi", "luca.bianchi@example.net", "en", "", "", "Turin"},
		{"Esther", "van Dijk", "esther@vandijk.example", "en", "Van Dijk Notarissen", "", "Rotterdam"},
		{"Joe", "Hargreaves", "joe.hargreaves@example.org", "en", "", "", "Newcastle"},
		{"Katrin", "Albrecht", "katrin.albrecht@example.com", "de", "", "", "Hamburg"},
		{"Stefan", "Moser", "stefan.moser@example.net", "de", "Moser Holzbau", "", "Innsbruck"},
		{"Anneliese", "Krüger", "a.krueger@example.org", "de", "", "", "Leipzig"},
		{"Yusuf", "Demir", "yusuf@demir.example", "de", "Kanzlei Demir", "", "Köln"},
		{"Beate", "Lang", "beate.lang@example.com", "de", "", "", "Nürnberg"},
		{"Florian", "Hürlimann", "florian.huerlimann@example.net", "de", "", "", "Zürich"},
		{"Sabine", "Ott", "sabine.ott@example.org", "de", "Praxis Dr. Ott", "", "Freiburg"},
		{"Holger", "Petersen", "holger.petersen@example.com", "de", "", "", "Flensburg"},
		{"Mira", "Janosch", "mira@janosch.example", "de", "", "", "Dresden"},
		{"Tobias", "Reiter", "tobias.reiter@example.net", "de", "", "", "Salzburg"},
		{"نور", "الخطيب", "nour.alkhatib@example.com", "ar", "", "", "عمّان"},
		{"سامي", "حداد", "sami@haddad.example", "ar", "مكتب حداد للتصميم", "", "بيروت"},
		{"مريم", "العتيبي", "maryam.alotaibi@example.net", "ar", "", "", "الرياض"},
		{"يوسف", "منصور", "youssef.mansour@example.org", "ar", "", "", "القاهرة"},
		{"هدى", "الشامي", "huda.alshami@example.com", "ar", "", "", "دبي"},
		{"Camille", "Rousseau", "camille.rousseau@example.com", "fr", "", "", "Lyon"},
		{"Étienne", "Lefèvre", "etienne@lefevre.example", "fr", "Atelier Lefèvre", "", "Nantes"},
		{"Amélie", "Dubois", "amelie.dubois@example.net", "fr", "", "", "Genève"},
		{"Karim", "Benali", "karim.benali@example.org", "fr", "", "", "Marseille"},
		{"Solène", "Guérin", "solene.guerin@example.com", "fr", "", "", "Bruxelles"},
	}
}
