package search_test

import (
	"testing"

	"github.com/helpwright/helpwright/storage/search"
)

// found is a text, and queries that find it or not.
type found struct {
	text      string
	hit, miss []string
}

func testFound(t *testing.T, all []found, terms func(text string) []string) {
	t.Helper()
	for _, test := range all {
		terms := terms(test.text)
		for _, q := range test.hit {
			if !search.Match(terms, search.Query(q)) {
				t.Errorf("%q %q is not found by %q %+v", test.text, terms, q, search.Query(q))
			}
		}
		for _, q := range test.miss {
			if search.Match(terms, search.Query(q)) {
				t.Errorf("%q %q is found by %q %+v", test.text, terms, q, search.Query(q))
			}
		}
	}
}

// Letters that people type in several ways.
func TestLetters(t *testing.T) {
	t.Parallel()
	testFound(t, []found{
		// German, and those of the North
		{"Herr Müller über größere Räume", []string{"mueller", "muller", "MÜLLER", "mu\u0308ller", "ueber", "groessere", "grossere", "größere raeume", "GRÖSSERE", "GRÖẞERE", "muel", "mül"}, []string{"mller", "meller", "miller x"}},
		{"Herr Mueller ueber groessere Raeume", []string{"müller", "mueller", "MÜLLER", "über", "größere", "räume"}, []string{"muller x"}},
		{"Muller", []string{"muller", "müller"}, []string{"mueller"}},
		{"Aenderung", []string{"änderung", "Änderung", "aenderung"}, []string{"anderung"}},
		{"Größenänderung", []string{"groessenaenderung", "grossenanderung", "größenänderung", "groessenänderung"}, nil},
		{"Groessenaenderung", []string{"Größenänderung", "groessenänderung"}, nil},
		{"neue blue poet queue Duell Israel", []string{"neue", "blue", "poet", "queue", "duell", "israel", "poe", "blu"}, []string{"neu x", "nue", "pot", "que x", "dull", "isral"}},
		{"pot dull neu", []string{"pot", "dull", "neu"}, []string{"poet", "duell", "neue", "blue"}},
		{"Strasse und Straße", []string{"strasse", "straße", "STRASSE"}, []string{"strase"}},
		{"Søren spiser smørrebrød på Ærø", []string{"soren", "soeren", "sören", "smørrebrød", "smorrebrod", "smoerrebroed", "paa", "pa", "på", "aero", "ærø", "aeroe"}, nil},
		{"Aalborg, Aarhus, Soeren, Tromsoe, Faeroeerne", []string{"Ålborg", "århus", "søren", "tromsø", "færøerne"}, nil},
		{"Malmö", []string{"malmø", "malmo", "malmoe"}, nil},
		{"Malmø", []string{"malmö", "malmo", "malmoe"}, nil},
		{"Ångström", []string{"angstrom", "aangstroem", "\u212bngstrom", "ångström"}, nil},
		// other Latin letters
		{"Déjà vu, señor Nuñez: façade", []string{"deja", "senor", "nunez", "facade", "DÉJÀ"}, nil},
		{"Łukasz Dvořák Þórður Đorđe Ħal Sørlie İstanbul", []string{"lukasz", "dvorak", "thordur", "dorde", "hal", "istanbul", "ıstanbul", "İSTANBUL"}, nil},
		{"Isparta ISPARTA ısparta ışık", []string{"isparta", "ısparta", "ISPARTA", "isik", "IŞIK"}, nil},
		{"ＦＵＬＬ　ｗｉｄｔｈ １２３", []string{"full", "width", "123", "ｆｕｌｌ"}, nil},
		{"full width 123", []string{"ＦＵＬＬ", "１２３"}, nil},
		{"œuvre cœur", []string{"oeuvre", "coeur", "cœur"}, nil},
		{"Nguyễn Đức Vươn\u0308g", []string{"nguyen", "duc", "nguyễn"}, nil},
		{"Əliyev", []string{"eliyev", "əliyev"}, nil},
		// Greek and Cyrillic
		{"Ελλάδα ΟΔΟΣ προϊόν", []string{"ελλαδα", "οδος", "οδοσ", "προιον"}, nil},
		{"Ещё пришёл Київ об'єкт ґанок", []string{"еще", "пришел", "київ", "обєкт", "об’єкт", "ганок"}, nil},
		// Arabic
		{"افتح الإعدادات والكتاب", []string{"إعدادات", "اعدادات", "الإعدادات", "الاعدادات", "كتاب", "الكتاب", "والكتاب"}, []string{"كتب"}},
		{"كتاب", []string{"الكتاب", "والكتاب", "كتاب"}, []string{"مكتبة"}},
		{"مستشفى كبير", []string{"مستشفي", "مستشفى"}, nil},
		{"مدرسة على الأرض", []string{"مدرسه", "مدرسة", "علي", "أرض", "الارض", "ارض"}, nil},
		{"آمن إلى ٱلله أحمد", []string{"امن", "الى", "الي", "الله", "احمد", "إحمد"}, nil},
		{"الطَّلَبُ مُـهِمّ", []string{"الطلب", "طلب", "مهم"}, nil},
		{"للطلب وبالكتاب فالمدير لكتاب", []string{"طلب", "كتاب", "مدير"}, nil},
		{"ﻣﺮﺣﺒﺎ", []string{"مرحبا"}, nil},
		{"رقم ١٢٣٤", []string{"1234", "١٢٣٤", "۱۲۳۴"}, []string{"1235"}},
		{"رقم 1234", []string{"١٢٣٤", "۱۲۳۴"}, nil},
		{"ولد", []string{"ولد"}, []string{"لد"}},
		// Persian, Urdu
		{"کتاب راهنما یادگیری", []string{"كتاب", "يادگيري", "یادگیری", "كتا"}, nil},
		{"كتاب يادگيري", []string{"کتاب", "یادگیری"}, nil},
		{"کتاب\u200cها می\u200cخواهم", []string{"کتابها", "کتاب ها", "کتاب\u200cها", "کتاب", "میخواهم", "می خواهم", "خواهم"}, nil},
		{"کتابها می خواهم", []string{"کتاب\u200cها", "می\u200cخواهم"}, nil},
		{"شماره ۱۲۳۴۵", []string{"12345", "١٢٣٤٥"}, nil},
		{"یہ کتاب ہے", []string{"كتاب", "یہ", "يه", "هے", "ہے"}, nil},
		// Hebrew
		{"פתחו את ההגדרות", []string{"הגדרות", "ההגדרות", "פתחו"}, nil},
		{"שָׁלוֹם עוֹלָם", []string{"שלום", "עולם", "שלומ"}, nil},
		{"שלומות", []string{"שלום"}, nil},
		{"הספר בבית ולמחשב שבמשרד", []string{"ספר", "הספר", "בית", "מחשב", "משרד"}, nil},
		{"ספר", []string{"הספר", "והספר"}, []string{"סיפור"}},
		{"צה\"ל ארה״ב ג׳ירפה", []string{"צהל", "צה״ל", "ארהב", "ארה\"ב", "גירפה", "ג'ירפה"}, nil},
		{"בית־ספר", []string{"בית ספר", "בית-ספר", "ביתספר"}, nil},
		// Indian digits and joiners
		{"क्\u200dष १२३", []string{"क्ष", "123", "१२३"}, nil},
		{"๑๒๓ บาท", []string{"123", "๑๒๓"}, nil},
	}, search.Terms)
}

