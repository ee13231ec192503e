package mailhtml_test

import (
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
)

// freshLines are what people write right above the line that introduces a quote.
var freshLines = []string{
	"hello", "Ok", "Danke!", "Please cancel my order.", "Please cancel my order", "Order 77: please cancel it", "Order 77", "Invoice 2026-77", "yes, 5 pieces",
	"2026-11-21", "21.11.2026", "21.11.2026 10:05", "Termin 21.11.2026 10:05", "On 3 May 2026 I ordered three chairs.", "On 3 May 2026 at 10:15 I called you", "on Monday at 10:05",
	"Am Montag um 10 Uhr", "Am 21.11.2026 habe ich bestellt", "At 10:05 nobody was there", "In 2026 we had no order", "Max Müller", "Support", "Best regards, Jo",
	"Jo Smith <jo@example.org>", "jo@example.org", "My number is +49 30 1234567", "10:15", "10:15:", "See this:", "Ann wrote to me", "She wrote:", "Le 3 mai à 10h15, j'étais absent",
	"El lunes a las 10:05 no estaba", "Merci beaucoup", "你好，请取消订单", "2026年11月21日我打过电话", "在星期一10:05没有人", "はい", "11月21日でお願いします", "Спасибо", "В понедельник в 10:05",
	"21 ноября 2026 г. я звонил", "نعم من فضلك", "כן, בבקשה", "Tak, 5 sztuk", "W dniu 21.11.2026 dzwoniłem", "W sobotę, proszę", "Yes -- 5", "1) yes", "* one", "the price is 12.50", "server 192.0.2.55",
	"I paid 12.50 on 2026-11-21 at 10:05 and I want all of the money back, so please", "On 3 May 2026 at 10:15 the driver left the parcel at the wrong house, and",
	"What do you think about the date 21.11.2026 at 10:05 for the delivery of the chairs", "My new address is Main Street 12, 12345 Town, and my telephone number is 030 1234",
}

// introductionForms are those of common clients; "|" is where one may be wrapped, "‖" where the client itself breaks it.
var introductionForms = []string{
	`On Sat, Nov 21, 2026 at 10:05 AM Support Team|<s@desk.example>|wrote:`, `On Sat, Nov 21, 2026 at 10:05 AM <s@desk.example>|wrote:`,
	`On 11/21/26 10:05, Support wrote:`, `On Nov 21, 2026, at 10:05, Support|<s@desk.example> wrote:`, `On 21 Nov 2026, at 10:05 AM, Support|<s@desk.example> wrote:`,
	`On Saturday, November 21, 2026 at 10:05:00 AM GMT+1, Support|<s@desk.example> wrote:`, `On Saturday, November 21st, 2026 at 10:05 AM, Support|<s@desk.example> wrote:`,
	`On Saturday, Support <s@desk.example> wrote:`, `W dniu sobota, Support <s@desk.example> pisze:`, `Le samedi, Support <s@desk.example> a écrit :`, `Am Samstag, Support <s@desk.example> schrieb:`,
	`W dniu 21.11.2026 o 10:05, Support pisze:`, `W dniu sobota, 21 listopada 2026 10:05, Support|<s@desk.example> pisze:`, `sob., 21 lis 2026 o 10:05 Support|<s@desk.example> napisał(a):`,
	`Dnia 21 listopada 2026 10:05 Support <s@desk.example> napisał(a):`, `At 2026-11-21 10:05:00, "Support" <s@desk.example> wrote:`, `在 2026-11-21 10:05:00，"Support" <s@desk.example> 写道：`,
	`Support <s@desk.example> 于2026年11月21日周六 10:05写道：`, `2026年11月21日(土) 10:05 Support <s@desk.example>:`, `2026년 11월 21일 (토) 오전 10:05, Support <s@desk.example>님이 작성:`,
	`Support <s@desk.example> wrote:`, `"Support" <s@desk.example> schrieb:`, `Quoting Support <s@desk.example>:`, `Zitat von Support <s@desk.example>:`,
	`* Support <s@desk.example> [2026-11-21 10:05 +0100]:`, `On Sat, Nov 21, 2026 at 10:05:00AM +0100, Support wrote:`, `On Sat, 21 Nov 2026 10:05:00 +0100‖Support <s@desk.example> wrote:`,
	`On Sat, 2026-11-21 at 10:05 +0100, Support wrote:`, `Am Sa., 21. Nov. 2026 um 10:05 Uhr schrieb Support|<s@desk.example>:`, `Am 21.11.26 um 10:05 schrieb Support:`,
	`Am Samstag, 21. November 2026 um 10:05, Support <s@desk.example> schrieb:`, `Le sam. 21 nov. 2026 à 10:05, Support <s@desk.example> a|écrit :`, `Le 21/11/2026 à 10:05, Support a écrit :`,
	`El sáb, 21 nov 2026 a las 10:05, Support (<s@desk.example>)|escribió:`, `El 21/11/2026 a las 10:05, Support escribió:`, `Il giorno sab 21 nov 2026 alle ore 10:05 Support <s@desk.example>|ha scritto:`,
	`Em sáb., 21 de nov. de 2026 às 10:05, Support <s@desk.example>|escreveu:`, `Op za 21 nov 2026 om 10:05 schreef Support <s@desk.example>:`, `Op 21-11-2026 om 10:05 schreef Support:`,
	`Den lör 21 nov. 2026 kl 10:05 skrev Support <s@desk.example>:`, `lør. 21. nov. 2026 kl. 10:05 skrev Support <s@desk.example>:`, `la 21. marrask. 2026 klo 10.05 Support (s@desk.example) kirjoitti:`,
	`сб, 21 нояб. 2026 г. в 10:05, Support <s@desk.example>:`, `21.11.2026, 10:05, "Support" <s@desk.example>:`, `Суббота, 21 ноября 2026, 10:05 +03:00 от Support <s@desk.example>:`, `21.11.2026 10:05, Support пишет:`,
	`Support <s@desk.example>, 21 Kas 2026 Cmt, 10:05 tarihinde|şunu yazdı:`, `so 21. 11. 2026 v 10:05 odesílatel Support <s@desk.example>|napsal:`, `Support <s@desk.example> ezt írta (időpont: 2026. nov. 21., Szo, 10:05):`,
	`בתאריך שבת, 21 בנוב׳ 2026 ב-10:05 מאת Support <s@desk.example>:`, `في السبت، 21 نوفمبر 2026 في 10:05 ص تمت كتابة ما يلي بواسطة Support|<s@desk.example>:`, `сб, 21 лист. 2026 р. о 10:05 Support <s@desk.example> пише:`,
	`Στις Σάβ 21 Νοε 2026 στις 10:05 π.μ., ο/η Support <s@desk.example>|έγραψε:`, `În sâm., 21 nov. 2026 la 10:05, Support <s@desk.example> a scris:`, `2026-11-21 10:05 GMT+01:00 Support <s@desk.example>:`,
	`21 Nov 2026, 10:05 by s@desk.example:`,
}

