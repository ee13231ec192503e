package storagetest

import (
	"github.com/helpwright/helpwright/helpdesk/sending"
)

func (w *world) newDomain(label string) sending.Domain {
	name := label + "." + w.mark + ".example"
	return sending.Domain{AccountID: w.account.ID, Name: name, Selector: "hw-" + w.mark, SealedKey: []byte{0, 1, 2, 255},
		Records: []sending.DNSRecord{
			{Label: sending.LabelDKIM, Type: "TXT", Hostname: "hw._domainkey." + name, Value: `v=DKIM1; p="\é` + w.mark, Verified: true},
			{Label: sending.LabelSPF, Type: "TXT", Hostname: name, Value: "v=spf1 ~all", Problem: "It isn't <there>."}},
		CreatedAt: base, UpdatedAt: at(1)}
}

func (g *generator) writeDomain(seen content) operation {
	old := oneOf(g, seen.Domains)
	if g.IntN(5) == 0 {
		return operation{method: "Domains.Delete", args: []any{g.either("Domain", old.ID)}}
	}
	d := sending.Domain{Name: oneOf(g, []string{"a.example", "b.example", "c.example"}), Selector: g.text(),
		CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	for range g.IntN(3) {
		d.Records = append(d.Records, sending.DNSRecord{Label: g.text(), Value: g.text(), Verified: g.IntN(2) == 0, Problem: g.text()})
	}
	if g.IntN(2) == 0 {
		return operation{method: "Domains.Insert", args: []any{[]*sending.Domain{&d}}, clash: true}
	}
	d.ID = g.either("Domain", old.ID).n
	return operation{method: "Domains.Update", args: []any{[]*sending.Domain{&d}}, clash: true}
}
