package file

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"campaignd/campaign"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// The patterns of names, also for the JSON Schema.
const (
	namePattern     = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$` // part of run ids, file names and metric labels
	templatePattern = `^[a-z0-9_]{1,512}$`                // docs/service.md#templates
	languagePattern = `^[a-z]{2,3}(_[A-Za-z0-9]{2,8})*$`
	regionPattern   = `^[A-Z]{2}$`
	hoursPattern    = `^([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	datePattern     = `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	linkPattern     = `^(https?://|\{\{)`
)

const (
	maxConnections = 100
	maxFollowUps   = 10
	maxCanary      = 1000000
	maxButtons     = 10  // docs/service.md#templates
	maxSkip        = 100 // lines of a list
	maxCapMessages = 1000
)

func buttonTypes() []string { return []string{"url", "quick_reply", "copy_code", "otp"} }
func categories() []string  { return []string{"MARKETING", "UTILITY", "AUTHENTICATION"} }
func weekdays() []string    { return []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} }
func misfires() []string    { return []string{"skip", "run"} }
func overlaps() []string    { return []string{OverlapSkip, OverlapQueue, OverlapCancel} }
func encodings() []string   { return []string{"utf-8", "utf-16le", "utf-16be", "windows-1252"} }
func validations() []string { return []string{"valid", "possible", "none"} }
func capActions() []string  { return []string{campaign.CapSkip, campaign.CapDefer} }
func spreads() []string     { return []string{NumbersSpread, NumbersSticky} }
func sentBefores() []string { return []string{SentBeforeLeaveOut, SentBeforeRefuse} }

func uncertain() []string {
	return []string{string(campaign.UncertainHold), string(campaign.UncertainEvidence), string(campaign.UncertainResend)}
}

// checkDefinition adds everything that is wrong with the values of a definition of the right shape.
func (s *Source) checkDefinition(d *Definition) {
	s.matches("name", d.Name, namePattern, "want letters, digits, ., _ and -, at most 64, the first a letter or digit")
	if d.Name == "latest" {
		s.at("name", `"latest" names the newest run on the command line`, "choose another name")
	}
	s.checkConnections(d.Connections)
	s.oneOf("numbers", d.Numbers, spreads())
	s.checkTemplate(&d.Template)
	s.checkAudience(&d.Recipients)
	s.checkSelection(d)
	s.checkVariables(d)
	if !s.stored {
		s.checkSchedule(d.Schedule)
	}
	s.checkWindow(d.Window)
	s.checkLimits(&d.Limits)
	s.oneOf("policies.on_uncertain", string(d.Policies.OnUncertain), uncertain())
	s.checkFollowUp(d.Policies.FollowUp)
	s.checkCanary(d.Policies.Canary)
	s.checkHoldout(d.Holdout)
	s.checkConversions(d.Conversions)
	if n := d.Policies.MaxOptOuts; n < 0 || n > 1 {
		s.at("policies.max_opt_outs", fmt.Sprintf("%g; want a share of 0 to 1", n), "0 never pauses")
	}
	s.between("policies.doubt_window", d.Policies.DoubtWindow, time.Second, 72*time.Hour)
	if p := d.Policies.SentBefore; p != "" {
		s.oneOf("policies.sent_before", p, sentBefores())
	}
	if c := d.Policies.FrequencyCap; c != nil {
		if c.Messages < 1 || c.Messages > maxCapMessages {
			s.at("policies.frequency_cap.messages", fmt.Sprintf("%d; want 1 to %d", c.Messages, maxCapMessages), "")
		}
		s.between("policies.frequency_cap.per", c.Per, time.Minute, campaign.MostCapPer)
		s.oneOf("policies.frequency_cap.action", c.Action, capActions())
	}
}

// checkEmpty refuses empty texts that would count as absent and so send at another time or to
// others: the program that wrote the file had nothing to write. It comes before the defaults.
func (s *Source) checkEmpty(d *Definition) {
	empty := func(path, text, means, remedy string) {
		if text == "" && s.Positions[path] != nil {
			s.at(path, `"" would mean `+means, remedy+", or remove the key")
		}
	}
	if w := d.Window; w != nil {
		empty("window.hours", w.Hours, "the whole day", "give hours such as 09:00-18:00")
		empty("window.timezone", w.Timezone, "UTC", "name a zone such as Africa/Lagos")
	}
	if c := d.Schedule; c != nil {
		empty("schedule.timezone", c.Timezone, "UTC", "name a zone such as Africa/Lagos")
	}
	if a := d.Audience; a != nil {
		empty("audience.discount", a.Discount, "no discount", "give its code")
	}
	if h := d.Holdout; h != nil {
		empty("holdout.salt", h.Salt, "the name of the campaign", "give a text")
	}
}

func (s *Source) checkConnections(ids []string) {
	if len(ids) == 0 {
		s.at("connections", "no connection to send from", "name the service's connections, for example connections: [conn_1]")
	}
	if len(ids) > maxConnections {
		s.at("connections", fmt.Sprintf("%d connections; at most %d", len(ids), maxConnections), "")
	}
	for i, id := range ids {
		path := fmt.Sprintf("connections[%d]", i)
		switch {
		case id == "" || strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) || len(id) > 200:
			s.at(path, fmt.Sprintf("%q is not a connection id", shorten(id)), "")
		case slices.Index(ids, id) < i:
			s.at(path, fmt.Sprintf("%q stands here twice", id), "keep one")
		}
	}
}

// inFolder refuses a file that is not named as one of the campaign file's folder or below it.
// Opening it also refuses links that lead out.
func (s *Source) inFolder(path, file, remedy string) {
	if file != "" && !s.stored && !filepath.IsLocal(file) {
		s.at(path, fmt.Sprintf("%q is not in the folder of the campaign file or below it", shorten(file)), remedy)
	}
}

// noColumn reports whether a field is mapped to no column: "".
func noColumn(columns recipients.Names) bool {
	return len(columns) == 1 && strings.TrimSpace(columns[0]) == ""
}

func (s *Source) checkAudience(a *Audience) {
	s.inFolder("recipients.file", a.File, "copy the list there, or name it with --recipients")
	for name, columns := range a.Columns {
		path := "recipients.columns." + name
		if !isIdentifier(name) {
			s.at(path, "not a name that a template can use", "want letters, digits and _; the column's own name goes to the right of the colon")
		}
		if len(columns) > 1 && name != recipients.FieldTo {
			s.at(path, "takes one column", "only to takes a list, of which the first column that is filled in a row is read")
		}
		none := slices.Contains([]string{recipients.FieldCountry, recipients.FieldTimezone}, name) && noColumn(columns)
		if !none && (len(columns) == 0 || slices.ContainsFunc(columns, func(c string) bool { return strings.TrimSpace(c) == "" })) {
			s.at(path, "no column is named", "want the header of the list's column")
		}
	}
	for name, values := range a.Where {
		switch path := "recipients.where." + name; {
		case strings.TrimSpace(name) == "":
			s.at(path, "no column is named", "want the header of the list's column")
		case len(values) == 0:
			s.at(path, "no value is named", `want the values of the rows to send to, for example [SUBSCRIBED]; "" is an empty cell`)
		}
	}
	for i, name := range a.Ignore {
		if strings.TrimSpace(name) == "" {
			s.at(fmt.Sprintf("recipients.ignore[%d]", i), "no column is named", "want the header of the list's column")
		}
	}
	country := a.Columns[recipients.FieldCountry]
	if a.International && (a.DefaultRegion != "" || len(country) > 0 && !noColumn(country)) {
		s.at("recipients.international", "numbers without + cannot begin with their country code and be national too",
			"remove it, or default_region and columns.country")
	}
	if a.DefaultRegion != "" {
		s.matches("recipients.default_region", a.DefaultRegion, regionPattern, "want two capital letters (ISO 3166), for example NG")
	}
	for path, n := range map[string]int{"recipients.skip": a.Skip, "recipients.skip_below": a.SkipBelow, "recipients.skip_last": a.SkipLast} {
		if n < 0 || n > maxSkip {
			s.at(path, fmt.Sprintf("%d; want 0 to %d", n, maxSkip), "")
		}
	}
	switch d := strings.ToLower(a.Delimiter); d {
	case "", "comma", "semicolon", "tab", "pipe":
	default:
		if r := []rune(a.Delimiter); len(r) != 1 || unicode.IsLetter(r[0]) || unicode.IsDigit(r[0]) ||
			strings.ContainsRune("\"\r\n+\uFFFD", r[0]) {
			s.at("recipients.delimiter",
				fmt.Sprintf("%q cannot separate cells", shorten(a.Delimiter)),
				"want comma, semicolon, tab, pipe, or one character")
		}
	}
	s.oneOf("recipients.encoding", a.Encoding, encodings())
	s.oneOf("recipients.validate", a.Validate, validations())
}

func (s *Source) checkSchedule(c *Schedule) {
	if c == nil {
		return
	}
	switch cron, at := strings.TrimSpace(c.Cron) != "", strings.TrimSpace(c.At) != ""; {
	case !cron && !at:
		s.at("schedule.cron", "missing", `want five fields, for example "0 9 * * MON", or schedule.at for a single time`)
	case cron && at:
		s.at("schedule.at", "stands beside schedule.cron", "give each of the two its own campaign")
	}
	s.zone("schedule.timezone", c.Timezone)
	s.oneOf("schedule.misfire", c.Misfire, misfires())
	s.oneOf("schedule.overlap", c.Overlap, overlaps())
	s.between("schedule.grace", c.Grace, time.Second, 7*24*time.Hour)
}

func (s *Source) checkWindow(w *Window) {
	if w == nil {
		return
	}
	if w.Hours != "" {
		if err := checkHours(w.Hours); err != nil {
			s.at("window.hours", err.Error(), "")
		}
	}
	for i, day := range w.Days {
		path := fmt.Sprintf("window.days[%d]", i)
		if s.oneOf(path, day, weekdays()); slices.Index(w.Days, day) < i {
			s.at(path, fmt.Sprintf("%q stands here twice", day), "keep one")
		}
		if day == "" {
			s.at(path, "empty", "want one of "+strings.Join(weekdays(), ", "))
		}
	}
	if w.Days != nil && len(w.Days) == 0 {
		s.at("window.days", "no day is left to send on", "remove days to send on all of them")
	}
	if w.Timezone != ZoneOfRecipient {
		s.zone("window.timezone", w.Timezone)
	}
	for country, zone := range w.Countries {
		path := "window.countries." + country
		s.matches(path, country, regionPattern, "want two capital letters (ISO 3166) to the left, for example NG: Africa/Lagos")
		s.zone(path, zone)
	}
	if len(w.Countries) > 0 && w.Timezone != ZoneOfRecipient {
		s.at("window.countries", "has no effect: the window is in one zone for all", "set window.timezone: recipient")
	}
	for i, day := range w.Holidays {
		path := fmt.Sprintf("window.holidays[%d]", i)
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			s.at(path, fmt.Sprintf("%q is not a date", shorten(day)), "want for example 2026-12-25")
		} else if slices.Index(w.Holidays, day) < i {
			s.at(path, fmt.Sprintf("%q stands here twice", day), "keep one")
		}
	}
}