// TestNewTextAboveIntroductions writes each line of new text right above each introduction, as text and as the HTML of
// several clients: the line stays visible, the quote does not.
func TestNewTextAboveIntroductions(t *testing.T) {
	t.Parallel()
	const old = "Would Thursday suit you?"
	page := func(lines []string) string {
		return html.EscapeString(strings.Join(lines, "\n"))
	}
	shapes := map[string]func(fresh, intro []string) string{
		"lines": func(fresh, intro []string) string {
			return strings.ReplaceAll(page(slices.Concat(fresh, intro)), "\n", "<br>") + "<br><blockquote type=\"cite\">" + old + "</blockquote>"
		},
		"divs": func(fresh, intro []string) string {
			return "<div>" + strings.ReplaceAll(page(slices.Concat(fresh, intro)), "\n", "</div><div>") + "</div><blockquote type=\"cite\">" + old + "</blockquote>"
		},
		"paragraphs": func(fresh, intro []string) string {
			return "<p>" + strings.ReplaceAll(page(fresh), "\n", "<br>") + "</p><p>" + strings.ReplaceAll(page(intro), "\n", "<br>") + "</p><blockquote style=\"border-left:1px solid #ccc\">" + old + "</blockquote>"
		},
		"preformatted": func(fresh, intro []string) string {
			return "<div>" + strings.ReplaceAll(page(fresh), "\n", "<br>") + "</div><pre>" + page(intro) + "\n&gt; " + old + "</pre>"
		},
		"box": func(fresh, intro []string) string {
			return "<div>" + strings.ReplaceAll(page(fresh), "\n", "<br>") + "</div><div class=\"protonmail_quote\">" + strings.ReplaceAll(page(intro), "\n", "<br>") + "<br><br><blockquote class=\"protonmail_quote\" type=\"cite\">" + old + "</blockquote></div>"
		},
		"inside the quote": func(fresh, intro []string) string {
			return "<div>" + strings.ReplaceAll(page(fresh), "\n", "<br>") + "</div><blockquote type=\"cite\"><div>" + page(intro) + "</div>" + old + "</blockquote>"
		},
	}
	wraps := map[string]*strings.Replacer{"one line": strings.NewReplacer("|", " ", "‖", "\n"), "wrapped": strings.NewReplacer("|", "\n", "‖", "\n")}
	failed := map[string]int{}
	fail := func(form, format string, args ...any) {
		if failed[form]++; failed[form] < 4 {
			t.Errorf(format, args...)
		}
	}
	for _, form := range introductionForms {
		for wrap, replacer := range wraps {
			if wrap == "wrapped" && !strings.Contains(form, "|") {
				continue
			}
			intro := strings.Split(replacer.Replace(form), "\n")
			for n, line := range freshLines {
				for m, fresh := range [][]string{{line}, {"Hello", line}} {
					text := strings.Join(slices.Concat(fresh, intro), "\n") + "\n> " + old + "\n"
					want := strings.Join(fresh, "\n") + "\n"
					if said, _ := mail.SplitQuote(text, true); said != want {
						fail(form, "text, %s, %q: shown is %q of\n%s", wrap, line, said, text)
					}
					if m != n%2 {
						continue
					}
					for shape, of := range shapes {
						body := mailhtml.Clean(of(fresh, intro))
						if got := words(mailhtml.Text(outside(mailhtml.Fold(body, true)))); got != words(mailhtml.Text(mailhtml.FromText(want))) {
							fail(form, "%s, %s, %q: shown is %q of\n%s", shape, wrap, line, got, body)
						}
						if got := mailhtml.Preview(body, 1000, true); got != words(want) {
							fail(form, "%s, %s, %q: the preview is %q of\n%s", shape, wrap, line, got, body)
						}
					}
				}
			}
		}
	}
}
