package recipients

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"regexp/syntax"
	"slices"

	"github.com/nyaruka/phonenumbers"
)

// numbering is the numbering plan of one country calling code: libphonenumber's metadata, compiled.
//
// phonenumbers.Parse and IsValidNumber take 8 us and 3 KB a number, because they run a dozen
// regular expressions for each. Those expressions stay the only source of truth; here all
// expressions of a calling code run at once as one automaton over the ten digits. Its states are
// made when a number first needs them, so a known prefix costs one array access per digit.
// FuzzPhone compares the results with the library's.
type numbering struct {
	code     int
	possible uint32 // bit n: the code's main region may have national numbers of n digits
	regions  []territory
	library  bool // the plan is not compiled: ask the library

	progs  []*syntax.Prog
	states []state
	index  map[string]int32
	start  int32
}

// territory is one region that shares the calling code.
type territory struct {
	leading int // program of the leading digits that select this region; -1: none
	general pattern
	types   []pattern
}

// pattern is one description of numbers: an expression and the lengths it may have.
type pattern struct {
	prog    int    // index of the program; -1: matches nothing
	lengths uint32 // bit n: n digits; 0: any
}

// state is one state of the automaton.
type state struct {
	next    [10]int32 // state after each digit; 0: not known yet
	threads []thread
	matched []bool // by program
	valid   uint32 // bit n: a number of n digits that ends here is valid
	known   uint32 // bit n: bit n of valid has been computed
}

// thread is a position in one of the programs.
type thread struct{ prog, pc uint16 }

// maxStates is the most states of a plan, of about 100 bytes each. Real lists need hundreds of
// states. A full plan starts again with none.
const maxStates = 1 << 14

// newNumbering compiles the plan of a calling code, or returns nil if there is none. When an
// expression needs more than an automaton over digits (none does in v1.8.1), the plan asks the
// library.
func newNumbering(code int) *numbering {
	ids := phonenumbers.GetRegionCodesForCountryCode(code)
	all, err := phonenumbers.MetadataCollection()
	if len(ids) == 0 || err != nil {
		return nil
	}
	n := &numbering{code: code}
	known := map[string]int{}
	for i, id := range ids {
		at := slices.IndexFunc(all.GetMetadata(), func(m *phonenumbers.PhoneMetadata) bool {
			return m.GetId() == id && int(m.GetCountryCode()) == code
		})
		if at < 0 {
			return nil
		}
		m := all.GetMetadata()[at]
		t := territory{leading: -1}
		ok := true
		compile := func(expr string) int {
			if expr == "" || !ok {
				return -1
			}
			if p, seen := known[expr]; seen {
				return p
			}
			prog := automaton(expr)
			if prog == nil {
				ok = false
				return -1
			}
			n.progs = append(n.progs, prog)
			known[expr] = len(n.progs) - 1
			return len(n.progs) - 1
		}
		describe := func(d *phonenumbers.PhoneNumberDesc) pattern {
			return pattern{prog: compile(d.GetNationalNumberPattern()), lengths: lengthBits(d.GetPossibleLength())}
		}
		t.general = describe(m.GetGeneralDesc())
		// The order and the choice are those of getNumberTypeHelper in the library. Mobile and fixed line
		// may share one pattern.
		for _, d := range []*phonenumbers.PhoneNumberDesc{m.GetPremiumRate(), m.GetTollFree(), m.GetSharedCost(), m.GetVoip(),
			m.GetPersonalNumber(), m.GetPager(), m.GetUan(), m.GetVoicemail(), m.GetFixedLine(), m.GetMobile()} {
			if p := describe(d); p.prog >= 0 {
				t.types = append(t.types, p)
			}
		}
		if lead := m.GetLeadingDigits(); lead != "" {
			t.leading = compile("(?:" + lead + `)\d*`)
		}
		if i == 0 {
			n.possible = t.general.lengths
		}
		if !ok {
			n.library = true
			return n
		}
		n.regions = append(n.regions, t)
	}
	n.reset()
	return n
}

// automaton compiles an expression. It returns nil if the expression needs more than an automaton
// over digits, or has more instructions than a thread can count.
func automaton(expr string) *syntax.Prog {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil || len(prog.Inst) > 1<<16-1 || !digitsOnly(prog) {
		return nil
	}
	return prog
}

func digitsOnly(p *syntax.Prog) bool {
	return !slices.ContainsFunc(p.Inst, func(in syntax.Inst) bool { return in.Op == syntax.InstEmptyWidth })
}

