package mail_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

// letters are typical messages to a help desk, in the charsets formerly used for them.
var letters = []struct{ charsets, subject, text string }{
	{"gbk gb18030", "订单问题", "您好，我昨天在你们网站订购了一双鞋子，但是今天收到的颜色不对。请问可以换货吗？谢谢！"},
	{"gbk", "发票", "请尽快把上个月的发票寄到我们公司的地址，谢谢。"},
	{"gbk", "无法登录", "无法登录"},
	{"big5", "訂單問題", "您好，我昨天在貴公司網站訂購了一雙鞋子，但是今天收到的顏色不對。請問可以換貨嗎？謝謝！"},
	{"big5", "付款", "我已經付款了，但是還沒有收到確認信，請幫我查詢。"},
	{"shift_jis euc-jp iso-2022-jp", "注文について", "お世話になっております。昨日注文した商品がまだ届いておりません。ご確認をお願いいたします。"},
	{"shift_jis euc-jp", "ログインできません", "パスワードを忘れてしまい、ログインできません。よろしくお願いします。"},
	{"euc-kr", "주문 문의", "안녕하세요. 어제 주문한 상품이 아직 도착하지 않았습니다. 확인 부탁드립니다."},
	{"euc-kr", "환불", "제품을 환불하고 싶은데 어떻게 해야 하나요?"},
	{"windows-1251 koi8-r iso-8859-5", "Вопрос по заказу", "Здравствуйте! Вчера я заказал у вас книгу, но до сих пор не получил подтверждения. Помогите, пожалуйста."},
	{"windows-1251 koi8-u", "Питання", "Доброго дня! Я ще не отримав своє замовлення. Коли воно буде?"},
	{"windows-1251", "Поръчка", "Здравейте, още не съм получил поръчката си. Моля, проверете."},
	{"windows-1253 iso-8859-7", "Ερώτηση για την παραγγελία", "Καλημέρα σας, χθες παρήγγειλα ένα βιβλίο αλλά δεν έλαβα ακόμα επιβεβαίωση. Ευχαριστώ πολύ."},
	{"windows-1255", "שאלה על ההזמנה", "שלום, הזמנתי אתמול ספר ועדיין לא קיבלתי אישור. תודה רבה."},
	{"windows-1256", "سؤال عن الطلب", "مرحبا، طلبت كتابا أمس ولم يصلني التأكيد بعد. شكرا جزيلا لكم."},
	{"windows-874", "สอบถามคำสั่งซื้อ", "สวัสดีครับ เมื่อวานผมสั่งซื้อหนังสือแต่ยังไม่ได้รับการยืนยัน ขอบคุณครับ"},
	{"windows-1250 iso-8859-2", "Zamówienie", "Dzień dobry, wczoraj złożyłem zamówienie, ale nie dostałem żadnego potwierdzenia. Proszę o sprawdzenie."},
	{"windows-1250 iso-8859-2", "Objednávka", "Dobrý den, ještě jsem neobdržel potvrzení své objednávky. Můžete to prosím ověřit?"},
	{"windows-1250 iso-8859-2", "Objednávka", "Dobrý deň, ešte som nedostal potvrdenie. Môžete to, prosím, overiť? Ďakujem, čakám."},
	{"windows-1250 iso-8859-2", "Kérdés", "Jó napot, még nem kaptam meg a rendelésemről szóló visszaigazolást. Köszönöm előre is."},
	{"windows-1254", "Sipariş", "Merhaba, siparişim hâlâ ulaşmadı. Kontrol eder misiniz, sağ olun, iyi çalışmalar."},
	{"windows-1252", "Pöntun", "Góðan dag, ég hef ekki enn fengið staðfestingu á pöntun minni. Þakka þér fyrir."},
	{"windows-1252", "Fyrispurningur", "Góðan dag, eg havi ikki fingið váttan. Takk fyri, øll saman í lagi."},
	{"windows-1252", "Tellimus", "Tere, ma ei ole oma tellimuse kinnitust veel saanud. Palun öelge, kõik on ju õige, aitäh."},
	{"windows-1252", "Opções", "Bom dia, há milhões de opções possíveis, mas não está certo. É difícil."},
	{"windows-1252", "Driver", "if (ready())  ; ¦b 6250 do not care"},
	{"windows-1252", "20 m³", "Das kostet 20 € pro m³, bei 10 m³ sind es 200 €."},
	{"windows-1252", "Große Störung", "Guten Tag, das Gerät läuft nicht mehr. Können Sie bitte prüfen, ob ein Fehler vorliegt? Schöne Grüße"},
	{"windows-1252", "Réservation", "Bonjour, je n’ai pas reçu la confirmation de ma réservation. À bientôt, merci d’avance."},
	{"windows-1252", "¿Dónde está?", "¿Dónde está mi pedido? Lo compré hace una semana y todavía no llegó. ¡Gracias!"},
	{"windows-1252", "Informação", "Não consigo entrar na minha conta. Vocês podem me ajudar? É urgente, já são três dias."},
	{"windows-1252", "Beställning", "Hej, jag har inte fått min beställning än. Går det att få en ny? Hälsningar, Åsa"},
	{"windows-1252", "Spørgsmål", "Hej, jeg har ikke fået min ordre endnu. Må jeg få en bekræftelse? Ærøskøbing"},
	{"windows-1252", "Perché", "È già la terza volta che scrivo: perché non è più facile accedere? Così non va."},
	{"windows-1252", "20 °C", "The room has 20 °C, and § 5 says “more” – for £ 30."},
}

