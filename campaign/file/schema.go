package file

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"campaignd/campaign"
	"campaignd/recipients"
)

// SchemaID names the JSON Schema of campaign files.
const SchemaID = "https://campaignd.dev/schema/campaign.json"

// Schema is the JSON Schema (draft 2020-12) of campaign files, indented. Editors complete and check
// with it (# yaml-language-server: $schema=campaign.schema.json). It has names, types and closed
// lists; Parse checks more.
func Schema() ([]byte, error) {
	r := &jsonschema.Reflector{
		DoNotReference: true, ExpandedStruct: true, Anonymous: true, FieldNameTag: "yaml",
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[campaign.Duration]() {
				return &jsonschema.Schema{Type: "string", Pattern: campaign.DurationPattern, MinLength: ptr(2), Examples: []any{"15m", "24h", "7d"}}
			}
			if t == reflect.TypeFor[campaign.Approval]() {
				return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "boolean"}, {Type: "integer", Minimum: "1"}}, Examples: []any{true, 50000}}
			}
			if t == reflect.TypeFor[recipients.Names]() {
				name := &jsonschema.Schema{Type: "string", MinLength: ptr(1)}
				return &jsonschema.Schema{OneOf: []*jsonschema.Schema{name, {Type: "array", Items: name, MinItems: ptr(1), UniqueItems: true}}}
			}
			return nil
		},
	}
	s := r.Reflect(&Definition{})
	s.ID, s.Title = SchemaID, "campaignd campaign"
	s.Description = "A campaign: one approved template, a list of recipients, and how to send it. Durations are text: 15m, 24h, 7d."
	s.Required = []string{"name", "connections", "template"} // not recipients: the list may come from --recipients
	for _, n := range schemaNotes() {
		p, err := property(s, n.path)
		if err != nil {
			return nil, err
		}
		n.write(p)
	}
	return json.MarshalIndent(s, "", "  ")
}

// note is what reflection cannot know about a property.
type note struct {
	path     string
	text     string
	pattern  string
	oneOf    []string
	examples []any
	more     func(*jsonschema.Schema)
}

func (n note) write(s *jsonschema.Schema) {
	s.Description = n.text
	if n.pattern != "" {
		s.Pattern = n.pattern
	}
	for _, v := range n.oneOf {
		s.Enum = append(s.Enum, v)
	}
	if n.examples != nil {
		s.Examples = n.examples
	}
	if n.more != nil {
		n.more(s)
	}
}

