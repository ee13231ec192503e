package mail

import (
	"bytes"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// candidate is a possible charset of an undeclared text. score rates how well the bytes above 127 fit a text in it: 1 for
// the commonest letters only, below 0 for implausible text.
type candidate struct {
	name  string
	score func(b []byte) float64
}

const (
	surely    = 0.45     // the minimum score for accepting a candidate
	maxSample = 16 << 10 // bytes examined
	wrong     = -3       // the score of invalid bytes
)

// guessCharset returns the most likely charset of b, "" for a Western one or if there is no evidence. b is not UTF-8.
func guessCharset(b []byte) string {
	if b = b[:min(len(b), maxSample)]; isSevenBit(b) {
		return ""
	}
	best, most := "", max(surely, western(b))
	for _, c := range candidates() {
		if s := c.score(b); s > most {
			best, most = c.name, s
		}
	}
	if best == "" {
		return byLetters(b)
	}
	return best
}

// byLetters identifies languages by accented letters that, read as Western ones, do not occur together in any Western
// language: Czech and Slovak, Hungarian, Turkish. It returns "" for others.
func byLetters(b []byte) string {
	var has [256]bool
	for _, c := range b {
		has[c] = true
	}
	some := func(letters string) bool {
		for _, c := range []byte(letters) {
			if has[c] {
				return true
			}
		}
		return false
	}
	both := func(letters string) bool { return has[letters[0]] && has[letters[1]] }
	switch {
	case some("\xf8\xfd") && some("\xec\xe8\xf9\x9a\x9e\xb9\xbe") && some("\xe1\xed") && !some("\xe5\xe6\xf0\xfe"): // ř ý, ě č ů š ž, á í
		if some("\xb9\xbe") && !some("\x9a\x9e") {
			return "iso-8859-2"
		}
		return "windows-1250"
	case some("\xf5\xfb") && some("\xe1") && some("\xf6\xfc") && !some("\xe3\xe7\xe4\xea\xe0"): // ő ű, á, ö ü
		return "windows-1250"
	case (both("\xfe\xf0") || both("\xfe\xfd") || both("\xf0\xfd")) && !some("\xe1\xe9\xed\xf3\xfa\xe6\xe5\xf8"): // ş ğ ı
		return "windows-1254"
	}
	return ""
}

// fits reports whether b may be a text in a charset declared by other parts of its mail.
func fits(b []byte, name string) bool {
	e := lookupCharset(name)
	if e == nil || wide(normalCharset(name)) {
		return false
	}
	out, err := e.NewDecoder().Bytes(b[:min(len(b), maxSample)])
	if err != nil || bytes.Count(out, []byte("\uFFFD")) > 1 { // one, where b was cut
		return false
	}
	for _, c := range candidates() {
		if lookupCharset(c.name) == e {
			return c.score(b) > 0.2
		}
	}
	return guessCharset(b) == ""
}

// The commonest characters of languages: about 200 make up half of a text.
const (
	simplified = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体相见被利什二等产或新己制身果加西月话合回特代内信表化老给世位次度门任常先海通教原东提立及比员解水名真论处各入几口认条平系气题活更别打变四总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命金指许统区保至社便空决展科司五基书非则听白界达光放强即像难且权思完设式色路记品住告类求据程边该交规万取望觉领共确传清今切让识候带您请谢订单客服登录密码退款货票联系邮址付"
	classical  = "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心本前開但因只從想實日者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應向頭文體相見被利什二等產或新己制身果加西月話合回特代內信表化老給世位次度門任常先海通教原東提立及比員解水名真論處各入幾口認條平系氣題活更別打變四總何電數安少報才結反受目太量再感建務做接必場件計管期市直資命金指許統區保至社便空決展科司五基書非則聽白界達光放強即像難且權思完設式色路記品住告類求據程邊該交規萬取望覺領共確傳清今切讓識候帶您請謝訂單客服登錄密碼退款貨票聯繫郵址付"
	hangul     = "이다는을에의가하고지로기사한습니합리도은를서인자대어아있라해정시수나제전보일그장만주부상안마것요면과여들게구문조용스원으진비무우오연중관신드경계세동성감발공물합내않니까세요저희제품주문배송환불문의감사안녕확인"
	cyrillic   = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёіїєґ"
	greek      = "αοιετσνηυρπκμλςωγδχθφβξζψάέήίόύώϊϋ"
	hebrew     = "יוהלאתרמבשנםדעחקכפגטצסזןךףץ"
	arabic     = "اليمنرتبدسكفهوعقحةجشأصطىخإءآذثضزغئظؤ"
	thai       = "กขคงจชซดตถทธนบปผพมยรลวศษสหอะาำิีึืุูเแโใไ็่้๊์ัฯๆ"
	polish     = "ąćęłńóśźż"
)

var candidates = sync.OnceValue(func() []candidate {
	gb, big5 := common(simplifiedchinese.GBK, simplified), common(traditionalchinese.Big5, classical)
	kr := common(korean.EUCKR, hangul)
	all := []candidate{
		{"gb18030", pairs(func(lead, trail byte) float64 {
			switch {
			case gb[[2]byte{lead, trail}]:
				return 1
			case trail < 0xA1:
				return -0.6 // of the extension
			case lead >= 0xB0 && lead <= 0xD7:
				return 0.45
			case lead >= 0xA1 && lead <= 0xA3:
				return 0.4
			case lead == 0xA4 || lead == 0xA5: // kana
				return -0.3
			case lead >= 0xD8 && lead <= 0xF7:
				return 0
			}
			return -0.6
		}, nil)},
		{"big5", pairs(func(lead, trail byte) float64 {
			switch {
			case trail > 0x7E && trail < 0xA1:
				return wrong
			case big5[[2]byte{lead, trail}]:
				return 1
			case lead >= 0xA4 && lead <= 0xC6:
				return 0.45
			case lead >= 0xA1 && lead <= 0xA3:
				return 0.4
			case lead >= 0xC9 && lead <= 0xF9:
				return 0
			}
			return -0.8
		}, nil)},
		{"euc-kr", pairs(func(lead, trail byte) float64 {
			switch {
			case kr[[2]byte{lead, trail}]:
				return 1
			case trail < 0xA1:
				return -0.5
			case lead >= 0xB0 && lead <= 0xC8:
				return 0.7
			case lead >= 0xA1 && lead <= 0xA3:
				return 0.3
			case lead >= 0xCA && lead <= 0xFD: // Chinese characters
				return -0.3
			}
			return -0.8
		}, nil)},
		{"shift_jis", pairs(shiftJIS, func(c byte) (float64, bool) { return -0.15, c >= 0xA1 && c <= 0xDF })},
		{"euc-jp", pairs(func(lead, trail byte) float64 {
			switch {
			case trail < 0xA1:
				return wrong
			case lead == 0xA4:
				return 0.9
			case lead == 0xA5:
				return 0.7
			case lead == 0xA1 || lead >= 0xB0 && lead <= 0xCF:
				return 0.4
			case lead == 0xA3:
				return 0.2
			case lead >= 0xD0 && lead <= 0xF4:
				return -0.1
			}
			return -0.8
		}, nil)},
	}
	for _, s := range []struct {
		name    string
		charmap *charmap.Charmap
		letters string
	}{
		{"windows-1251", charmap.Windows1251, cyrillic}, {"koi8-u", charmap.KOI8U, cyrillic}, {"iso-8859-5", charmap.ISO8859_5, cyrillic},
		{"ibm866", charmap.CodePage866, cyrillic}, {"windows-1253", charmap.Windows1253, greek}, {"iso-8859-7", charmap.ISO8859_7, greek},
		{"windows-1255", charmap.Windows1255, hebrew}, {"windows-1256", charmap.Windows1256, arabic}, {"iso-8859-6", charmap.ISO8859_6, arabic},
		{"windows-874", charmap.Windows874, thai},
	} {
		all = append(all, candidate{s.name, letters(s.charmap, s.letters)})
	}
	return append(all,
		candidate{"windows-1250", func(b []byte) float64 { return central(b, charmap.Windows1250) }},
		candidate{"iso-8859-2", func(b []byte) float64 { return central(b, charmap.ISO8859_2) }})
})

// central scores Polish texts. A single letter, however frequent, may be a sign in another charset.
func central(b []byte, m *charmap.Charmap) float64 {
	var first byte
	for _, c := range b {
		switch {
		case c < 0x80:
		case first == 0:
			first = c
		case c != first:
			return latin(b, m, polish)
		}
	}
	return 0
}

func shiftJIS(lead, trail byte) float64 {
	switch {
	case trail < 0x40 || trail == 0x7F || trail > 0xFC:
		return wrong
	case lead == 0x82 && trail >= 0x9F && trail <= 0xF1: // hiragana
		return 0.9
	case lead == 0x83 && trail <= 0x96: // katakana
		return 0.7
	case lead == 0x81 || lead >= 0x88 && lead <= 0x97:
		return 0.4
	case lead == 0x82:
		return 0.2
	case lead >= 0x98 && lead <= 0x9F, lead >= 0xE0 && lead <= 0xEA:
		return -0.1
	}
	return -0.8
}

// common returns the codes of characters in a charset of two bytes.
func common(e encoding.Encoding, characters string) map[[2]byte]bool {
	set := map[[2]byte]bool{}
	for _, r := range characters {
		if b, err := e.NewEncoder().Bytes([]byte(string(r))); err == nil && len(b) == 2 {
			set[[2]byte(b)] = true
		}
	}
	return set
}

// pairs scores texts in charsets of two bytes; single, if any, scores single bytes.
func pairs(pair func(lead, trail byte) float64, single func(c byte) (float64, bool)) func(b []byte) float64 {
	return func(b []byte) float64 {
		sum, n, various := 0.0, 0, false
		var first [2]byte
		for i := 0; i < len(b); i++ {
			if b[i] < 0x80 {
				continue
			}
			if single != nil {
				if s, ok := single(b[i]); ok {
					sum, n = sum+s, n+1
					continue
				}
			}
			if i+1 == len(b) {
				break // cut
			}
			n++
			if b[i] == 0x80 || b[i] == 0xFF || b[i+1] < 0x40 || b[i+1] == 0x7F || b[i+1] == 0xFF {
				sum += wrong
				continue
			}
			sum += pair(b[i], b[i+1])
			if code := [2]byte{b[i], b[i+1]}; first == [2]byte{} {
				first = code
			} else if code != first {
				various = true
			}
			i++
		}
		if n > 2 && !various { // a sign repeated as a line
			return 0
		}
		return average(sum, n, 2)
	}
}

// average returns the average of n scores; less than least characters are no evidence.
func average(sum float64, n, least int) float64 {
	if n < least {
		return 0
	}
	return sum / float64(n)
}

// letters scores texts in a non-Latin alphabet with one byte per letter. The letters are given in order of frequency.
func letters(m *charmap.Charmap, alphabet string) func(b []byte) float64 {
	weights := map[rune]float64{}
	all := []rune(alphabet)
	for i, r := range all {
		weights[r] = 1 - 0.6*float64(i)/float64(len(all))
	}
	return func(b []byte) float64 {
		sum, n, neighbours := 0.0, 0, 0
		var seen [256]bool
		distinct := 0
		before := ' '
		for i, c := range b {
			if c < 0x80 || c == 0xA0 { // a space in most charsets
				before = rune(c & 0x7F)
				continue
			}
			if !seen[c] {
				seen[c] = true
				distinct++
			}
			if i > 0 && b[i-1] >= 0x80 {
				neighbours++
			}
			r := m.DecodeByte(c)
			lower := unicode.ToLower(r)
			weight, known := weights[lower]
			n++
			switch {
			case r == '\uFFFD':
				sum += wrong
			case known && r != lower && unicode.IsLower(before):
				sum -= 0.7 // a capital inside a word
			case known && before < 0x80 && unicode.IsLetter(before):
				sum -= 0.7 // two alphabets in one word
			case known && r != lower:
				sum += weight / 2
			case known:
				sum += weight
			case unicode.IsLetter(r):
				sum -= 0.5
			case r == '\u00A0' || unicode.IsPunct(r) || r == '№' || r == '€':
				sum += 0.2
			default:
				sum -= 0.5
			}
			before = r
		}
		if distinct < 4 || 2*neighbours < n { // words have several letters
			return 0
		}
		return sum/float64(n) + 0.1 // rare letters are half of any text
	}
}

// western scores texts in windows-1252, whose letters occur among ASCII ones.
func western(b []byte) float64 {
	return latin(b, charmap.Windows1252, "äöüßéèêëàâáãåæçñóòôõøíìîïúùûœšž") + 0.05
}

// latin scores texts in an alphabet that extends ASCII letters.
func latin(b []byte, m *charmap.Charmap, accented string) float64 {
	sum, n := 0.0, 0
	ascii := func(i int) bool { return asciiLetter(b, i) }
	high := func(i int) bool { return i >= 0 && i < len(b) && b[i] >= 0x80 }
	for i, c := range b {
		if c < 0x80 || metres(b, i) {
			continue
		}
		r := m.DecodeByte(c)
		n++
		switch {
		case r == '\uFFFD' || unicode.IsControl(r):
			sum -= 1
		case !unicode.IsLetter(r) && ascii(i-1) && ascii(i+1) && r != '’':
			sum -= 1 // a sign inside a word
		case !unicode.IsLetter(r):
			if !high(i-1) && !high(i+1) || r == '\u00A0' {
				sum += 0.4
			}
		case high(i-1) && high(i+1):
			sum -= 0.6
		case strings.ContainsRune(accented, unicode.ToLower(r)) && (ascii(i-1) || ascii(i+1)):
			sum += 0.7
		case ascii(i-1) || ascii(i+1):
			sum += 0.1
		}
	}
	return average(sum, n, 1)
}

// metres reports whether i is the sign of m² or m³, which occur in every language.
func metres(b []byte, i int) bool {
	if b[i] != 0xB2 && b[i] != 0xB3 || i == 0 || b[i-1]|0x20 != 'm' {
		return false
	}
	return !asciiLetter(b, i+1)
}

// asciiLetter reports whether there is a letter at i.
func asciiLetter(b []byte, i int) bool {
	return i >= 0 && i < len(b) && b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z'
}