// Words that people join, with a hyphen or otherwise.
func TestJoined(t *testing.T) {
	t.Parallel()
	testFound(t, []found{
		{"Change your e-mail address", []string{"email", "e-mail", "e mail", "E‑Mail", "email address", "ema", "e\u00admail", "mail"}, []string{"gmail", "emails x"}},
		{"Change your email address", []string{"email", "e-mail", "e mail", "E-Mail address"}, nil},
		{"Ihre E Mail Adresse", []string{"email", "e-mail", "e mail", "E-Mail-Adresse"}, nil},
		{"Wi-Fi", []string{"wifi", "wi-fi", "wi fi", "WiFi", "Wi‑Fi"}, nil},
		{"wifi router", []string{"wifi", "wi-fi", "wi fi", "wi-fi-router", "WiFi-Router"}, nil},
		{"wi fi", []string{"wifi", "wi-fi"}, nil},
		{"Re-install the app on v18.2.1", []string{"reinstall", "re-install", "re install", "18.2.1", "v18.2.1", "18.2", "v18", "v18.2", "18"}, []string{"18.3.1"}},
		{"v2.10.3", []string{"2.10", "v2.10", "2.10.3", "v2.10.3", "v2", "10.3", "V2.10"}, []string{"2.11", "3.10.4"}},
		{"Version 2.10.3", []string{"v2.10.3", "v2.10", "2.10", "2.10.3", "version 2"}, []string{"v2.11"}},
		{"log in, sign-up and set up", []string{"log-in", "log in", "signup", "sign up", "sign-up", "set-up"}, nil},
		{"login signup setup", []string{"log-in", "log in", "sign-up", "sign up", "set up", "set-up"}, nil},
		{"Don’t panic, says O’Brien", []string{"dont panic", "don't", "don’t", "don`t", "don´t", "obrien", "O'Brien", "o brien", "brien"}, nil},
		{"dont panic obrien", []string{"don't", "don’t panic", "O’Brien"}, nil},
		{"don´t, don`t, donʼt", []string{"dont", "don't"}, nil},
		{"L’adresse d'Anna, aujourd’hui", []string{"adresse", "l'adresse", "l adresse", "ladresse", "anna", "aujourd'hui", "aujourdhui"}, nil},
		{"adresse", []string{"adresse"}, []string{"l'adresser"}},
		{"the customer's", []string{"customers", "customer", "customer's", "customer’s"}, nil},
		{"INV-2024/001, AB-1234 and CD1234", []string{"AB1234", "AB-1234", "AB 1234", "ab_1234", "1234", "inv2024", "INV-2024", "inv2024001", "2024/001", "CD-1234", "CD 1234", "cd1234"}, []string{"AC1234", "AB1235"}},
		{"AB 1234", []string{"ab1234", "AB-1234", "ab/1234"}, nil},
		{"AB1234", []string{"ab-1234", "AB 1234", "1234"}, nil},
		{"snake_case_name kebab-case-name", []string{"snake_case_name", "snakecasename", "snake case name", "case", "casename", "kebab_case", "kebabcase"}, nil},
		{"snakecase", []string{"snake_case", "snake-case"}, nil},
		{"Windows 11 and PS5", []string{"windows11", "windows 11", "Windows-11", "ps5", "ps 5", "PS-5"}, nil},
		{"TCP/IP, AT&T, 24/7", []string{"tcpip", "tcp/ip", "at&t", "att", "24/7", "247"}, nil},
		{"U.S.A. and e.g. this", []string{"usa", "u.s.a.", "U.S.A", "eg", "e.g."}, nil},
		{"1,000 and 1.000,50", []string{"1000", "1,000", "1.000", "1.000,50"}, nil},
		{"Donau-Dampf-Schiff", []string{"donaudampfschiff", "donaudampf", "dampfschiff", "Donau-Dampf", "schiff"}, nil},
		{"col·lecció", []string{"col·leccio", "colleccio", "col-leccio"}, nil},
		{"anna.schmidt@example.org", []string{"anna.schmidt@example.org", "anna schmidt", "example.org", "annaschmidt"}, []string{"anna.schmied@example.org"}},
		{"Straßen-Müller", []string{"strassenmueller", "strassenmuller", "straßenmüller", "mueller"}, nil},
		{"Donau\u200bdampf so\u00adft di\u200ere\u2060ct", []string{"donaudampf", "donau", "soft", "direct"}, nil},
		{"a–b — c, (d) e; f", []string{"ab", "a", "f"}, []string{"bc", "cd", "de"}},
		{"mp3 h2o b2b", []string{"mp3", "h2o", "b2b"}, []string{"mp4"}},
		{"It works. Now go", []string{"works now"}, []string{"worksnow"}},
	}, search.Terms)
}

