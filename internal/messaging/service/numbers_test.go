package service

import (
	"reflect"
	"testing"

	"campaignd/internal/messaging"
)

func TestNumbersAreReadInEveryForm(t *testing.T) {
	for fields, want := range map[string]messaging.Number{
		`"throughput":"STANDARD"`:                                        {Level: "STANDARD", Throughput: 80},
		`"throughput":{"level":"high"}`:                                  {Level: "HIGH", Throughput: 1000},
		`"throughput":{"level":"NOT_APPLICABLE"}`:                        {Level: "NOT_APPLICABLE"},
		`"throughput":45.5`:                                              {Throughput: 45.5},
		`"throughput":"45"`:                                              {Throughput: 45},
		`"throughput":0.5`:                                               {Throughput: 0.5},
		`"throughput":999999`:                                            {Throughput: 999999},
		`"throughput":1000000`:                                           {Level: "1000000"},
		`"throughput":0`:                                                 {Level: "0"},
		`"throughput":-5`:                                                {Level: "-5"},
		`"coexistence":true`:                                             {Coexistence: true, Throughput: 20},
		`"coexistence":true,"throughput":"STANDARD"`:                     {Coexistence: true, Level: "STANDARD", Throughput: 20},
		`"coexistence":true,"throughput":20.5`:                           {Coexistence: true, Throughput: 20},
		`"is_on_biz_app":"true","throughput":5`:                          {Coexistence: true, Throughput: 5},
		`"coexistence":false,"throughput":"STANDARD"`:                    {Level: "STANDARD", Throughput: 80},
		`"quality_rating":"green","messaging_limit":"TIER_2K"`:           {Quality: "GREEN", Tier: "TIER_2K", TierLimit: 2000},
		`"tier":2000`:                                                    {Tier: "2000", TierLimit: 2000},
		`"tier":null,"messagingLimit":"TIER_250"`:                        {Tier: "TIER_250", TierLimit: 250},
		`"tier":"TIER_1K","whatsapp_business_manager_messaging_limit":1`: {Tier: "1", TierLimit: 1},
	} {
		client, _ := answering(t, 200, `{"data":[{"connectionId":"conn_1","displayPhoneNumber":"+15555550100",`+fields+`}]}`, Options{})
		got, err := client.Numbers(t.Context())
		want.ConnectionID, want.Phone = "conn_1", "+15555550100"
		if err != nil || !reflect.DeepEqual(got, []messaging.Number{want}) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", fields, got, err, want)
		}
	}
	for tier, want := range map[string]int64{"1000000000000": 1e12, "1000000000001": 0,
		"TIER_1000000M": 1e12, " TIER_5 ": 5, "0": 0, "-2": 0, "K": 0} {
		if got := messaging.TierLimit(tier); got != want {
			t.Errorf("TierLimit(%q) = %d, want %d", tier, got, want)
		}
	}
}

func TestTemplatesAreReadAsSendsWriteThem(t *testing.T) {
	client, server := answering(t, 200, `{"data":[{"name":"sale","locale":"pt-BR","status":"approved","category":"marketing",
		"components":[
		{"type":"header","format":"image"},{"type":"body","text":"{{1}} and {{ name }} and {{1}}, not {{a-b}}"},
		{"type":"buttons","buttons":[{"type":"url","text":"Open","url":"https://x.example/{{1}}"}]}]}]}`, Options{})
	got, err := client.Templates(t.Context(), "conn 1&x")
	want := messaging.TemplateRecord{Name: "sale", Language: "pt_BR", Status: "APPROVED", Category: "MARKETING",
		Components: []messaging.Component{
			{Type: "HEADER", Format: "IMAGE"}, {Type: "BODY", Text: "{{1}} and {{ name }} and {{1}}, not {{a-b}}"},
			{Type: "BUTTONS", Buttons: []messaging.ComponentButton{{Type: "URL", Text: "Open", URL: "https://x.example/{{1}}"}}},
		}}
	if err != nil || !reflect.DeepEqual(got, []messaging.TemplateRecord{want}) {
		t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
	}
	if got, want := server.request.URL.RawQuery, "connectionId=conn+1%26x"; got != want {
		t.Errorf("query %q, want %q", got, want)
	}
	if got, want := got[0].Component("BODY").Variables(), []string{"1", "name"}; !reflect.DeepEqual(got, want) {
		t.Errorf("variables %q, want %q", got, want)
	}
	if got := got[0].Component("FOOTER"); !reflect.DeepEqual(got, messaging.Component{}) {
		t.Errorf("a footer that is not there is %+v, want the zero Component", got)
	}
}
