package quote

import (
	"strings"
	"unicode/utf8"
)

// role is the part that a header field plays.
type role byte

const (
	fieldUnknown role = iota + 1 // "Anything: "
	fieldFrom
	fieldDate
	fieldTo
	fieldSubject
	fieldOther
	fieldForm // of a form on a web site, and of no mail
)

// fieldNames are the names of header fields as mailers translate them, in lower case.
var fieldNames = func() map[string]role {
	m := map[string]role{}
	for _, f := range []struct {
		role  role
		names string
	}{
		{fieldFrom, "from|von|de|da|van|fra|från|od|lähettäjä|от|от кого|отправитель|від|kimden|gönderen|feladó|από|de la|expéditeur|remitente|mittente|" +
			"afzender|absender|nadawca|odesílatel|odosielateľ|saatja|no|nuo|dari|từ|จาก|מאת|من|发件人|發件人|寄件者|差出人|送信者|送信元|보낸사람|보낸 사람|보내는 사람"},
		{fieldDate, "sent|date|message du|gesendet|gesendet am|datum|envoyé|envoyé le|date d'envoi|enviado|enviado el|enviado em|enviada|enviada em|fecha|inviato|data|verzonden|" +
			"wysłano|wysłane|data wysłania|skickat|sendt|dato|lähetetty|päivä|päivämäärä|отправлено|дата|надіслано|odesláno|odoslané|elküldve|dátum|küldve|" +
			"gönderildi|gönderilen|gönderme tarihi|tarih|ημερομηνία|στάλθηκε|trimis|poslano|saadetud|nosūtīts|išsiųsta|dikirim|tanggal|ngày|đã gửi|ส่ง|วันที่|" +
			"נשלח|תאריך|تم الإرسال|تاريخ الإرسال|التاريخ|发送时间|发送日期|日期|时间|寄件日期|傳送時間|送信日時|送信日|日時|日付|보낸날짜|보낸 날짜|날짜|보낸 시간"},
		{fieldTo, "to|an|à|a|pour|para|aan|till|til|do|vastaanottaja|кому|komu|címzett|kime|alıcı|προς|către|za|prima|kam|kepada|đến|ถึง|אל|إلى|destinataire|destinatario|" +
			"收件人|收件者|宛先|받는사람|받는 사람"},
		{fieldSubject, "subject|betreff|objet|sujet|asunto|oggetto|onderwerp|assunto|temat|ämne|emne|aihe|тема|předmět|predmet|tárgy|konu|θέμα|subiect|zadeva|teema|" +
			"tēma|tema|subjek|perihal|chủ đề|เรื่อง|נושא|الموضوع|主题|主旨|件名|제목"},
		{fieldOther, "cc|bcc|copie|copie à|copia|cc:|kopie|kopia|kopi|kopio|копия|копія|kopie an|bilgi|másolatot kap|κοιν|κοινοποίηση|עותק|نسخة|抄送|副本|참조|" +
			"reply-to|reply to|antwort an|répondre à|responder a|importance|wichtigkeit|priorität|priority|importancia|attachments|anlagen|anhänge|pièces jointes|" +
			"archivos adjuntos|allegati|bijlagen|categories|kategorien|sensitivity|message-id|organization|organisation|when|where|wann|wo|resent-from|sender|in-reply-to|" +
			"references|list-id|mailing list|mailed-by|signed-by|security|newsgroups|groups"},
		{fieldForm, "message|message body|your message|name|your name|full name|first name|last name|phone|phone number|telephone|tel|mobile|company|comment|comments|" +
			"enquiry|inquiry|question|e-mail|email|email address|your email|website|country|city|ip|ip address|remote ip|nachricht|ihre nachricht|vorname|nachname|telefon|" +
			"telefonnummer|firma|frage|anliegen|mitteilung|nom|prénom|téléphone|société|votre message|nombre|teléfono|empresa|mensaje|nome|telefono|telefone|" +
			"azienda|messaggio|mensagem|naam|telefoonnummer|bedrijf|bericht|imię|wiadomość|treść|jméno|zpráva|имя|телефон|сообщение|компания|isim|mesaj|" +
			"姓名|电话|留言|公司|名前|お名前|氏名|電話番号|お問い合わせ内容|会社名|이름|전화번호|문의내용"},
	} {
		for _, name := range strings.Split(f.names, "|") {
			m[name] = f.role
		}
	}
	return m
}()

const maxName = 48 // bytes of the name of a field

// fieldOf tells what field a line is, 0 if it has not the form of one.
func fieldOf(line string) role {
	name := fieldName(line)
	if name == "" {
		return 0
	}
	if r := fieldNames[name]; r != 0 {
		return r
	}
	if utf8.RuneCountInString(name) > 30 || strings.Count(name, " ") > 2 || strings.ContainsAny(name, "<>@\"()") {
		return 0
	}
	return fieldUnknown
}

