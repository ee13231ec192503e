package api

import (
	"context"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// accountLanguage is a language of an account.
type accountLanguage struct {
	ID     int64  `json:"id" description:"Id of the language. It is the same on every server and never changes."`
	Name   string `json:"name" description:"Name in English."`
	Native string `json:"native" description:"Name in the language itself."`
	Code   string `json:"code" description:"BCP 47."`
}

func (a *api) addLanguages(t *transport.Table) {
	transport.HandlePage(t, a.admin, transport.Operation{
		ID: "listLanguages", Method: http.MethodGet, Path: "/languages", Tag: "Accounts",
		Summary:     "List languages",
		Description: "Sorted by English name, all on one page. Other BCP 47 languages are accepted too.",
	}, a.listLanguages)
}

func (a *api) listLanguages(context.Context, *helpdesk.Admin, struct{}) (storage.Page[accountLanguage], error) {
	list := showLanguages(strings.Fields(languageCodes))
	slices.SortFunc(list, func(a, b accountLanguage) int { return strings.Compare(a.Name, b.Name) })
	return storage.Page[accountLanguage]{Items: list}, nil
}

func showLanguages(codes []string) []accountLanguage {
	names := display.English.Tags()
	list := make([]accountLanguage, len(codes))
	for i, code := range codes {
		tag := language.Make(code)
		list[i] = accountLanguage{ID: languageID(code), Name: names.Name(tag), Native: display.Self.Name(tag), Code: code}
		if list[i].Native == "" { // the tables do not have every language
			list[i].Native = list[i].Name
		}
	}
	return list
}

// languageID returns a code's position in the list, and for other codes a number above 2^32 derived from the code.
func languageID(code string) int64 {
	canonical := language.Make(code).String()
	if i := slices.Index(strings.Fields(languageCodes), canonical); i >= 0 {
		return int64(i + 1)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(canonical)) // never fails
	return 1<<32 + int64(h.Sum32())
}

// languageCodes are the languages of the list. A code's position is the language's id: new codes are added at the end, and
// none is ever removed.
const languageCodes = `
af agq ak am ar ar-EG ar-LY ar-SA as asa ast az az-Cyrl bas be bem bez bg bm bn bn-IN bo bo-IN br brx bs
bs-Cyrl ca ccp ce cgg chr ckb cs cy da dav de de-AT de-CH de-LU dje dsb dua dyo dz ebu ee el en en-AU en-CA
en-GB en-IN en-NZ eo es es-419 es-AR es-BO es-CL es-CO es-CR es-DO es-EC es-GT es-HN es-MX es-NI es-PA es-PE
es-PR es-PY es-SV es-US es-VE et eu ewo fa fa-AF ff fi fil fo fr fr-BE fr-CA fr-CH fur fy ga gd gl gsw gu guz
gv ha haw he hi hr hsb hu hy id ig ii is it ja jgo jmc ka kab kam kde kea khq ki kk kkj kl kln km kn ko ko-KP
kok ks ksb ksf ksh kw ky lag lb lg lkt ln lo lrc lt lu luo luy lv mas mer mfe mg mgh mgo mk ml mn mr ms mt mua
my mzn naq nd ne nl nmg nn nnh no nus nyn om or os pa pa-Arab pl prg ps pt pt-PT qu rm rn ro ro-MD rof ru
ru-UA rw rwk sah saq sbp sd se se-FI seh ses sg shi shi-Latn si sk sl smn sn so sq sr sr-Cyrl-BA sr-Cyrl-ME
sr-Cyrl-XK sr-Latn sr-Latn-BA sr-Latn-ME sr-Latn-XK sv sv-FI sw sw-CD sw-KE ta te teo tg th ti tk to tr tt twq
tzm ug uk ur ur-IN uz uz-Arab uz-Cyrl vai vai-Latn vi vun wae wo xog yav yi yo yo-BJ yue yue-Hans zgh zh
zh-Hant zh-Hant-HK zu
`
