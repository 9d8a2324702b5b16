package main

import (
	"regexp"
	"strconv"
	"strings"
)

// A rule replaces the text that the first group of its pattern matches.
type rule struct {
	pattern *regexp.Regexp
	replace func(string) string
}

// to returns a replacement by s.
func to(s string) func(string) string { return func(string) string { return s } }

// increment adds 1 to a whole number.
func increment(s string) string {
	n, err := strconv.Atoi(s)
	if err != nil {
		return s
	}
	return strconv.Itoa(n + 1)
}

// rules makes rules of a table of patterns, each followed by a text or a function.
func rules(table ...any) []rule {
	var all []rule
	for i := 0; i < len(table); i += 2 {
		replace, ok := table[i+1].(func(string) string)
		if !ok {
			replace = to(table[i+1].(string))
		}
		all = append(all, rule{regexp.MustCompile(table[i].(string)), replace})
	}
	return all
}

// sqlRules change SQL. An equals sign is a comparison only after the words of its pattern; after
// SET it assigns.
var sqlRules = rules(
	`\s(<)\s`, "<=", `\s(<=)\s`, "<", `\s(>)\s`, ">=", `\s(>=)\s`, ">", `\s(<>)\s`, "=",
	`(?i)\b(?:WHERE|AND|OR|ON|WHEN|NOT)\s+[\w.$?()]+\s(=)\s`, "<>",
	`(?i)\b(?:WHERE|AND|OR|ON|WHEN)\s+[\w.$?()]+\s(?:=|<|>|<=|>=)\s(\d+)\b`, increment,
	`(?i)\s(AND)\s`, "OR", `(?i)\s(OR)\s`, "AND", `(?i)\s(IS NULL)`, "IS NOT NULL", `(?i)\s(IS NOT NULL)`, "IS NULL",
	`(?i)[^T]\s(EXISTS)\s?\(`, "NOT EXISTS", `(?i)\b(NOT EXISTS)\s?\(`, "EXISTS",
	`(?i)\b(least)\(`, "greatest", `(?i)\b(greatest)\(`, "least", `(?i)\b(min)\(`, "max", `(?i)\b(max)\(`, "min",
	`\s(\+)\s`, "-", `\s(-)\s`, "+", `(?i)\s(DESC)\b`, "ASC", `(?i)\bLIMIT\s+(\d+)`, increment, `(?i)\b(COALESCE)\(`, "nullif",
)

// luaRules change Lua.
var luaRules = rules(
	`\s(<)\s`, "<=", `\s(<=)\s`, "<", `\s(>)\s`, ">=", `\s(>=)\s`, ">", `\s(==)\s`, "~=", `\s(~=)\s`, "==",
	`\bif (not )`, "", `\s(and)\s`, "or", `\s(or)\s`, "and",
	`math\.(max)`, "min", `math\.(min)`, "max", `math\.(floor)`, "ceil", `math\.(ceil)`, "floor",
	`\s(\+)\s`, "-", `\s(-)\s`, "+", `\s(\*)\s`, "/", `\s(/)\s`, "*", `[^\w.'%](\d+)\b`, increment,
)

// sqlWords matches the words that show a statement.
var sqlWords = regexp.MustCompile(`\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ON CONFLICT)\b`)

// statementOfSQL reports whether a literal is an SQL statement.
func statementOfSQL(literal string) bool {
	return len(literal) > 20 && sqlWords.MatchString(literal)
}

// scripts returns the mutations of a text by the rules of a table, outside of comments. The text
// begins at the offset base of the file.
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
			replacement := r.replace(text[at[2]:at[3]])
			found = append(found, &Mutation{File: f, Kind: kind, Start: base + at[2], End: base + at[3], New: []string{replacement}})
		}
	}
	return found
}