func schemaNotes() []note {
	variable := func(s *jsonschema.Schema) { s.MinLength = ptr(1) }
	skipped := func(s *jsonschema.Schema) { s.Minimum, s.Maximum, s.Default = "0", json.Number(fmt.Sprint(maxSkip)), 0 }
	oneMember := func(s *jsonschema.Schema) { s.MinProperties, s.MaxProperties = ptr(1), ptr(1) }
	names := &jsonschema.Schema{Pattern: `^[\p{L}_][\p{L}\p{Nd}\p{Mn}_]{0,63}$`}
	notes := []note{
		{path: "name", text: "Name of the campaign: part of run ids, reports and metrics.", pattern: namePattern, examples: []any{"spring-sale"}},
		{path: "connections", text: "Ids of the service's connections to send from; the work is spread over them.",
			examples: []any{[]string{"conn_1"}},
			more: func(s *jsonschema.Schema) {
				s.MinItems, s.MaxItems, s.UniqueItems = ptr(1), ptr(maxConnections), true
				s.Items.MinLength = ptr(1)
			}},
		{path: "numbers",
			text: "Which connection sends to a recipient: spread (one that has capacity), or sticky (the one whose message reached the " +
				"recipient last; others by capacity).",
			oneOf: spreads(), more: func(s *jsonschema.Schema) { s.Default = NumbersSpread }},
		{path: "template", text: "The approved template, and what its variables are filled with. Text may hold {{ .column }}."},
		{path: "template.name", text: "Name of the template at the service.", pattern: templatePattern, examples: []any{"spring_sale"}},
		{path: "template.language", text: "Language in which the template is approved.", pattern: languagePattern, examples: []any{"en_US"}},
		{path: "template.category",
			text: "Category of the template, when the service does not tell. Unknown counts as MARKETING: opt-outs apply.", oneOf: categories()},
		{path: "template.body", text: "One text for each variable of the body, in order.",
			examples: []any{[]string{"{{ .first_name }}", "{{ .discount }}"}},
			more:     func(s *jsonschema.Schema) { s.Items.MinLength = ptr(1) }},
		{path: "template.header", text: "The medium of a media header: exactly one of image, video, document.", more: oneMember},
		{path: "template.buttons", text: "One entry for each dynamic button of the template, in order.",
			more: func(s *jsonschema.Schema) { s.MaxItems = ptr(maxButtons) }},
		{path: "template.buttons[].type", text: "Kind of the button.", oneOf: buttonTypes()},
		{path: "template.buttons[].text", text: "url: the end of the address; copy_code: the coupon; otp: the code; quick_reply: the payload.",
			examples: []any{"{{ .slug }}"}, more: variable},
		{path: "template.otp", text: "The one-time code of an AUTHENTICATION template.", examples: []any{"{{ .code }}"}, more: variable},
		{path: "recipients", text: "Where the list is and how it is read."},
		{path: "recipients.file", text: "The list, relative to the campaign file. --recipients overrides it.", examples: []any{"list.csv"}},
		{path: "recipients.columns",
			text: "Name -> header of the column. The names to (phone number), country and timezone have a meaning, every other is a " +
				"variable. to takes a list too: of each row, the first column that is filled is read. country (a code of ISO 3166 or a " +
				"name) is where a number without + is dialled.",
			examples: []any{map[string]any{"to": []string{"Mobile", "Phone"}, "country": "Country", "first_name": "First Name"}},
			more:     func(s *jsonschema.Schema) { s.PropertyNames = names }},
		{path: "recipients.where",
			text: "Header of a column -> the values of the rows to send to: one text, or a list. They are compared without case and without " +
				`white space around them; "" is an empty cell. Other rows are skipped (filtered).`,
			examples: []any{map[string]any{"SMS Marketing Consent": []string{"SUBSCRIBED"}, "Do Not Call": []string{"0", ""}}},
			more: func(s *jsonschema.Schema) {
				value := &jsonschema.Schema{Type: "string"}
				s.AdditionalProperties = &jsonschema.Schema{OneOf: []*jsonschema.Schema{value, {Type: "array", Items: value, MinItems: ptr(1)}}}
			}},
		{path: "recipients.ignore", text: "Columns that look like consent or an opt-out and are not: `check` does not warn of them.",
			examples: []any{[]string{"Email Marketing Consent"}},
			more:     func(s *jsonschema.Schema) { s.Items.MinLength = ptr(1) }},
		{path: "recipients.default_region",
			text:    "Country (ISO 3166) of numbers without + in rows that name no country. Without it such numbers are invalid.",
			pattern: regionPattern, examples: []any{"NG"}},
		{path: "recipients.international", text: "Whether numbers without + begin with their country code (or with 00 and it).",
			more: func(s *jsonschema.Schema) { s.Default = false }},
		{path: "recipients.skip", text: "Lines of the file above the header, such as a title.", more: skipped},
		{path: "recipients.skip_below", text: "Records right below the header that are no recipients, such as a second header.", more: skipped},
		{path: "recipients.skip_last", text: "Records at the end that are no recipients, such as totals.", more: skipped},
		{path: "recipients.delimiter", text: "comma, semicolon, tab, pipe, or the character; without it, it is detected.",
			examples: []any{"semicolon"},
			more:     func(s *jsonschema.Schema) { s.Pattern = `^(comma|semicolon|tab|pipe|[^A-Za-z0-9"+\r\n])$` }},
		{path: "recipients.encoding", text: "Encoding of the list; without it, it is detected.", oneOf: encodings()},
		{path: "recipients.validate", text: "How far phone numbers are checked.", oneOf: validations(),
			more: func(s *jsonschema.Schema) { s.Default = "valid" }},
		{path: "variables", text: "How single variables are filled.", more: func(s *jsonschema.Schema) {
			s.PropertyNames = names
			s.AdditionalProperties.MinProperties = ptr(1)
		}},
		{path: "variables{}.default", text: "Used where a row has no value. Without it the row is skipped (missing_variable).",
			examples: []any{"friend"}, more: variable},
		{path: "variables{}.forbid",
			text: "Values that are not sent: exact texts, and the kinds error_values (#N/A, NULL, nan), formulas, placeholders ({{name}}) " +
				"and double_encoded " +
				"(JÃ¼rgen). " +
				"Such a row is skipped (invalid_variable).",
			examples: []any{forbidKinds(), []string{"Test"}},
			more: func(s *jsonschema.Schema) {
				s.MinItems, s.UniqueItems = ptr(1), true
				s.Items.MinLength = ptr(1)
			}},
		{path: "schedule", text: "Launches the campaign at set times (`campaignd serve`): exactly one of cron and at.",
			more: func(s *jsonschema.Schema) {
				s.OneOf = []*jsonschema.Schema{{Required: []string{"cron"}}, {Required: []string{"at"}}}
			}},
		{path: "schedule.cron", text: "Five fields, or a descriptor such as @daily.", examples: []any{"0 9 * * MON"}, more: variable},
		{path: "schedule.at", text: "The only time, instead of cron: in schedule.timezone, or with its offset (RFC 3339).",
			examples: []any{"2026-12-24T09:00"}, more: variable},
		{path: "schedule.timezone", text: "IANA time zone of cron and at.", examples: []any{"Africa/Lagos"},
			more: func(s *jsonschema.Schema) { s.Default, s.MinLength = "UTC", ptr(1) }},
		{path: "schedule.misfire",
			text: "What becomes of a firing that was missed, because no process fired it within a minute of its time: skip leaves it out; " +
				"run launches it, up to grace late.",
			oneOf: misfires(), more: func(s *jsonschema.Schema) { s.Default = defaultMisfire }},
		{path: "schedule.grace", text: "How late a firing may be launched, also when its launch failed and is tried again.",
			more: func(s *jsonschema.Schema) { s.Default = defaultGrace.String() }},
		{path: "schedule.overlap",
			text: "What becomes of a firing while an earlier run of the campaign is unfinished: skip leaves it out; queue lets one " +
				"firing wait for the end of that run; cancel cancels that run, and then launches.",
			oneOf: overlaps(), more: func(s *jsonschema.Schema) { s.Default = OverlapSkip }},
		{path: "window", text: "When sending is allowed."},
		{path: "window.hours", text: "From (inclusive) to (exclusive); may cross midnight.", pattern: hoursPattern,
			examples: []any{"09:00-18:00"}},
		{path: "window.days", text: "Days on which the window opens; default all.", more: func(s *jsonschema.Schema) {
			s.MinItems, s.UniqueItems = ptr(1), true
			for _, d := range weekdays() {
				s.Items.Enum = append(s.Items.Enum, d)
			}
		}},
		{path: "window.timezone",
			text: "IANA time zone, or recipient: each recipient's own (column timezone; without one, the zone of the number's country; " +
				"without that, the zone of the schedule, or UTC).",
			examples: []any{"Africa/Lagos", ZoneOfRecipient},
			more:     func(s *jsonschema.Schema) { s.Default, s.MinLength = "UTC", ptr(1) }},
		{path: "window.countries",
			text: "Country (ISO 3166) -> the zone of its numbers, where the row names none. Without it, a country with several zones is " +
				"sent to while the window is open in all of them.",
			examples: []any{map[string]string{"US": "America/Chicago"}},
			more:     func(s *jsonschema.Schema) { s.PropertyNames = &jsonschema.Schema{Pattern: regionPattern} }},
		{path: "window.holidays", text: "Dates on which nothing is sent, by the clock of timezone; nor in hours that began on one.",
			examples: []any{[]string{"2026-12-25", "2027-01-01"}},
			more: func(s *jsonschema.Schema) {
				s.MinItems, s.UniqueItems = ptr(1), true
				s.Items.Pattern = datePattern
			}},
		{path: "limits", text: "Limits of a run."},
		{path: "limits.rate", text: "Messages per second over all connections of the run; without it, only the numbers' own limits count.",
			examples: []any{40},
			more: func(s *jsonschema.Schema) {
				s.Minimum, s.Maximum = json.Number(fmt.Sprint(campaign.MinRate)), json.Number(fmt.Sprint(campaign.MaxRate))
			}},
		{path: "limits.not_after", text: "Time after the launch; rows that are still queued then are skipped (expired).", examples: []any{"48h"}},
		{path: "limits.max_messages", text: "The most messages of a run; rows beyond are skipped (over_limit).", examples: []any{200000},
			more: func(s *jsonschema.Schema) { s.Minimum = "1" }},
		{path: "limits.weight",
			text: "Part of a number that the run gets beside other runs of it: one of weight 3 gets three times as much as one of weight 1.",
			more: func(s *jsonschema.Schema) {
				s.Minimum, s.Maximum, s.Default = "1", json.Number(fmt.Sprint(campaign.MaxWeight)), 1
			}},
		{path: "limits.deadline",
			text: "Time after the launch by which the run should be done: it gets just enough of its numbers for that, " +
				"the earliest deadline first.",
			examples: []any{"6h"}},
		{path: "limits.move",
			text: "Whether the other connections of the run send what one still has queued while it is held, waits for a tier, an allowance or a " +
				"ramp, or is far slower.",
			more: func(s *jsonschema.Schema) { s.Default = false }},
		{path: "policies", text: "What to do about doubts, and whether to wait for approval."},
		{path: "policies.on_uncertain",
			text: "What happens to a message that may or may not have been sent: hold (ends as unknown), resend (may duplicate), or " +
				"evidence (sent again only when a webhook of a later message over the same number has come; else as hold).",
			oneOf: uncertain(),
			more:  func(s *jsonschema.Schema) { s.Default = string(campaign.UncertainHold) }},
		{path: "policies.doubt_window", text: "How long a webhook may still prove a doubt, counted while webhooks are taken.",
			more: func(s *jsonschema.Schema) { s.Default = defaultDoubtWindow.String() }},
		{path: "policies.follow_up",
			text: "Send again to recipients whose message failed with one of these codes, in a follow-up run (`campaignd serve`)."},
		{path: "policies.follow_up.codes", text: "The codes, of failed statuses and of refusals.", examples: []any{[]int{131049}},
			more: func(s *jsonschema.Schema) {
				s.MinItems, s.UniqueItems = ptr(1), true
				s.Items.Minimum = "1"
			}},
		{path: "policies.follow_up.after", text: "How long after the end of the run; at least 24h for 131049.",
			more: func(s *jsonschema.Schema) { s.Default = campaign.Duration(LimitedWait).String() }},
		{path: "policies.follow_up.max", text: "How often, one follow-up run after the other.",
			more: func(s *jsonschema.Schema) {
				s.Minimum, s.Maximum, s.Default = "1", json.Number(fmt.Sprint(maxFollowUps)), 1
			}},
		{path: "policies.canary",
			text: "Send to a few recipients first, and to the others when few of those messages failed and enough were delivered."},
		{path: "policies.canary.count", text: "How many recipients, chosen by a hash.", examples: []any{200},
			more: func(s *jsonschema.Schema) { s.Minimum, s.Maximum = "1", json.Number(fmt.Sprint(maxCanary)) }},
		{path: "policies.canary.max_failed",
			text:     "The share of them that may fail, be refused or end as unknown. Above it the run is paused.",
			examples: []any{0.02},
			more: func(s *jsonschema.Schema) {
				s.ExclusiveMinimum, s.Maximum, s.Default = "0", "1", defaultMaxFailed
			}},
		{path: "policies.canary.min_delivered",
			text: "The share of the accepted ones that must be reported delivered. If it is not reached an hour after wait, the run is paused.",
			more: func(s *jsonschema.Schema) {
				s.Minimum, s.Maximum, s.Default = "0", "1", defaultDelivered
			}},
		{path: "policies.canary.wait", text: "How long statuses are awaited after the last of them was answered.",
			more: func(s *jsonschema.Schema) { s.Default = defaultCanaryWait.String() }},
		{path: "policies.frequency_cap", text: "How many messages one recipient gets, over all campaigns that have a frequency_cap."},
		{path: "policies.frequency_cap.messages", text: "The most messages in the time of per.", examples: []any{1},
			more: func(s *jsonschema.Schema) { s.Minimum, s.Maximum = "1", json.Number(fmt.Sprint(maxCapMessages)) }},
		{path: "policies.frequency_cap.per", text: "The time back from each message in which others count; at most 744h.",
			examples: []any{"24h"}},
		{path: "policies.frequency_cap.action",
			text:  "The outcome of a recipient who has got as many: skip (skipped, frequency_cap) or defer (sent when the cap allows).",
			oneOf: capActions(), more: func(s *jsonschema.Schema) { s.Default = campaign.CapSkip }},
		{path: "policies.sent_before",
			text: "What a schedule or a dropped list does about people who got the template from a run of another campaign: " +
				"leave_out (skipped, sent_before) or refuse. Without it they are sent to, with a warning.",
			oneOf: sentBefores()},
		{path: "policies.max_opt_outs",
			text:     "The share of opt-outs among the delivered messages above which, from 50 opt-outs on, the run is paused; 0: never.",
			examples: []any{0.1},
			more:     func(s *jsonschema.Schema) { s.Minimum, s.Maximum, s.Default = "0", "1", defaultMaxOptOuts }},
		{path: "policies.approval",
			text: "Wait for `campaignd approve` after the import: true, or the number of recipients above which to wait."},
	}
	notes = append(append(append(notes, selectionNotes()...), holdoutNotes()...), conversionNotes()...)
	for _, kind := range []string{"image", "video", "document"} {
		path := "template.header." + kind
		notes = append(notes, note{path: path, text: "Where the " + kind + " comes from: exactly one of assetId, id, link, file.",
			more: func(s *jsonschema.Schema) {
				for _, member := range []string{"assetId", "id", "link", "file"} {
					s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{member}})
				}
				if kind != "document" {
					s.Properties.Delete("filename")
				}
			}},
			note{path: path + ".assetId", text: "Asset stored at the service; it is deleted 30 days after upload.",
				examples: []any{"ast_1"}, more: variable},
			note{path: path + ".id", text: "Media id of the platform.", more: variable},
			note{path: path + ".link", text: "Address that the platform fetches; may hold {{ .column }}.", pattern: linkPattern,
				examples: []any{"https://example.com/banner.jpg"}},
			note{path: path + ".file", text: "Local file, relative to the campaign file; uploaded once per run and company.",
				examples: []any{"banner.jpg"}, more: variable})
	}
	return append(notes, note{path: "template.header.document.filename", text: "Name that the recipient sees.",
		examples: []any{"offer.pdf"}, more: variable})
}

// property finds a.b; a[] is the items of a list, a{} the values of a map.
func property(s *jsonschema.Schema, path string) (*jsonschema.Schema, error) {
	for key := range strings.SplitSeq(path, ".") {
		name := strings.TrimSuffix(strings.TrimSuffix(key, "[]"), "{}")
		if s.Properties == nil {
			return nil, fmt.Errorf("campaign schema: %s: nothing below", path)
		}
		next, ok := s.Properties.Get(name)
		if !ok {
			return nil, fmt.Errorf("campaign schema: %s: no such property", path)
		}
		switch key[len(name):] {
		case "[]":
			next = next.Items
		case "{}":
			next = next.AdditionalProperties
		}
		s = next
	}
	return s, nil
}

func ptr(n uint64) *uint64 { return &n }
