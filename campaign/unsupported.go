package campaign

// unsupported is a part of the campaign file that this version reads but does not execute. It is
// refused, because a limit that is read and not obeyed would be worse than none.
type unsupported struct {
	path    string // of the key
	used    func(*Definition) bool
	instead string // what to do instead
}

// notExecuted lists them for validation and for the JSON Schema.
func notExecuted() []unsupported {
	return []unsupported{}
}

// checkExecuted adds a finding for everything that d asks for and this version does not execute.
func (s *source) checkExecuted(d *Definition) {
	for _, u := range notExecuted() {
		if u.used(d) {
			s.at(u.path, "not executed by this version", u.instead)
		}
	}
}
