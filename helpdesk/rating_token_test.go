package helpdesk

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzRatingToken reads tokens of anybody: it never panics, and accepts only what it wrote itself.
func FuzzRatingToken(f *testing.F) {
	s := &Service{cfg: Config{SigningKey: bytes.Repeat([]byte{7}, 32), FormerSigningKeys: [][]byte{bytes.Repeat([]byte{8}, 32)}}}
	former := &Service{cfg: Config{SigningKey: bytes.Repeat([]byte{8}, 32)}}
	for _, token := range []string{"", "a", "!", s.ratingToken(1, 2, 3), former.ratingToken(1<<62, 1<<62, 5), s.ratingToken(1, 2, 0), s.ratingToken(1, 2, 6), strings.Repeat("a", 75)} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		account, id, score, ok := s.readRatingToken(token)
		if !ok {
			return
		}
		if token != s.ratingToken(account, id, score) && token != former.ratingToken(account, id, score) {
			t.Errorf("%q is read as %d, %d, %d", token, account, id, score)
		}
		if score < 1 || score > 5 {
			t.Errorf("score %d", score)
		}
	})
}

// Tokens are read whatever key they were written with, and only as they were written.
func TestRatingToken(t *testing.T) {
	t.Parallel()
	s := &Service{cfg: Config{SigningKey: bytes.Repeat([]byte{7}, 32)}}
	token := s.ratingToken(12, 345, 2)
	if account, id, score, ok := s.readRatingToken(token); !ok || account != 12 || id != 345 || score != 2 {
		t.Errorf("%d, %d, %d, %v", account, id, score, ok)
	}
	renewed := &Service{cfg: Config{SigningKey: bytes.Repeat([]byte{9}, 32), FormerSigningKeys: [][]byte{s.cfg.SigningKey}}}
	if _, _, _, ok := renewed.readRatingToken(token); !ok {
		t.Error("not after the key was renewed")
	}
	for n := range token {
		for _, c := range "ab7=\x00" {
			if forged := token[:n] + string(c) + token[n+1:]; forged != token {
				if _, _, _, ok := s.readRatingToken(forged); ok {
					t.Errorf("%q is read", forged)
				}
			}
		}
	}
}

// The work to read a token does not grow with what somebody sends.
func TestRatingTokenGrowth(t *testing.T) { //nolint:paralleltest // allocations are counted for the whole process
	s := &Service{cfg: Config{SigningKey: bytes.Repeat([]byte{7}, 32)}}
	allocated := func(n int) float64 {
		token := strings.Repeat("a", n)
		return testing.AllocsPerRun(10, func() { s.readRatingToken(token) })
	}
	if few, many := allocated(100), allocated(10_000_000); many > few {
		t.Errorf("%v allocations for 100 bytes, %v for 10 MB", few, many)
	}
}