func encode(t testing.TB, charset, text string) string {
	t.Helper()
	var e encoding.Encoding
	switch charset {
	case "utf-16le":
		e = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		e = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "utf-8":
		return text
	default:
		var err error
		if e, err = htmlindex.Get(charset); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func parse(t testing.TB, raw string) *mail.Message {
	t.Helper()
	m, err := mail.Parse([]byte(raw), mail.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestUndeclaredCharset has mails that do not declare their charset.
func TestUndeclaredCharset(t *testing.T) {
	t.Parallel()
	const head = "From: a@example.org\nMessage-ID: <1@example.org>\nDate: Mon, 2 Jan 2023 15:04:05 +0000\n"
	right, total := 0, 0
	for _, l := range letters {
		for charset := range strings.FieldsSeq(l.charsets) {
			subject, text := encode(t, charset, l.subject), encode(t, charset, l.text)
			word := "=?unknown-8bit?B?" + base64.StdEncoding.EncodeToString([]byte(subject)) + "?="
			html := "<html><body><p>" + text + "</p></body></html>"
			for name, raw := range map[string]string{
				"plain":             head + "Subject: " + subject + "\n\n" + text + "\n",
				"ascii, base64":     head + "Subject: " + subject + "\nContent-Type: text/plain; charset=us-ascii\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(text)) + "\n",
				"page":              head + "Subject: " + word + "\nContent-Type: text/html\n\n" + html + "\n",
				"said to be latin":  head + "Subject: " + subject + "\nContent-Type: text/plain; charset=iso-8859-1\n\n" + text + "\n",
				"said to be utf-8":  head + "Subject: " + subject + "\nContent-Type: text/plain; charset=utf-8\n\n" + text + "\n",
				"other part says":   head + "Subject: " + subject + "\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nok\n--b\nContent-Type: text/html; charset=" + charset + "\n\n" + html + "\n--b--\n",
				"subject says":      head + "Subject: =?" + charset + "?B?" + base64.StdEncoding.EncodeToString([]byte(subject)) + "?=\n\n" + text + "\n",
				"two parts, no one": head + "Subject: " + subject + "\nContent-Type: multipart/alternative; boundary=b\n\n--b\n\n" + text + "\n--b\nContent-Type: text/html\n\n" + html + "\n--b--\n",
			} {
				if charset == "iso-2022-jp" && name == "page" {
					continue // seven bits need no such word
				}
				total++
				m := parse(t, raw)
				got := m.Subject + "\n" + m.Text + m.HTML
				if d := cmp.Diff(l.subject, m.Subject); d != "" {
					t.Errorf("%s, %s, subject (-want +got):\n%s", charset, name, d)
				} else if !strings.Contains(got, l.text) {
					t.Errorf("%s, %s: want %s, got %s", charset, name, l.text, got)
				} else {
					right++
				}
			}
		}
	}
	t.Logf("%d of %d right", right, total)
}

// TestCharsetInDisguise has mails whose declared charset is wrong.
func TestCharsetInDisguise(t *testing.T) {
	t.Parallel()
	const text = "Schöne Grüße — 你好"
	for name, tt := range map[string]struct{ charset, body string }{
		"utf-8 as latin 1":           {"iso-8859-1", text},
		"utf-8 as windows-1252":      {"windows-1252", text},
		"utf-8 as cyrillic":          {"koi8-r", text},
		"utf-8 as ascii":             {"us-ascii", text},
		"utf-16, little, mark":       {"utf-16", "\xff\xfe" + encode(t, "utf-16le", text)},
		"utf-16, big, mark":          {"utf-16", "\xfe\xff" + encode(t, "utf-16be", text)},
		"utf-16, little, no mark":    {"utf-16", encode(t, "utf-16le", text)},
		"utf-16, big, no mark":       {"utf-16", encode(t, "utf-16be", text)},
		"utf-16le, no mark":          {"utf-16le", encode(t, "utf-16le", text)},
		"utf-16le, mark":             {"utf-16le", "\xff\xfe" + encode(t, "utf-16le", text)},
		"utf-16be as utf-16le":       {"utf-16le", encode(t, "utf-16be", text)},
		"utf-16 by its mark":         {"", "\xff\xfe" + encode(t, "utf-16le", text)},
		"utf-16 as utf-8":            {"utf-8", "\xff\xfe" + encode(t, "utf-16le", text)},
		"utf-16 by its zeros":        {"", encode(t, "utf-16le", text)},
		"utf-16 by its zeros, big":   {"utf-8", encode(t, "utf-16be", text)},
		"ucs-2":                      {"ucs-2", encode(t, "utf-16be", text)},
		"utf-8, byte order mark":     {"utf-8", "\xef\xbb\xbf" + text},
		"undeclared, with that mark": {"", "\xef\xbb\xbf" + text},
	} {
		contentType := "text/plain"
		if tt.charset != "" {
			contentType += "; charset=" + tt.charset
		}
		for _, kind := range []string{contentType, strings.Replace(contentType, "plain", "html", 1)} {
			m := parse(t, fmt.Sprintf("From: a@example.org\nContent-Type: %s\nContent-Transfer-Encoding: base64\n\n%s\n",
				kind, base64.StdEncoding.EncodeToString([]byte(tt.body))))
			if got := m.Text + m.HTML; got != text {
				t.Errorf("%s, %s: %q", name, kind, got)
			}
		}
	}
	if m := parse(t, "From: a@example.org\nSubject: =?iso-8859-1?Q?Gr=C3=BC=C3=9Fe?=\n\nx"); m.Subject != "Grüße" {
		t.Errorf("UTF-8 as Latin 1 in a subject: %q", m.Subject)
	}
}

// TestReadBetterStaysSame: a mail that is read better is no other mail for that.
func TestReadBetterStaysSame(t *testing.T) {
	t.Parallel()
	const head = "From: a@example.org\nMessage-ID: <1@example.org>\nDate: Mon, 2 Jan 2023 15:04:05 +0000\n"
	greek := encode(t, "windows-1253", "Καλημέρα σας, χθες παρήγγειλα ένα βιβλίο")

	m := parse(t, head+"Subject: x\n\n"+greek)
	// The former result for these bytes: each one as windows-1252.
	former := parse(t, head+"Subject: x\nContent-Type: text/plain; charset=utf-8\n\n"+windows1252(greek))
	if m.FormerIdentity() != former.FormerIdentity() {
		t.Error("by its former identity it is another mail now")
	}
	if !strings.Contains(m.Text, "Καλημέρα") {
		t.Errorf("it is not read better: %q", m.Text)
	}
}

func windows1252(s string) string {
	e, _ := htmlindex.Get("windows-1252")
	var out strings.Builder
	for i := range len(s) {
		r, _ := e.NewDecoder().String(s[i : i+1])
		out.WriteString(r)
	}
	return out.String()
}
