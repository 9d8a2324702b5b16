package recipients

// Key is the form in which campaignd compares phone numbers everywhere: duplicates, opt-outs,
// tiers, adoption. It is the E.164 digits as an integer. Two spellings that are one person's become
// one (docs/service.md#phone-numbers), so that an opt-out under one spelling stops the other.
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
	if r, other, short := ruleOf(s); r != nil && short == r.long {
		s = other
	}
	var n int64
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0
		}
		n = n*10 + int64(d)
	}
	return n
}
