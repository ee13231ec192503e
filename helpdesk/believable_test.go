package helpdesk

import (
	"testing"
	"time"
)

func TestBelievable(t *testing.T) {
	t.Parallel()
	here := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		at, sent time.Time
		want     bool
	}{
		"now":                            {here, here, true},
		"no time":                        {time.Time{}, here, false},
		"the epoch":                      {time.Unix(0, 0), here, false},
		"the epoch, no Date":             {time.Unix(0, 0), time.Time{}, false},
		"the epoch of FAT":               {time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}, false},
		"an old mail":                    {time.Date(1995, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1995, 1, 1, 0, 0, 0, 0, time.UTC), true},
		"no Date":                        {here.AddDate(-1, 0, 0), time.Time{}, true},
		"a clock that is fast":           {here.Add(30 * time.Minute), here, true},
		"tomorrow":                       {here.AddDate(0, 0, 1), here, false},
		"a day before it was sent":       {here.Add(-24 * time.Hour), here, true},
		"a week before it was sent":      {here.Add(-7 * 24 * time.Hour), here, false},
		"years after it was sent":        {here, here.AddDate(-9, 0, 0), true},
		"a Date in the future proves no": {here.AddDate(-1, 0, 0), here.AddDate(9, 0, 0), true},
	} {
		if got := believable(tt.at, tt.sent, here); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
