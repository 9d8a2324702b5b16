package file_test

import (
	"fmt"
	"strings"
	"testing"

	"campaignd/campaign/file"
	"campaignd/throttle"
)

// The limiter grants leases at every rate that a campaign file may have. A rate that it refused
// would hold up every run of the number.
func TestARateThatCannotBeLeasedIsRefused(t *testing.T) {
	for _, rate := range []string{"1.0e-9", "9.9e-7", "0.0000001", "0", "-0.0", "-1", "-1.0e-9", "10001", "1.0e+300"} {
		_, err := file.Parse("c.yaml", []byte(minimal+"limits: {rate: "+rate+"}\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "c.yaml:4:10: limits.rate: ") ||
			!strings.Contains(err.Error(), "; remove it for no limit") {
			t.Errorf("rate %s: %v, want its place, the key and a remedy", rate, err)
		}
	}
	for _, rate := range []string{".nan", ".inf", "-.inf", "1.0e+309"} {
		_, err := file.Parse("c.yaml", []byte(minimal+"limits: {rate: "+rate+"}\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "c.yaml:4:") || !strings.Contains(err.Error(), "limits.rate: ") {
			t.Errorf("rate %s: %v, want its place and the key", rate, err)
		}
	}
	for _, rate := range []string{"0.000001", "0.5", "40", "10000"} {
		d := parse(t, minimal+"limits: {rate: "+rate+"}\n")
		if _, err := throttle.NewLocal().Lease(t.Context(), "run:c-1", d.Limits.Rate, 1); err != nil {
			t.Errorf("rate %s is accepted, but a lease at it returns %v, want nil", rate, err)
		}
	}
	_, err := file.Parse("c.yaml", []byte(minimal+"limits: {rate: 1.0e-9}\n"))
	if want := "c.yaml:4:10: limits.rate: 1e-09 messages per second; want 0.000001 (one in 12 days) to 10000; " +
		"remove it for no limit of the campaign's own"; fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Each bound of a campaign file, from both sides. A refused value is named with its key and a
// remedy.
func TestValuesOfAFileAreHeldToTheirBounds(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	list := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	const head = "name: a\nconnections: [conn_1]\n"
	template := func(more string) string {
		return head + "template: {name: hello_world, language: en_US, " + more + "}\n"
	}
	named := func(s string) string { return strings.Replace(minimal, "name: a", "name: "+s, 1) }
	connected := func(s string) string { return strings.Replace(minimal, "[conn_1]", s, 1) }
	url := func(s string) string { return template("header: {image: {link: '" + s + "'}}") }
	document := func(s string) string { return template("header: {document: {id: '1', filename: '" + s + "'}}") }
	for _, src := range []string{
		named(x(64)),
		named("latest2"),
		connected(list(100, "c%d")),
		connected("[" + x(200) + "]"),
		minimal + "recipients: {default_region: NG, delimiter: TAB, encoding: utf-16be, validate: none}\n",
		minimal + "schedule: {cron: '@daily', grace: 1s}\n",
		minimal + "schedule: {cron: '@daily', grace: 7d}\n",
		minimal + "policies: {doubt_window: 1s}\n",
		minimal + "policies: {doubt_window: 3d}\n",
		minimal + "limits: {not_after: 1s}\n",
		minimal + "limits: {not_after: 90d}\n",
		minimal + "limits: {max_messages: 1}\n",
		minimal + "window: {hours: '00:00-24:00'}\n",
		minimal + "window: {hours: '23:59-00:00'}\n",
		minimal + "policies: {follow_up: {codes: [131026], after: 1h, max: 10}}\n",
		minimal + "policies: {canary: {count: 200, max_failed: 0.02, min_delivered: 0, wait: 30m}}\n",
		minimal + "window: {timezone: recipient}\n",
		minimal + "window: {timezone: recipient, countries: {US: America/Chicago}, holidays: [2026-12-25]}\n",
		head + "template: {name: " + x(512) + ", language: en}\n",
		template("body: ['" + x(1024) + "']"),
		template("body: ['    x']"),
		template("buttons: " + list(10, "{type: quick_reply, text: r%d}")),
		template("buttons: " + list(2, "{type: url, text: u%d}")),
		template("otp: '1', category: AUTHENTICATION"),
		template("otp: '1'"),
		document("offer.pdf"),
		url("https://a/b.png"),
		url("https://a/{{ .x }}"),
		url("{{ .x }}"),
		url("http://a/{{ .x }}"),
		template("body: ['{{ .x }}']") + "variables: {x: {default: " + x(1024) + "}}\n",
		template("buttons: [{type: quick_reply, text: '{{ .x }}'}]") + "variables: {x: {default: a-b}}\n",
		template("header: {image: {link: '{{ .x }}'}}") + "variables: {x: {default: a}}\n",
	} {
		if _, err := file.Parse("c.yaml", []byte(src)); err != nil {
			t.Errorf("%s\ngot %v, want no error", src, err)
		}
	}
	for _, c := range []struct{ src, want string }{
		{named(x(65)), "name: \"" + x(40) + "...\" cannot be used; want letters, digits, ., _ and -, at most 64, the first a letter or digit"},
		{named("-a"), `name: "-a" cannot be used`},
		{named("latest"), `name: "latest" names the newest run on the command line; choose another name`},
		{connected("[]"), "connections: no connection to send from; name the service's connections"},
		{connected(list(101, "c%d")), "connections: 101 connections; at most 100"},
		{connected("[" + x(201) + "]"), "connections[0]: \"" + x(40) + "...\" is not a connection id"},
		{connected("['']"), `connections[0]: "" is not a connection id`},
		{connected(`["a b"]`), `connections[0]: "a b" is not a connection id`},
		{connected(`["a\u200b"]`), `connections[0]: "a` + "\ufffd" + `" is not a connection id`},
		{connected("[a, b, a]"), `connections[2]: "a" stands here twice; keep one`},
		{minimal + "recipients: {columns: {'a b': c}}\n",
			"recipients.columns.a b: not a name that a template can use; want letters, digits and _"},
		{minimal + "recipients: {columns: {a: ' '}}\n", "recipients.columns.a: no column is named; want the header of the list's column"},
		{minimal + "recipients: {default_region: ng}\n",
			`recipients.default_region: "ng" cannot be used; want two capital letters (ISO 3166), for example NG`},
		{minimal + "recipients: {encoding: utf8}\n",
			`recipients.encoding: "utf8" is not known; did you mean "utf-8"? want one of utf-8, utf-16le, utf-16be, windows-1252`},
		{minimal + "recipients: {validate: quux}\n", `recipients.validate: "quux" is not known; want one of valid, possible, none`},
		{minimal + "schedule: {timezone: UTC}\n", "schedule.cron: missing; want five fields"},
		{minimal + "schedule: {cron: ' '}\n", "schedule.cron: missing"},
		{minimal + "schedule: {cron: '@daily', misfire: skipp}\n", `schedule.misfire: "skipp" is not known; did you mean "skip"?`},
		{minimal + "schedule: {cron: '@daily', timezone: local}\n", `schedule.timezone: "local" is not a time zone; want an IANA name`},
		{minimal + "schedule: {cron: '@daily', timezone: Mars/Olympus}\n",
			`schedule.timezone: "Mars/Olympus" is not a time zone that this machine knows`},
		{minimal + "schedule: {cron: '@daily', grace: 999ms}\n", "schedule.grace: 999ms is out of bounds: want 1s to 168h"},
		{minimal + "schedule: {cron: '@daily', grace: 7d1ms}\n", "schedule.grace: 168h1ms is out of bounds"},
		{minimal + "policies: {doubt_window: 999ms}\n", "policies.doubt_window: 999ms is out of bounds: want 1s to 72h"},
		{minimal + "policies: {doubt_window: 72h1ms}\n", "policies.doubt_window: 72h1ms is out of bounds"},
		{minimal + "policies: {on_uncertain: holt}\n",
			`policies.on_uncertain: "holt" is not known; did you mean "hold"? want one of hold, evidence, resend`},
		{minimal + "limits: {not_after: 999ms}\n", "limits.not_after: 999ms is out of bounds: want 1s to 2160h"},
		{minimal + "limits: {not_after: 90d1ms}\n", "limits.not_after: 2160h1ms is out of bounds"},
		{minimal + "limits: {max_messages: -1}\n", "limits.max_messages: -1; want a number above 0; remove it for no limit"},
		{minimal + "limits: {max_messages: 0}\n", "limits.max_messages: 0 could mean none or no limit; remove it for no limit"},
		{minimal + "limits: {weight: 101}\n", "limits.weight: 101; want 1 to 100"},
		{minimal + "limits: {weight: -1}\n", "limits.weight: -1; want 1 to 100"},
		{minimal + "window: {hours: '24:00-01:00'}\n", `window.hours: "24:00-01:00" are no hours`},
		{minimal + "window: {hours: '09:00-09:00'}\n", `window.hours: "09:00-09:00" begin and end at the same minute`},
		{minimal + "window: {hours: '9:00-18:00'}\n", `window.hours: "9:00-18:00" are no hours`},
		{minimal + "window: {hours: '09:60-18:00'}\n", "window.hours: "},
		{minimal + "window: {hours: '09:00-24:01'}\n", "window.hours: "},
		{minimal + "window: {days: []}\n", "window.days: no day is left to send on; remove days to send on all of them"},
		{minimal + "window: {days: [mon, tue, mon]}\n", `window.days[2]: "mon" stands here twice; keep one`},
		{minimal + "window: {days: ['']}\n", "window.days[0]: empty; want one of mon, tue"},
		{minimal + "window: {days: [monday]}\n", `window.days[0]: "monday" is not known`},
		{minimal + "policies: {follow_up: {}}\n", "policies.follow_up.codes: no code is named"},
		{minimal + "policies: {follow_up: {codes: [131049, 131049]}}\n", "policies.follow_up.codes[1]: 131049 stands here twice; keep one"},
		{minimal + "policies: {follow_up: {codes: [0]}}\n", "policies.follow_up.codes[0]: 0 is not a code"},
		{minimal + "policies: {follow_up: {codes: [131049], after: 23h}}\n", "policies.follow_up.after: 23h is out of bounds: want 24h to 720h"},
		{minimal + "policies: {follow_up: {codes: [131026], after: 59m}}\n", "policies.follow_up.after: 59m is out of bounds: want 1h to 720h"},
		{minimal + "policies: {follow_up: {codes: [131049], max: 11}}\n", "policies.follow_up.max: 11; want 1 to 10"},
		{minimal + "holdout: {share: 0.91}\n", "holdout.share: 0.91; want a share of 0 to 0.9"},
		{minimal + "holdout: {share: -0.1}\n", "holdout.share: -0.1; want a share of 0 to 0.9"},
		{minimal + "holdout: {share: 0.1, salt: " + strings.Repeat("s", 201) + "}\n", "holdout.salt: 201 bytes; want at most 200"},
		{minimal + "conversions: {within: 59s}\n", "conversions.within: 59s is out of bounds: want 1m to 2160h"},
		{minimal + "conversions: {within: 2161h}\n", "conversions.within:"},
		{minimal + "conversions: {count: paied}\n", "conversions.count: \"paied\" is not known; did you mean \"paid\"?"},
		{minimal + "policies: {max_opt_outs: 1.1}\n", "policies.max_opt_outs: 1.1; want a share of 0 to 1"},
		{minimal + "policies: {canary: {}}\n", "policies.canary.count: 0; want 1 to 1000000 recipients"},
		{minimal + "policies: {canary: {count: 9, max_failed: 0}}\n", "policies.canary.max_failed: 0; want a share above 0, at most 1"},
		{minimal + "policies: {canary: {count: 9, min_delivered: 1.5}}\n", "policies.canary.min_delivered: 1.5; want a share from 0 to 1"},
		{minimal + "policies: {canary: {count: 9, max_failed: 1.5}}\n", "policies.canary.max_failed: 1.5; want a share"},
		{minimal + "policies: {canary: {count: 9, wait: 100h}}\n", "policies.canary.wait: 100h is out of bounds: want 1s to 72h"},
		{minimal + "window: {holidays: [2026-12-25, 2026-02-30]}\n",
			`window.holidays[1]: "2026-02-30" is not a date; want for example 2026-12-25`},
		{minimal + "window: {holidays: [2026-12-25, 2026-12-25]}\n", `window.holidays[1]: "2026-12-25" stands here twice; keep one`},
		{minimal + "window: {timezone: recipient, countries: {Nigeria: Africa/Lagos}}\n", `window.countries.Nigeria: "Nigeria" cannot be used`},
		{minimal + "window: {timezone: recipient, countries: {NG: Lagos}}\n",
			`window.countries.NG: "Lagos" is not a time zone that this machine knows`},
		{minimal + "window: {timezone: UTC, countries: {NG: Africa/Lagos}}\n",
			"window.countries: has no effect: the window is in one zone for all"},
		{minimal + "window: {timezone: recipients}\n", `window.timezone: "recipients" is not a time zone that this machine knows`},
		{head + "template: {name: " + x(513) + ", language: en}\n", "template.name: "},
		{head + "template: {name: Hello, language: en}\n", `template.name: "Hello" cannot be used; want a-z, 0-9 and _ only`},
		{head + "template: {name: a, language: en-US}\n", `template.language: "en-US" cannot be used; want a code such as en_US, fr or pt_BR`},
		{head + "template: {name: a}\n", "template.language: missing"},
		{template("category: PROMO"), `template.category: "PROMO" is not known`},
		{template("body: ['']"), `template.body[0]: empty, and the platform refuses empty values; write a text or a variable: "{{ .name }}"`},
		{template("body: ['{{ .a']"), "template.body[0]: "},
		{template(`body: ["a\tb {{ .a }}"]`), "template.body[0]: the text has a tab; the platform refuses that in a value (132018)"},
		{template("body: ['" + x(1025) + "']"), "template.body[0]: \"" + x(40) + "...\" has 1025 characters; at most 1024 are allowed"},
		{template("body: ['     x']"), "template.body[0]: the text has more than 4 spaces"},
		{template("buttons: " + list(11, "{type: quick_reply, text: r%d}")), "template.buttons: 11 buttons; a template has at most 10"},
		{template("buttons: " + list(4, "{type: url, text: u%d}")),
			"template.buttons[2].type: a template has no more than 2 buttons of type url"},
		{template("buttons: " + list(3, "{type: copy_code, text: C%d}")),
			"template.buttons[1].type: a template has no more than 1 button of type copy_code"},
		{template("buttons: " + list(2, "{type: otp, text: '1%d'}")),
			"template.buttons[1].type: a template has no more than 1 button of type otp"},
		{template("buttons: [{text: a}]"), "template.buttons[0].type: missing; want one of url, quick_reply, copy_code, otp"},
		{template("buttons: [{type: link, text: a}]"), `template.buttons[0].type: "link" is not known`},
		{template("buttons: [{type: url, text: 'a b'}]"), `template.buttons[0].text: "a b" has a space`},
		{template("otp: '1', category: UTILITY"), "template.otp: only templates of category AUTHENTICATION have a one-time code"},
		{template("otp: '1', buttons: [{type: otp, text: '1'}]"), "template.otp: the code is given here and by a button of type otp; keep one"},
		{template("header: {}"), "template.header: 0 of image, video and document are given; want exactly one"},
		{template("header: {image: {id: '1'}, video: {id: '1'}}"), "template.header: 2 of image, video and document are given"},
		{template("header: {video: {}}"), "template.header.video: 0 of assetId, id, link and file are given; want exactly one"},
		{template("header: {image: {id: '1', link: 'https://a'}}"), "template.header.image: 2 of assetId, id, link and file"},
		{template("header: {image: {id: '{{ .a }}'}}"),
			"template.header.image.id: variables are not read here; only link can differ from row to row"},
		{template("header: {image: {id: '1', filename: a.png}}"), "template.header.image.filename: only a document has a file name; remove it"},
		{document("a/b.pdf"), "template.header.document.filename: want a plain name such as offer.pdf"},
		{template("header: {document: {id: '1', filename: \"a\\x07.pdf\"}}"), "template.header.document.filename: want a plain name"},
		{url("a/{{ .x }}"), "template.header.image.link: want a link that begins with https://"},
		{url("https://a\\b.png"), "template.header.image.link: "},
		{url("https://a:b/c"), `template.header.image.link: "https://a:b/c" is not a link; want https://host/path`},
		{minimal + "variables: {x: {default: a}}\n", "variables.x: the template does not use this variable; remove it"},
		{template("body: ['{{ .name }}']") + "variables: {nam: {default: a}}\n",
			`variables.nam: the template does not use this variable; did you mean "name"?`},
		{template("body: ['{{ .x }}']") + "variables: {x: {default: ' '}}\n",
			"variables.x: has neither default nor forbid"},
		{template("body: ['{{ .x }}']") + "variables: {x: {default: '{{ .y }}'}}\n",
			"variables.x.default: a default is a text, not another variable"},
		{template("body: ['{{ .x }}']") + "variables: {x: {default: \"a\\tb\"}}\n", "variables.x.default: the text has a tab"},
		{template("body: ['{{ .x }}']") + "variables: {x: {default: " + x(1025) + "}}\n", "variables.x.default: "},
		{template("buttons: [{type: copy_code, text: '{{ .x }}'}]") + "variables: {x: {default: a-b}}\n",
			`variables.x.default: "a-b" is not a coupon code`},
		{template("otp: '{{ .x }}'") + "variables: {x: {default: 'a b'}}\n", `variables.x.default: "a b" is not a one-time code`},
	} {
		_, err := file.Parse("c.yaml", []byte(c.src))
		got := ""
		if err != nil {
			_, got, _ = strings.Cut(err.Error(), ": ")
		}
		if !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s\ngot  %s\nwant %s", c.src, got, c.want)
		}
	}
	for delimiter, ok := range map[string]bool{",": true, ";": true, "\u00a6": true, "Comma": true, "semicolon": true, "pipe": true,
		"tab": true, "dot": false, "a": false, "7": false, "\"": false, "+": false, "\n": false, "\r": false, "\ufffd": false, "||": false} {
		_, err := file.Parse("c.yaml", []byte(minimal+fmt.Sprintf("recipients: {delimiter: %q}\n", delimiter)))
		if (err == nil) != ok || err != nil &&
			!strings.Contains(err.Error(), "cannot separate cells; want comma, semicolon, tab, pipe, or one character") {
			t.Errorf("delimiter %q: got %v, want accepted %v", delimiter, err, ok)
		}
	}
}