// plainDates are the names of a date in mailers that write addresses beside it, and in forms on web sites.
var plainDates = wordSet("date datum fecha data dato дата dátum tarih päivä päivämäärä ημερομηνία tanggal ngày วันที่ תאריך التاريخ 日期 日付 日時 날짜 时间")

// fieldName is the name of the field that a line may be, in lower case; "" if it has not the form of one.
func fieldName(line string) string {
	line = strings.TrimLeft(line, "*_ ")
	head := line[:min(len(line), maxName)]
	i := strings.Index(head, ":")
	if wide := strings.Index(head, "："); wide >= 0 && (i < 0 || wide < i) {
		i = wide
	}
	if i <= 0 || strings.HasPrefix(line[i:], "://") {
		return ""
	}
	return strings.ToLower(strings.TrimRight(head[:i], "*_ "))
}

const maxHeader = 14 // lines

// header tells whether a line begins the header of a mail, as mailers write it above one that they append, and gives the
// line that follows it and is not blank. Without one, that is the line itself.
func (s *scan) header(at int) (found bool, after int) {
	if at >= len(s.lines) || s.field[at] <= fieldUnknown || s.field[at] == fieldForm || s.kinds[at] != New {
		return false, at
	}
	if s.inOneLine(s.lines[at].Text) {
		return true, s.next[at]
	}
	if at > 0 && !s.blank(at-1) && s.kinds[at-1] == New && isForm(s.field[at-1]) {
		return false, at // the middle of a form
	}
	h, ok := s.readHeader(at)
	if !ok {
		return false, at
	}
	after = s.next[h.last]
	if s.lines[at].Opens {
		return true, after
	}
	n := parts(h.seen)
	switch {
	case !h.seen[fieldFrom] || n < 2 || h.strange || after < len(s.lines) && s.field[after] == fieldForm:
		found = false
	case h.address:
		found = s.msg.Reply || h.seen[fieldDate] || n == 3
	default:
		found = s.msg.Reply && h.seen[fieldSubject] && h.sent
	}
	if !found {
		return false, at
	}
	return true, after
}

// mailHeader is what lines that may be the header of a mail hold.
type mailHeader struct {
	seen    roles
	address bool // of a mail
	sent    bool // it says when the mail was sent, not only a date
	strange bool // there are fields that no mail has
	last    int  // line
}

// readHeader reads the lines of what may be a header; not ok: another one begins below.
func (s *scan) readHeader(at int) (h mailHeader, ok bool) {
	h.last = at
	loose := 0
	for i := at; i < len(s.lines) && i < at+maxHeader && loose <= 4 && !s.blank(i) && s.lines[i].Quoted == No; i++ {
		whole := h.seen[fieldFrom] && parts(h.seen) == 3
		switch r := s.field[i]; {
		case r == 0:
			loose++ // a long list of recipients goes on, or the text begins
		case isForm(r) && whole:
			h.strange = h.strange || r == fieldForm
			return h, true // the text of the mail, if it is one
		case isForm(r):
			h.strange = true
		case h.seen[r] && r != fieldOther:
			return h, whole
		default:
			h.seen[r], h.last = true, i
			h.sent = h.sent || r == fieldDate && !plainDates[fieldName(s.lines[i].Text)]
			h.address = h.address || r != fieldSubject && strings.Contains(s.lines[i].Text, "@")
		}
	}
	return h, true
}

// roles are those that were seen.
type roles [fieldForm + 1]bool

// parts counts the fields beside From that the header of a mail has.
func parts(seen roles) int {
	n := 0
	for _, r := range []role{fieldDate, fieldTo, fieldSubject} {
		if seen[r] {
			n++
		}
	}
	return n
}

func isForm(r role) bool { return r == fieldForm || r == fieldUnknown }

// inOneLine: a whole header stands on the line: "From: Ann Sent: Monday To: Desk Subject: x". HTML loses newlines on the
// way.
func (s *scan) inOneLine(line string) bool {
	if len(line) > 600 {
		return false
	}
	var seen roles
	sent := false
	for word := range strings.FieldsSeq(line) {
		if name, ok := strings.CutSuffix(word, ":"); ok {
			name = strings.ToLower(strings.Trim(name, "*_"))
			r := fieldNames[name]
			seen[r], sent = true, sent || r == fieldDate && !plainDates[name]
		}
	}
	return seen[fieldFrom] && seen[fieldSubject] && (seen[fieldDate] || seen[fieldTo]) && (s.msg.Reply && sent || strings.Contains(line, "@"))
}
