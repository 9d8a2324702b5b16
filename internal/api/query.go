package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"campaignd/internal/client"
	"campaignd/internal/sentence"
)

// faultyQuery refuses a query that the route would not obey as a whole: a parameter that the route
// does not have, one that is empty or given twice, and a value that the route cannot use. Huma
// leaves out what it cannot read, and a filter that is left out chooses everything.
func faultyQuery(op *huma.Operation, u *url.URL) *Error {
	faulty := func(format string, a ...any) *Error {
		return &Error{http.StatusBadRequest, client.CodeInvalid, fmt.Sprintf(format, a...), nil}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return faulty("the query cannot be read (%v): want NAME=VALUE&NAME=VALUE, with each %% written %%25", err)
	}
	known := map[string]*huma.Param{}
	for _, p := range op.Parameters {
		if p.In == "query" {
			known[p.Name] = p
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values, p := query[name], known[name]
		switch {
		case p == nil && len(known) == 0:
			return faulty("unknown parameter %.60q; this route has none", name)
		case p == nil:
			return faulty("unknown parameter %.60q; %s", name, sentence.DidYouMean(name, slices.Sorted(maps.Keys(known))))
		case len(values) > 1:
			return faulty("%s is given %d times: give one value", name, len(values))
		case values[0] == "" && !p.Required:
			return faulty("%s is empty: give a value, or leave %s out", name, name)
		}
		if remedy := remedyFor(p.Schema, values[0]); remedy != "" {
			return faulty("%s=%s: %s", name, sentence.Shorten(values[0], 60), remedy)
		}
	}
	for _, p := range op.Parameters {
		if p.In == "query" && p.Required && query.Get(p.Name) == "" {
			return faulty("the parameter %s is missing: %s", p.Name, p.Description)
		}
	}
	return nil
}

// remedyFor says what a parameter wants instead of a value; "": the value fits.
func remedyFor(s *huma.Schema, value string) string {
	switch {
	case strings.HasPrefix(value, " "):
		return "it begins with a blank; write a + as %2B"
	case s.Type == huma.TypeInteger:
		return remedyForInteger(s, value)
	case s.Type == huma.TypeBoolean:
		if value != "true" && value != "false" {
			return "want true or false"
		}
	case s.Format == "date-time":
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return "want a time such as 2026-03-02T09:00:00Z (RFC 3339), with each + written %2B"
		}
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, any(value)):
		var words []string
		for _, word := range s.Enum {
			words = append(words, fmt.Sprint(word))
		}
		return sentence.DidYouMean(value, words)
	case s.MaxLength != nil && utf8.RuneCountInString(value) > *s.MaxLength:
		return fmt.Sprintf("want at most %d characters", *s.MaxLength)
	case s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(value):
		return "want what matches " + s.Pattern
	}
	return ""
}

// remedyForInteger is remedyFor of a whole number.
func remedyForInteger(s *huma.Schema, value string) string {
	least := cmp.Or(s.Minimum, new(float64))
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err == nil && float64(n) >= *least && (s.Maximum == nil || float64(n) <= *s.Maximum):
		return ""
	case s.Maximum == nil:
		return fmt.Sprintf("want a whole number of %.0f or more", *least)
	}
	return fmt.Sprintf("want a whole number from %.0f to %.0f", *least, *s.Maximum)
}