// Phone numbers are found however they are written and looked for.
func TestPhone(t *testing.T) {
	t.Parallel()
	hamburg := []string{
		"+49 (0)40 123456", "+49 40 123456", "+4940123456", "0049 40 123456", "004940123456", "+49 (40) 123456", "+49-40-123456", "040 123456",
		"040/123456", "(040) 123456", "040-12 34 56", "(0)40 123456", "040123456", "4940123456", "49 40 123456", "+49 040 123456", "+49.40.123456",
		"+49 40 1234 56", "0049 (0)40 123456", "040.123456", "+49(0)40-123456", "＋４９ ４０ １２３４５６", "+٤٩ ٤٠ ١٢٣٤٥٦", "+49 40 123456", "011 49 40 123456",
	}
	others := []string{"+49 30 123456", "030 123456", "123457", "+49 (0)40 123457", "1234567"}
	for _, saved := range append(hamburg, "tel:+4940123456", "Tel.: 040 – 123456") {
		testFound(t, []found{{saved, append(hamburg, "40123456", "40 123456", "+49 40 1234"), others}}, search.Phone)
	}
	for _, saved := range []string{"+49 (0)40 123456", "0049 40 123456", "+49/40/123456"} { // with the country
		testFound(t, []found{{saved, hamburg, []string{"+44 40 123456", "0044 40 123456"}}}, search.Phone)
	}
	testFound(t, []found{
		{"+49 (0)40 123456", []string{"123456", "40123456", "23456"}, []string{"1234567"}},
		{"+49 (0)89 123 4567", []string{"+49891234567", "49891234567", "0891234567", "0049891234567", "1234567", "123 4567", "089 1234567"}, nil},
		{"+1 (555) 123-4567", []string{"555-123-4567", "(555) 123-4567", "5551234567", "1-555-123-4567", "+15551234567", "001 555 123 4567", "1234567", "555.123.4567"}, []string{"554-123-4567"}},
		{"(555) 123-4567", []string{"+1 555 123 4567", "5551234567", "1-555-123-4567", "555-123-4567", "15551234567"}, nil},
		{"+7 912 345-67-89", []string{"8 912 345-67-89", "89123456789", "+79123456789", "8 (912) 345 67 89", "912 3456789"}, nil},
		{"8 (912) 345-67-89", []string{"+7 912 345 67 89", "+79123456789", "89123456789"}, nil},
		{"+39 06 1234567", []string{"06 1234567", "061234567", "+39061234567", "0039 06 1234567"}, nil},
		{"06 1234567", []string{"+39 06 1234567", "061234567"}, nil},
		{"+36 1 234 5678", []string{"06 1 234 5678", "0612345678", "+3612345678"}, nil},
		{"+44 (0)20 7946 0958", []string{"020 7946 0958", "+442079460958", "02079460958", "0044 20 7946 0958"}, []string{"+49 20 7946 0958"}},
		{"+33 1 23 45 67 89", []string{"01 23 45 67 89", "0123456789", "01.23.45.67.89", "+33123456789"}, nil},
		{"0171 1234567, +43 1 5123456", []string{"+49 171 1234567", "+4315123456", "01715123456"[:4] + "1234567", "01 5123456"}, nil},
		{"040 123456 / 0171 1234567", []string{"+49 40 123456", "+49 171 1234567", "0171 1234567", "040123456"}, nil},
		{"+49 [0] 40 123456", []string{"040 123456", "+49 40 123456"}, nil},
		{"+49\u00a040\u200e123456", []string{"040 123456", "+49 40 123456"}, nil},
		{"040 123456-0", []string{"040 123456", "+49 40 123456", "040 1234560"}, nil},
		{"040 123456 ext. 12", []string{"+49 40 123456"}, nil},
		{"no number", nil, []string{"123456"}},
	}, search.Phone)
	for _, text := range []string{"Call +49 (0)40 123456 today", "Unsere Nummer: 040 / 123456", "(040) 123-456, bitte"} {
		testFound(t, []found{{text, []string{"+49 40 123456", "040123456", "004940123456"}, []string{"+49 40 123457", "030123456"}}}, search.Terms)
	}
}