// ZoneOfRecipient is the Window.Timezone that means each recipient's own zone.
const ZoneOfRecipient = "recipient"

// checkHours accepts "HH:MM-HH:MM", also across midnight and to 24:00.
func checkHours(hours string) error {
	if !regexp.MustCompile(hoursPattern).MatchString(hours) {
		return fmt.Errorf("%q are no hours: want 09:00-18:00, each with two digits; the end may be 24:00", shorten(hours))
	}
	if from, to, _ := strings.Cut(hours, "-"); from == to {
		return fmt.Errorf("%q begin and end at the same minute: want an end after the begin, or no hours for the whole day", hours)
	}
	return nil
}

func (s *Source) checkCanary(c *Canary) {
	if c == nil {
		return
	}
	if c.Count < 1 || c.Count > maxCanary {
		s.at("policies.canary.count", fmt.Sprintf("%d; want 1 to %d recipients", c.Count, int64(maxCanary)), "")
	}
	if !(c.MaxFailed > 0 && c.MaxFailed <= 1) { // also NaN
		s.at("policies.canary.max_failed", fmt.Sprintf("%g; want a share above 0, at most 1", c.MaxFailed),
			"a share below 1 / count lets none fail")
	}
	if !(c.MinDelivered >= 0 && c.MinDelivered <= 1) { // also NaN
		s.at("policies.canary.min_delivered", fmt.Sprintf("%g; want a share from 0 to 1", c.MinDelivered),
			"0 sends the others without a report of a delivery")
	}
	s.between("policies.canary.wait", c.Wait, time.Second, 72*time.Hour)
}

