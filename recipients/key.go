package recipients

// Key is the form in which campaignd compares phone numbers everywhere: duplicates, opt-outs,
// tiers, adoption. It is the E.164 digits as an integer. Two pairs of spellings that the platform
// itself interchanges become one (docs/service.md#phone-numbers):
//
//   - Brazil: +55 DD 9XXXX-XXXX is the mobile that used to be +55 DD XXXX-XXXX, and often still is
//     in the platform's ids. Only numbers that began with 6 to 9 are folded, since those were
//     mobiles; 2 to 5 are landlines and belong to other people.
//   - Mexico: +52 1 and ten digits is today's +52 and ten digits.
//
// Key is 0 when s is not an E.164 number: an optional +, then 7 to 15 ASCII digits, the first not
// 0. It does not check whether the number exists.
func Key(s string) int64 {
	if len(s) > 0 && s[0] == '+' {
		s = s[1:]
	}
	if len(s) < 7 || len(s) > 15 || s[0] == '0' {
		return 0
	}
	var n int64
	for i := 0; i < len(s); i++ {
		d := s[i] - '0'
		if d > 9 {
			return 0
		}
		n = n*10 + int64(d)
	}
	if len(s) != 13 {
		return n
	}
	switch {
	case s[0] == '5' && s[1] == '5' && s[4] == '9' && s[5] >= '6':
		return 55_00_0000_0000 + n/1e9%100*1e8 + n%1e8
	case s[0] == '5' && s[1] == '2' && s[2] == '1':
		return 52_0000000000 + n%1e10
	}
	return n
}
