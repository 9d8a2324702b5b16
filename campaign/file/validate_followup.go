package file

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// LimitedAgain is the platform's code for its marketing limit per recipient. LimitedWait is how
// long such a recipient must be left alone: an attempt within a day fails again
// (docs/service.md#errors).
const (
	LimitedAgain = "131049"
	LimitedWait  = 24 * time.Hour
)

// checkFollowUp adds what is wrong with policies.follow_up.
func (s *Source) checkFollowUp(f *FollowUp) {
	if f == nil {
		return
	}
	if len(f.Codes) == 0 {
		s.at("policies.follow_up.codes", "no code is named", "want the codes of failures to send again, for example [131049]")
	}
	for i, code := range f.Codes {
		path := fmt.Sprintf("policies.follow_up.codes[%d]", i)
		switch {
		case code < 1:
			s.at(path, fmt.Sprintf("%d is not a code", code), "")
		case slices.Index(f.Codes, code) < i:
			s.at(path, fmt.Sprintf("%d stands here twice", code), "keep one")
		}
	}
	least := time.Hour
	if slices.ContainsFunc(f.Codes, func(code int) bool { return strconv.Itoa(code) == LimitedAgain }) {
		least = LimitedWait
	}
	s.between("policies.follow_up.after", f.After, least, 30*24*time.Hour)
	if f.Max < 1 || f.Max > maxFollowUps {
		s.at("policies.follow_up.max", fmt.Sprintf("%d; want 1 to %d", f.Max, maxFollowUps), "")
	}
}