func (s *Source) checkLimits(l *Limits) {
	// The limiter refuses a lease below MinRate, and that would hold up every run of the number.
	if l.Rate != 0 && !(l.Rate >= campaign.MinRate && l.Rate <= campaign.MaxRate) { // also NaN
		s.at("limits.rate",
			fmt.Sprintf("%g messages per second; want %f (one in 12 days) to %g", l.Rate, campaign.MinRate, campaign.MaxRate),
			"remove it for no limit of the campaign's own")
	}
	if l.NotAfter != 0 {
		s.between("limits.not_after", l.NotAfter, time.Second, 90*24*time.Hour)
	}
	if l.Deadline != 0 {
		s.between("limits.deadline", l.Deadline, time.Minute, 90*24*time.Hour)
	}
	if l.Weight != 0 && (l.Weight < 1 || l.Weight > campaign.MaxWeight) {
		s.at("limits.weight", fmt.Sprintf("%d; want 1 to %d", l.Weight, campaign.MaxWeight), "remove it for 1")
	}
	if l.MaxMessages < 0 {
		s.at("limits.max_messages", fmt.Sprintf("%d; want a number above 0", l.MaxMessages), "remove it for no limit")
	}
	// 0 in the file would mean "no limit", although its author may mean the opposite.
	for path, zero := range map[string]bool{"limits.rate": l.Rate == 0, "limits.max_messages": l.MaxMessages == 0,
		"limits.weight": l.Weight == 0, "limits.deadline": l.Deadline == 0} {
		if zero && s.Positions[path] != nil {
			s.at(path, "0 could mean none or no limit", "remove it for no limit")
		}
	}
}