func lengthBits(lengths []int32) (b uint32) {
	for _, l := range lengths {
		if l < 0 { // there are no such numbers: use a length that no number has
			return 1 << 31
		}
		if l < 31 {
			b |= 1 << l
		}
	}
	return b
}

// isPossible reports whether the country has numbers of that many digits.
func (n *numbering) isPossible(national string) bool {
	return n.possible == 0 || n.possible>>len(national)&1 == 1
}

// lengths returns the least and the most digits of a national number.
func (n *numbering) lengths() (least, most int) {
	return bits.TrailingZeros32(n.possible), 31 - bits.LeadingZeros32(n.possible)
}

// isValid reports whether national, ASCII digits, lies in a range of the plan. The answer is that
// of phonenumbers.IsValidNumber for the same digits.
func (n *numbering) isValid(national string) bool {
	if n.library {
		e164 := fmt.Sprintf("+%d%s", n.code, national)
		num, err := phonenumbers.Parse(e164, "")
		return err == nil && phonenumbers.IsValidNumber(num) && phonenumbers.Format(num, phonenumbers.E164) == e164
	}
	s := n.start
	for i := 0; i < len(national); i++ {
		d := national[i] - '0'
		next := n.states[s].next[d]
		if next == 0 {
			next = n.step(s, rune(national[i]))
		}
		s = next
	}
	st := &n.states[s]
	bit := uint32(1) << len(national)
	if st.known&bit == 0 {
		st.known |= bit
		if n.inRange(st.matched, len(national)) {
			st.valid |= bit
		}
	}
	return st.valid&bit != 0
}

// inRange is IsValidNumber for the set of matching expressions.
func (n *numbering) inRange(matched []bool, length int) bool {
	fits := func(p pattern) bool {
		return p.prog >= 0 && matched[p.prog] && (p.lengths == 0 || p.lengths>>length&1 == 1)
	}
	for _, t := range n.regions {
		valid := fits(t.general) && slices.ContainsFunc(t.types, fits)
		if len(n.regions) == 1 || t.leading >= 0 && matched[t.leading] {
			return valid
		}
		if t.leading < 0 && valid {
			return true
		}
	}
	return false
}

func (n *numbering) reset() {
	n.states = make([]state, 1, 64) // 0 means "not known yet"
	n.index = make(map[string]int32)
	var threads []thread
	seen := map[thread]bool{}
	for p, prog := range n.progs {
		threads = n.follow(threads, seen, uint16(p), uint32(prog.Start))
	}
	n.start = n.state(threads)
}

// step makes the state that follows s after a digit.
func (n *numbering) step(s int32, digit rune) int32 {
	var threads []thread
	seen := map[thread]bool{}
	for _, t := range n.states[s].threads {
		in := &n.progs[t.prog].Inst[t.pc]
		if in.MatchRune(digit) {
			threads = n.follow(threads, seen, t.prog, in.Out)
		}
	}
	if len(n.states) >= maxStates {
		n.reset()
		return n.state(threads)
	}
	next := n.state(threads)
	n.states[s].next[digit-'0'] = next
	return next
}

// follow adds the instructions that are reachable from pc without a digit, and that either consume
// a digit or match.
func (n *numbering) follow(threads []thread, seen map[thread]bool, prog uint16, pc uint32) []thread {
	t := thread{prog, uint16(pc)}
	if seen[t] {
		return threads
	}
	seen[t] = true
	switch in := &n.progs[prog].Inst[pc]; in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		threads = n.follow(threads, seen, prog, in.Out)
		return n.follow(threads, seen, prog, in.Arg)
	case syntax.InstCapture, syntax.InstNop:
		return n.follow(threads, seen, prog, in.Out)
	case syntax.InstFail:
		return threads
	default:
		return append(threads, t)
	}
}

// state returns the index of the state with these threads, new if need be.
func (n *numbering) state(threads []thread) int32 {
	slices.SortFunc(threads, func(a, b thread) int {
		return (int(a.prog)<<16 | int(a.pc)) - (int(b.prog)<<16 | int(b.pc))
	})
	var key []byte
	for _, t := range threads {
		key = binary.BigEndian.AppendUint32(key, uint32(t.prog)<<16|uint32(t.pc))
	}
	if i, ok := n.index[string(key)]; ok {
		return i
	}
	st := state{matched: make([]bool, len(n.progs))}
	for _, t := range threads {
		if n.progs[t.prog].Inst[t.pc].Op == syntax.InstMatch {
			st.matched[t.prog] = true
		} else {
			st.threads = append(st.threads, t)
		}
	}
	n.states = append(n.states, st)
	i := int32(len(n.states) - 1)
	n.index[string(key)] = i
	return i
}
