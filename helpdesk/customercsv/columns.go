package customercsv

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/helpwright/helpwright/helpdesk"
)

// Field is what a column of a table has.
type Field string

// The fields. Several columns may have Emails, Phones and Websites; of the others, the first cell counts that is not empty.
const (
	Ignored   Field = ""
	ID        Field = "id"          // of a customer here, as exports have it
	External  Field = "external_id" // of the customer in another system
	FirstName Field = "first_name"
	LastName  Field = "last_name"
	FullName  Field = "name" // for tables without FirstName: the first word is the first name
	Company   Field = "company"
	Emails    Field = "emails" // one or several in a cell, separated by lines, blanks, commas or semicolons
	Phones    Field = "phones" // one or several, separated by lines
	Websites  Field = "websites"
	Note      Field = "note"
)

// Fields lists all fields but Ignored.
func Fields() []Field {
	return []Field{Emails, FirstName, LastName, FullName, Company, Phones, Websites, Note, External, ID}
}

// known are the names of columns in tables of others: small letters and digits only.
var known = map[Field][]string{
	ID:        {"id", "helpwrightid"},
	External:  {"externalid", "customerid", "customernumber", "customerno", "clientid", "userid", "kundennummer", "numeroclient", "numerodecliente", "codicecliente", "klantnummer"},
	FirstName: {"firstname", "givenname", "forename", "first", "vorname", "prenom", "nombre", "nome"},
	LastName:  {"lastname", "familyname", "surname", "last", "nachname", "nom", "apellido", "apellidos", "cognome"},
	FullName:  {"name", "fullname", "displayname", "customer", "customername", "contact", "contactname", "username"},
	Company: {
		"company", "companyname", "organization", "organisation", "organizationname", "organisationname", "account", "accountname", "firma", "entreprise", "empresa",
		"azienda", "bedrijf",
	},
	Emails:   {"email", "emails", "emailaddress", "emailaddresses", "mail", "primaryemail", "secondaryemail", "workemail", "adresseemail", "correo", "indirizzoemail"},
	Phones:   {"phone", "phones", "phonenumber", "phonenumbers", "telephone", "mobile", "mobilephone", "cell", "workphone", "homephone", "businessphone", "telefon", "telefono", "mobil"},
	Websites: {"website", "websites", "url", "web", "homepage", "webpage", "personalwebpage"},
	Note:     {"note", "notes", "comment", "comments", "description", "background", "notizen"},
}

// numbered is the number, and what follows it, at the end of names such as "E-mail 2 - Value".
var numbered = regexp.MustCompile(`\d*(value)?$`)

// Match returns the fields of columns by their names.
func Match(header []string) []Field {
	fields := make([]Field, len(header))
	for i, name := range header {
		key := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, name)
		key = numbered.ReplaceAllString(key, "")
		for _, f := range Fields() {
			if slices.Contains(known[f], key) {
				fields[i] = f
			}
		}
	}
	if slices.Contains(fields, FirstName) || slices.Contains(fields, LastName) {
		for i, f := range fields {
			if f == FullName {
				fields[i] = Ignored
			}
		}
	}
	return fields
}

// Parse returns the fields of a list as [Join] wrote it. ok is false if it has others.
func Parse(list string) (fields []Field, ok bool) {
	for name := range strings.SplitSeq(list, ",") {
		f := Field(strings.TrimSpace(name))
		if f != Ignored && !slices.Contains(Fields(), f) {
			return nil, false
		}
		fields = append(fields, f)
	}
	return fields, true
}

// Join writes fields as a list, separated by commas.
func Join(fields []Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = string(f)
	}
	return strings.Join(names, ",")
}

// row reads the cells of a customer. column names the columns in problems.
func row(fields []Field, cells []string) helpdesk.CustomerRow {
	var r helpdesk.CustomerRow
	first := func(to *string, cell string) {
		if *to == "" {
			*to = cell
		}
	}
	for i, f := range fields {
		if i >= len(cells) {
			break
		}
		cell := strings.TrimSpace(unguarded(strings.TrimSpace(cells[i])))
		if cell == "" {
			continue
		}
		switch f {
		case ID:
			r.ID = idOf(cell)
		case External:
			first(&r.ExternalID, cell)
		case FirstName:
			first(&r.FirstName, cell)
		case LastName:
			first(&r.LastName, cell)
		case FullName:
			one, rest, _ := strings.Cut(cell, " ")
			first(&r.FirstName, one)
			first(&r.LastName, strings.TrimSpace(rest))
		case Company:
			first(&r.Company, cell)
		case Note:
			first(&r.Note, cell)
		case Emails:
			r.Emails = append(r.Emails, strings.FieldsFunc(cell, func(c rune) bool { return unicode.IsSpace(c) || c == ',' || c == ';' })...)
		case Phones:
			r.Phones = append(r.Phones, lines(cell)...)
		case Websites:
			r.Websites = append(r.Websites, strings.Fields(cell)...)
		}
	}
	return r
}

// idOf returns an id, or -1 for what is none.
func idOf(cell string) int64 {
	id, err := strconv.ParseInt(cell, 10, 64)
	if err != nil || id <= 0 {
		return -1
	}
	return id
}

func lines(cell string) (all []string) {
	for line := range strings.Lines(cell) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// formula is the beginning of a cell that a spreadsheet would compute, perhaps behind apostrophes.
var formula = regexp.MustCompile(`^'*[=+\-@\t\r＝＋－＠]`)

// guarded puts an apostrophe before what a spreadsheet would compute.
func guarded(cell string) string {
	if formula.MatchString(cell) {
		return "'" + cell
	}
	return cell
}

// unguarded is the opposite of guarded.
func unguarded(cell string) string {
	if strings.HasPrefix(cell, "'") && formula.MatchString(cell) {
		return cell[1:]
	}
	return cell
}
