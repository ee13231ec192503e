package desk

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Dates read as the CLDR has them.
func TestDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 14, 5, 0, 0, time.UTC)
	for lang, want := range map[string][]string{
		"en": {"9:07", "Mon 09:07", "2 Nov", "4 Mar 2025", "2 Nov, 09:07", "Nov", "Mar 2025", "Tue, 4 Mar 2025, 09:07:03 UTC"},
		"de": {"9:07", "Mo., 09:07", "2. Nov.", "4. März 2025", "2. Nov., 09:07", "Nov.", "März 2025", "Di., 4. März 2025, 09:07:03 UTC"},
		"fr": {"9:07", "lun. 09:07", "2 nov.", "4 mars 2025", "2 nov., 09:07", "nov.", "mars 2025", "mar. 4 mars 2025, 09:07:03 UTC"},
		"es": {"9:07", "lun, 9:07", "2 nov", "4 mar 2025", "2 nov, 9:07", "nov", "mar 2025", "mar, 4 mar 2025, 9:07:03 UTC"},
		"pt": {"9:07", "seg., 09:07", "2 de nov.", "4 de mar. de 2025", "2 de nov. 09:07", "nov.", "mar. de 2025", "ter., 4 de mar. de 2025 09:07:03 UTC"},
		"it": {"9:07", "lun 09:07", "2 nov", "4 mar 2025", "2 nov, 09:07", "nov", "mar 2025", "mar 4 mar 2025, 09:07:03 UTC"},
		"nl": {"9:07", "ma 09:07", "2 nov", "4 mrt 2025", "2 nov, 09:07", "nov", "mrt 2025", "di 4 mrt 2025, 09:07:03 UTC"},
		"pl": {"9:07", "pon., 09:07", "2 lis", "4 mar 2025", "2 lis, 09:07", "lis", "mar 2025", "wt., 4 mar 2025, 09:07:03 UTC"},
		"ja": {"9:07", "9:07 (月)", "11月2日", "2025年3月4日", "11月2日 9:07", "11月", "2025年3月", "2025年3月4日(火) 9:07:03 UTC"},
		"ar": {"9:07", "الاثنين 09:07", "2 نوفمبر", "4 مارس 2025", "2 نوفمبر، 09:07", "نوفمبر", "مارس 2025", "الثلاثاء، 4 مارس 2025، 09:07:03 UTC"},
	} {
		v := &visit{words: words{lang: lang}, now: now, zone: time.UTC}
		today, monday := time.Date(2026, 11, 20, 9, 7, 0, 0, time.UTC), time.Date(2026, 11, 16, 9, 7, 0, 0, time.UTC)
		early, earlier := time.Date(2026, 11, 2, 9, 7, 0, 0, time.UTC), time.Date(2025, 3, 4, 9, 7, 3, 0, time.UTC)
		got := []string{strings.TrimPrefix(v.when(today), "0"), v.when(monday), v.when(early), v.when(earlier), v.moment(early), v.month(early), v.month(earlier), v.full(earlier)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", lang, diff)
		}
	}
}

// Every language has a calendar with all names and patterns.
func TestCalendars(t *testing.T) {
	t.Parallel()
	for lang, c := range calendars {
		if n, m := len(strings.Fields(c.months)), len(strings.Fields(c.days)); n != 12 || m != 7 {
			t.Errorf("%s has %d months and %d days", lang, n, m)
		}
	}
	for _, lang := range languages {
		if _, ok := calendars[lang]; !ok {
			t.Errorf("%s has no calendar", lang)
		}
	}
}
