package main

import (
	"regexp"
	"strconv"
	"strings"
)

// A rule turns what the first group of its pattern matches.
type rule struct {
	pattern *regexp.Regexp
	turn    func(string) string
}

func to(s string) func(string) string { return func(string) string { return s } }

func increment(s string) string {
	n, err := strconv.Atoi(s)
	if err != nil {
		return s
	}
	return strconv.Itoa(n + 1)
}

func rules(table ...any) []rule {
	var all []rule
	for i := 0; i < len(table); i += 2 {
		turn, ok := table[i+1].(func(string) string)
		if !ok {
			turn = to(table[i+1].(string))
		}
		all = append(all, rule{regexp.MustCompile(table[i].(string)), turn})
	}
	return all
}

// An equals sign compares only behind these words; behind SET it assigns.
var sqlRules = rules(
	`\s(<)\s`, "<=", `\s(<=)\s`, "<", `\s(>)\s`, ">=", `\s(>=)\s`, ">", `\s(<>)\s`, "=",
	`(?i)\b(?:WHERE|AND|OR|ON|WHEN|NOT)\s+[\w.$?()]+\s(=)\s`, "<>",
	`(?i)\b(?:WHERE|AND|OR|ON|WHEN)\s+[\w.$?()]+\s(?:=|<|>|<=|>=)\s(\d+)\b`, increment,
	`(?i)\s(AND)\s`, "OR", `(?i)\s(OR)\s`, "AND", `(?i)\s(IS NULL)`, "IS NOT NULL", `(?i)\s(IS NOT NULL)`, "IS NULL",
	`(?i)[^T]\s(EXISTS)\s?\(`, "NOT EXISTS", `(?i)\b(NOT EXISTS)\s?\(`, "EXISTS",
	`(?i)\b(least)\(`, "greatest", `(?i)\b(greatest)\(`, "least", `(?i)\b(min)\(`, "max", `(?i)\b(max)\(`, "min",
	`\s(\+)\s`, "-", `\s(-)\s`, "+", `(?i)\s(DESC)\b`, "ASC", `(?i)\bLIMIT\s+(\d+)`, increment, `(?i)\b(COALESCE)\(`, "nullif",
)

var luaRules = rules(
	`\s(<)\s`, "<=", `\s(<=)\s`, "<", `\s(>)\s`, ">=", `\s(>=)\s`, ">", `\s(==)\s`, "~=", `\s(~=)\s`, "==", `\bif (not )`, "",
	`\s(and)\s`, "or", `\s(or)\s`, "and", `math\.(max)`, "min", `math\.(min)`, "max", `math\.(floor)`, "ceil", `math\.(ceil)`, "floor",
	`\s(\+)\s`, "-", `\s(-)\s`, "+", `\s(\*)\s`, "/", `\s(/)\s`, "*", `[^\w.'%](\d+)\b`, increment,
)

// statementOfSQL reports whether a literal is one, by its words in capitals.
var sqlWords = regexp.MustCompile(`\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ON CONFLICT)\b`)

func statementOfSQL(literal string) bool {
	return len(literal) > 20 && sqlWords.MatchString(literal)
}

// scripts finds every place of a text that a rule turns. The text begins at base; comments stay.
func scripts(f *File, base int, text, kind string, table []rule) []*Mutation {
	var found []*Mutation
	for _, r := range table {
		for _, at := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
			if len(at) < 4 || at[2] < 0 {
				continue
			}
			start := strings.LastIndexByte(text[:at[2]], '\n') + 1
			if strings.Contains(text[start:at[2]], "--") {
				continue
			}
			found = append(found, &Mutation{File: f, Kind: kind, Start: base + at[2], End: base + at[3], New: []string{r.turn(text[at[2]:at[3]])}})
		}
	}
	return found
}
