package sandbox

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"campaignd/internal/sandbox/draw"
)

// parsePhone reads a number as the platform does: +, digits, spaces, hyphens and parentheses
// (docs/service.md#phone-numbers). It returns the digits as a number, or 0 if there are not 7 to 15
// of them (E.164). plus reports whether the number begins with +.
func parsePhone(s string) (digits uint64, plus bool) {
	n := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			if digits == 0 && c == '0' {
				return 0, plus // no country code begins with 0
			}
			digits = digits*10 + uint64(c-'0')
			if n++; n > 15 {
				return 0, plus
			}
		case c == '+' && i == 0:
			plus = true
		case c == ' ', c == '-', c == '(', c == ')':
		default:
			return 0, plus
		}
	}
	if n < 7 {
		return 0, plus
	}
	return digits, plus
}

func formatPhone(digits uint64) string { return "+" + strconv.FormatUint(digits, 10) }

// wamid returns an id in the form of the platform (docs/protocol.md#adoption): "wamid." and the
// base64 of
//
//	1c 18 LEN DIGITS 15 02 00 DIR 18 12 UNIQUE 00
//
// DIGITS is the phone number of the other party. UNIQUE is 18 hexadecimal digits: 8 of a hash, and
// 10 of n xor boot. dir is 0x11 for a message that was sent, 0x12 for one that was received.
func wamid(boot, to uint64, dir byte, n uint64) string {
	var raw [64]byte
	b := append(raw[:0], 0x1c, 0x18, 0)
	b = strconv.AppendUint(b, to, 10)
	b[2] = byte(len(b) - 3)
	b = append(b, 0x15, 0x02, 0x00, dir, 0x18, 0x12)
	var unique [9]byte
	h, hidden := draw.Mix(boot, n, to), (n^boot)&(1<<40-1)
	for i := range 4 {
		unique[i] = byte(h >> (8 * i))
	}
	for i := range 5 {
		unique[4+i] = byte(hidden >> (32 - 8*i))
	}
	b = append(b, strings.ToUpper(hex.EncodeToString(unique[:]))...)
	b = append(b, 0)
	return "wamid." + base64.StdEncoding.EncodeToString(b)
}

// messageIndex reads n from an id of this sandbox. ok is false for any other id.
func messageIndex(boot uint64, id string) (n uint64, ok bool) {
	rest, found := strings.CutPrefix(id, "wamid.")
	if !found {
		return 0, false
	}
	raw, err := base64.StdEncoding.DecodeString(rest)
	if err != nil || len(raw) < 3 || len(raw) != 3+int(raw[2])+6+18+1 {
		return 0, false
	}
	unique, err := hex.DecodeString(string(raw[len(raw)-19 : len(raw)-1]))
	if err != nil {
		return 0, false
	}
	for _, c := range unique[4:] {
		n = n<<8 | uint64(c)
	}
	n = (n ^ boot) & (1<<40 - 1)
	to, _ := parsePhone(string(raw[3 : 3+int(raw[2])]))
	return n, wamid(boot, to, raw[3+int(raw[2])+3], n) == id
}
