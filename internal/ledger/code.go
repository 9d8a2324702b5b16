package ledger

import "slices"

// Sets of outcomes that statements name: those of the partial index outcome_open, those that the
// schema before the table attempt adopted, those whose last attempt was not sent, those that may
// have reached their recipients, and those of the partial index outcome_trouble beside the failed.
var (
	openOutcomes      = []int{int(Deferred), int(Retrying), int(Doubt)}
	adoptableOutcomes = []int{int(Doubt), int(Unknown)}
	unsentOutcomes    = []int{int(Deferred), int(Refused)}
	reachingOutcomes  = []int{int(Doubt), int(Unknown), int(Accepted)}
	troubledOutcomes  = []int{int(Unknown), int(Refused), int(Skipped)}
)

// CodeName is the name of the codes that the column state, flags or rank holds, or "" if they have
// none. Statements carry it as a comment: state = 3 /* in doubt */, state IN (1, 2, 3) /* open */.
// ledgertest.NamedCodes compares these comments with it.
func CodeName(column string, codes ...int) string {
	switch {
	case column == "state" && slices.Equal(codes, openOutcomes):
		return "open"
	case column == "state" && slices.Equal(codes, adoptableOutcomes):
		return "adoptable"
	case column == "state" && slices.Equal(codes, unsentOutcomes):
		return "not sent"
	case column == "state" && slices.Equal(codes, reachingOutcomes):
		return "perhaps sent"
	case column == "state" && slices.Equal(codes, troubledOutcomes):
		return "troubled"
	case len(codes) != 1:
		return ""
	}
	switch column {
	case "state":
		return outcomeName(Outcome(codes[0]))
	case "flags":
		return flagName(codes[0])
	case "rank":
		return rankName(Rank(codes[0]))
	}
	return ""
}

func outcomeName(o Outcome) string {
	switch o {
	case Deferred:
		return "deferred"
	case Retrying:
		return "retrying"
	case Doubt:
		return "in doubt"
	case Unknown:
		return "unknown"
	case Accepted:
		return "accepted"
	case Refused:
		return "refused"
	case Skipped:
		return "skipped"
	}
	return ""
}

func flagName(flag int) string {
	switch flag {
	case FlagAdopted:
		return "adopted"
	case FlagMaybeDuplicate:
		return "may be a duplicate"
	case FlagNoResend:
		return "no resend"
	case FlagAmbiguous:
		return "ambiguous"
	case FlagRepeatedID:
		return "repeated id"
	case FlagAnyConnection:
		return "any connection"
	}
	return ""
}

func rankName(r Rank) string {
	switch r {
	case RankNone:
		return "none"
	case RankSent:
		return "sent"
	case RankFailed:
		return "failed"
	case RankDelivered:
		return "delivered"
	case RankRead:
		return "read"
	}
	return ""
}
