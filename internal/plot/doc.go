// Package plot draws figures as SVG for pages without script: counts over time, a histogram of
// durations, and tables with bars. The report of a run calls it; other pages may.
//
// Its functions are pure: equal figures make equal bytes. An outer svg has the texts at percentages
// of both axes, and an inner svg that stretches has the shapes, so texts keep their size on a phone
// and on paper. Colours and fonts come from the style of the page, by classes
// (docs/design-language.md). Each drawing has a title that says what it shows, and its figures as a
// table. Texts may come from anywhere: they are shortened, cleaned of control and format
// characters, and escaped.
package plot
