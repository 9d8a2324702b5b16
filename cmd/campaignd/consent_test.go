package main

import (
	"context"
	"strings"
	"testing"
)

// A column that says who may be written to is not passed over in silence, whoever launches: a
// check, a person or a dropped file. With recipients.where only those who agreed get the message.
func TestUnusedConsentIsNamed(t *testing.T) {
	t.Parallel()
	d := watching(t)
	marketing := strings.Replace(campaignFile,
		`{name: order_update, language: en_US, category: UTILITY, body: ["{{ .first_name }}", "{{ .order }}"]}`,
		`{name: spring_sale, language: en_US, body: ["{{ .first_name }}", "{{ .order }}"], buttons: [{type: url, text: "{{ .order }}"}]}`, 1)
	asked := strings.NewReplacer("first_name,order\n", "first_name,order,SMS Marketing Consent\n", "A-0\n", "A-0,UNSUBSCRIBED\n",
		"A-1\n", "A-1,SUBSCRIBED\n", "A-2\n", "A-2,never\n").Replace(listOf(3))
	d.write("c.yaml", marketing)
	d.write("list.csv", asked)
	const warning = `column "SMS Marketing Consent" looks like consent or an opt-out and is not used`
	wantIn(t, "check", d.want(0, "check", d.path("c.yaml")).stdout, warning)
	chosen := strings.Replace(marketing, "recipients: {", "recipients: {where: {SMS Marketing Consent: subscribed}, ", 1)
	d.write("campaigns/orders.yaml", chosen)
	d.put("chosen.csv", asked)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan result, 1)
	go func() { ended <- d.runIn(ctx, "serve") }()
	d.eventually("the chosen row is sent", func() bool { return d.read("chosen.csv", 1) })
	wantIn(t, "the report", d.text("inbox/done/chosen.csv.report.csv"), ",skipped,filtered,")
	wantIn(t, "launch", d.want(0, "launch", d.path("c.yaml"), "--recipients",
		d.write("other.csv", strings.ReplaceAll(asked, "80312", "80313"))).stderr, warning)
	d.write("campaigns/orders.yaml", marketing)
	d.put("all.csv", strings.ReplaceAll(asked, "80312", "80314"))
	d.eventually("all rows are sent", func() bool { return d.read("all.csv", 3) })
	if got := d.accepted(); got != 1+3+3 {
		t.Errorf("the sandbox accepted %d messages, want 1 + 3 + 3", got)
	}
	cancel()
	log := (<-ended).stderr
	if got := strings.Count(log, "kind=unused_consent"); got != 2 || strings.Contains(log, "SMS Marketing Consent") {
		t.Errorf("the log warns %d times, want twice, for other.csv and all.csv, without the name of the column:\n%s", got, log)
	}
}