func (s *Source) matches(path, value, pattern, want string) {
	switch {
	case value == "":
		s.at(path, "missing", want)
	case !regexp.MustCompile(pattern).MatchString(value):
		s.at(path, fmt.Sprintf("%q cannot be used", shorten(value)), want)
	}
}

func (s *Source) oneOf(path, value string, want []string) {
	if value == "" || slices.Contains(want, value) {
		return
	}
	remedy := "want one of " + strings.Join(want, ", ")
	if near := sentence.Nearest(value, want); near != "" {
		remedy = fmt.Sprintf("did you mean %q? %s", near, remedy)
	}
	s.at(path, fmt.Sprintf("%q is not known", shorten(value)), remedy)
}

func (s *Source) between(path string, d campaign.Duration, least, most time.Duration) {
	if d.Std() < least || d.Std() > most {
		s.at(path, fmt.Sprintf("%s is out of bounds: want %s to %s", d, campaign.Duration(least), campaign.Duration(most)), "")
	}
}

func (s *Source) zone(path, name string) {
	if err := CheckZone(name); err != nil {
		s.at(path, err.Error(), "want an IANA name such as Africa/Lagos or UTC")
	}
}

// CheckZone accepts names of the IANA database. "Local" is the machine's own zone and differs
// between replicas.
func CheckZone(name string) error {
	if name == "" || strings.EqualFold(name, "local") {
		return fmt.Errorf("%q is not a time zone", name)
	}
	if _, err := time.LoadLocation(name); err != nil {
		return fmt.Errorf("%q is not a time zone that this machine knows", shorten(name))
	}
	return nil
}
