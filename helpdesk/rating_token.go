package helpdesk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"regexp"
	"slices"
)

// ratingPlaceholder is where a body has the links to a rating, between double braces.
const ratingPlaceholder = "rating"

// RatingPlace is where the HTML of a message is to have the links to a rating, see [OutgoingMail].Rating.
const RatingPlace = "{{rating}}"

var ratingPlaces = regexp.MustCompile(`\{\{\s*rating\s*\}\}`)

func hasRatingPlace(body string) bool { return ratingPlaces.MatchString(body) }

// withoutRatingPlaces removes the places of links, such as from a quoted message.
func withoutRatingPlaces(body string) string { return ratingPlaces.ReplaceAllLiteralString(body, "") }

// oneRatingPlace leaves the first place of links.
func oneRatingPlace(body string) string {
	at := ratingPlaces.FindStringIndex(body)
	if at == nil {
		return body
	}
	return body[:at[0]] + RatingPlace + withoutRatingPlaces(body[at[1]:])
}

// ratingMACLength is 128 bits: unlike a reply address, a link can be guessed at without sending mail.
const ratingMACLength = 16

// ratingToken returns the secret of the link for a score.
func (s *Service) ratingToken(accountID, ratingID int64, score int) string {
	var b []byte
	for _, n := range []int64{accountID, ratingID, int64(score)} {
		b = binary.AppendUvarint(b, uint64(n)) //nolint:gosec // ids and scores are positive
	}
	return tokenEncoding.EncodeToString(append(b, ratingMAC(s.cfg.SigningKey, b)...))
}

func ratingMAC(key, b []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("rating v1\x00"))
	mac.Write(b)
	return mac.Sum(nil)[:ratingMACLength]
}

// readRatingToken returns what a genuine token says. There is one token for it: what decodes to the same is none.
func (s *Service) readRatingToken(token string) (accountID, ratingID int64, score int, ok bool) {
	if len(token) > tokenEncoding.EncodedLen(3*binary.MaxVarintLen64+ratingMACLength) {
		return 0, 0, 0, false
	}
	b, err := tokenEncoding.DecodeString(token)
	if err != nil || len(b) <= ratingMACLength || tokenEncoding.EncodeToString(b) != token {
		return 0, 0, 0, false
	}
	body, mac := b[:len(b)-ratingMACLength], b[len(b)-ratingMACLength:]
	if !s.signedBy(func(key []byte) bool { return hmac.Equal(mac, ratingMAC(key, body)) }) {
		return 0, 0, 0, false
	}
	var numbers []int64
	for len(body) > 0 {
		n, size := binary.Uvarint(body)
		if size <= 0 || n > math.MaxInt64 {
			return 0, 0, 0, false
		}
		numbers, body = append(numbers, int64(n)), body[size:]
	}
	if len(numbers) != 3 || numbers[2] > int64(slices.Max(RatingScales())) {
		return 0, 0, 0, false
	}
	return numbers[0], numbers[1], int(numbers[2]), numbers[2] > 0
}
