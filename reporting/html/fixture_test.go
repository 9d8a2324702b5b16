package html

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/campaign/wording"
	"campaignd/internal/plot"
	"campaignd/reporting"
)

var nine = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC) // in Lagos

// ended returns the facts of a run that has ended, with what every fixture has.
func ended() *Facts {
	totals := reporting.Totals{}
	for _, s := range campaign.Statuses {
		totals[s] = 0
	}
	return &Facts{Version: "v1.4.0", AsOf: nine.Add(7*24*time.Hour + 132*time.Minute), Report: &reporting.Report{
		Run: reporting.RunFacts{ID: "spring-sale-3", Campaign: "spring-sale", State: campaign.Finished, List: "list.csv",
			ListHash: "e5a1d2da2b3c97e4c4f0d6f1f4a8f0f7c8a5b0f5ba0e7a8d1c0f3e2d1b075642", Template: "spring_sale", Language: "en_US",
			Marketing: true, StartedAt: nine, EndedAt: nine.Add(97 * time.Minute), Timezone: "Africa/Lagos"},
		Totals: totals, Skipped: map[string]int64{}, Failed: map[string]int64{}, Refused: map[string]int64{}}}
}

// empty is a list without rows.
func empty() *Facts {
	f := ended()
	f.Audit = &reporting.AuditResult{Balanced: true}
	return f
}

// single is a list of one row, which was read.
func single() *Facts {
	f := ended()
	r := f.Report
	r.Rows, r.Totals[campaign.Read], r.Run.EndedAt = 1, 1, nine.Add(time.Minute)
	r.Funnel = reporting.Funnel{Sendable: 1, Accepted: 1, Sent: 1, Delivered: 1, Read: 1}
	f.LastStatus = nine.Add(2 * time.Minute)
	f.Audit = &reporting.AuditResult{Balanced: true, Rows: 1, Counted: 1}
	f.Summary = campaign.Summary{Step: time.Minute,
		Series:      []campaign.SeriesPoint{{At: nine, Accepted: 1, Delivered: 1}, {At: nine.Add(time.Minute), Read: 1}},
		Latency:     []campaign.LatencyBucket{{From: 2100 * time.Millisecond, To: 2300 * time.Millisecond, N: 1}},
		Countries:   []campaign.CountryCount{{Country: "NG", Rows: 1, Accepted: 1, Delivered: 1, Read: 1}},
		Connections: []campaign.ConnectionCount{{Connection: "conn_1", Funnel: campaign.Funnel{Accepted: 1, Sent: 1, Delivered: 1, Read: 1}}}}
	return f
}

// waves is a latency of two groups: phones that are on, and phones that are off.
func waves(delivered int64) (all []campaign.LatencyBucket) {
	left, last := delivered, 0.0
	for from := 200 * time.Millisecond; left > 0; from = from * 109 / 100 {
		x := math.Log(from.Seconds())
		share := 0.9/(1+math.Exp(-2.5*(x-0.8))) + 0.1/(1+math.Exp(-1.2*(x-8)))
		n := min(int64((share-last)*float64(delivered)), left)
		if from > 48*time.Hour {
			n = left
		}
		left, last = left-n, share
		all = append(all, campaign.LatencyBucket{From: from, To: from * 109 / 100, N: n})
	}
	return all
}

// tenMillion is a run of 10,000,000 rows over four numbers in 2 h 47 min, with a hold.
func tenMillion() *Facts {
	f := ended()
	r := f.Report
	r.Rows, r.Run.EndedAt = 10_000_000, nine.Add(174*time.Minute)
	r.Skipped = map[string]int64{"duplicate": 112_304, "suppressed": 45_118, "invalid_phone": 9_876, "missing_variable": 2_702}
	r.Failed = map[string]int64{"131049": 171_204, "131026": 88_431, "131047": 2_109, "130472": 650}
	r.Refused = map[string]int64{"send_blocked": 12}
	f.Audit = &reporting.AuditResult{Balanced: true, Rows: r.Rows, Counted: r.Rows}
	f.Report.Responses, f.LastStatus = &campaign.Responses{Replied: 31_077, OptedOut: 11_206}, f.AsOf.Add(-40*time.Minute)
	funnel := campaign.Funnel{Accepted: 9_829_982, Sent: 9_801_400, Delivered: 8_702_115, Read: 4_910_333, Failed: 262_394}
	r.Funnel = reporting.Funnel{Sendable: 9_830_000, Accepted: funnel.Accepted, Sent: funnel.Sent, Delivered: funnel.Delivered,
		Read: funnel.Read, Failed: funnel.Failed}
	t := r.Totals
	t[campaign.Skipped], t[campaign.Failed], t[campaign.Refused], t[campaign.Unknown] = 170_000, 262_394, 12, 6
	t[campaign.Read], t[campaign.Delivered], t[campaign.Sent] = funnel.Read, funnel.Delivered-funnel.Read, 800_000
	t[campaign.Accepted] = r.Rows - 170_000 - 262_394 - 12 - 6 - funnel.Delivered - 800_000
	s := campaign.Summary{Step: time.Minute, Latency: waves(funnel.Delivered)}
	for n := range 174 {
		if p := (campaign.SeriesPoint{At: nine.Add(time.Duration(n) * time.Minute), Accepted: 58_800 + int64(n*7919%400)}); n < 61 || n > 67 {
			s.Series = append(s.Series, p)
		}
	}
	for i, c := range []string{"NG", "KE", "GH", "ZA", "TZ", "UG", "CI", ""} {
		n := int64(4_912_000) >> i
		s.Countries = append(s.Countries, campaign.CountryCount{Country: c, Rows: n + n/50, Skipped: n / 50,
			Delivered: n / 100 * int64(91-i), Failed: n / 40})
	}
	for i, share := range []int64{40, 30, 20, 10} {
		s.Connections = append(s.Connections, campaign.ConnectionCount{Connection: fmt.Sprintf("conn_%d", i+1),
			Tallies: []campaign.Tally{{Status: campaign.Failed, N: funnel.Failed / 100 * share}},
			Funnel:  campaign.Funnel{Accepted: funnel.Accepted / 100 * share, Delivered: funnel.Delivered / 100 * share}})
	}
	f.Summary = s
	at := func(n int) time.Time { return nine.Add(time.Duration(n) * time.Minute) }
	f.Limits = []plot.Limit{{At: nine, Value: 60_000, Why: "throughput"}, {At: at(120), Value: 59_400, Why: "share"}}
	f.Stops = []plot.Band{{From: at(61), To: at(68), Name: "held"}}
	f.History = []wording.Happening{{At: nine, Sentence: "launched by key desk"},
		{At: at(12), Sentence: "the canary passed: 6 of 500 failed, 1.2 %; at most 5 % may"},
		{At: at(61), Sentence: "account acc_1 was held: payment (131042)"}, {At: at(68), Sentence: "the hold of account acc_1 ended"}}
	return f
}

// wide is a run of 30 days over 200 numbers and 90 countries, with 60 codes, under way, and with
// everything else that a report can have.
func wide() *Facts {
	f := tenMillion()
	r := f.Report
	r.Run.State, r.Run.EndedAt, f.AsOf = campaign.Paused, time.Time{}, nine.Add(30*24*time.Hour)
	r.Run.ID, r.Run.List = strings.Repeat("long-name-", 12)+"7", strings.Repeat("recipients of the spring sale ", 5)+".csv"
	r.Run.Detail = "paused by the breaker: " + strings.Repeat("most of its messages have the same fault, ", 8)
	r.Holds = []wording.HoldState{}
	for i := range 40 {
		r.Holds = append(r.Holds, wording.HoldState{Sentence: fmt.Sprintf("connection conn_%d is held since 09:00: "+
			"its quality fell to RED (131048); it ends by itself at 16:04, or by `campaignd holds lift connection conn_%[1]d`", i)})
	}
	r.RefusedEvents = "3 events of webhooks were refused for their signature since 09:00"
	for _, reason := range campaign.SkipReasons {
		r.Skipped[string(reason)] += int64(len(reason))
	}
	for i := range 60 {
		r.Failed[fmt.Sprint(131_000+i)] += int64(100 * i)
	}
	f.Summary.Step, f.Summary.Series = time.Hour, nil
	for n := range 30 * 24 {
		at := nine.Add(time.Duration(n) * time.Hour)
		f.Summary.Series = append(f.Summary.Series, campaign.SeriesPoint{At: at, Accepted: int64(9_000 + n*n%8_000)})
		f.Limits = append(f.Limits, plot.Limit{At: at, Value: float64(240 + n%5), Why: "throughput"})
	}
	f.Limits = f.Limits[2:]
	f.Stops = nil
	for n := range 90 {
		at := nine.Add(time.Duration(8*n) * time.Hour)
		f.Stops = append(f.Stops, plot.Band{From: at, To: at.Add(time.Hour), Name: "held"})
		f.History = append(f.History, wording.Happening{At: at, Sentence: fmt.Sprintf("conn_%d was held: quality RED", n)})
	}
	for i := range 200 {
		f.Summary.Connections = append(f.Summary.Connections, campaign.ConnectionCount{Connection: fmt.Sprintf("conn_with_a_long_id_%d", i),
			Funnel: campaign.Funnel{Accepted: int64(40_000 + i), Delivered: int64(30_000 + i)}})
	}
	for i := range 90 {
		f.Summary.Countries = append(f.Summary.Countries, campaign.CountryCount{Rows: int64(900 + i),
			Country: string([]byte{'A' + byte(i%26), 'A' + byte(i/4)})})
	}
	r.Conversions = &conversion.Conversions{Orders: 1_200, People: 1_100}
	for _, currency := range []string{"EUR", "USD", "NGN", "KES", "GHS", "ZAR"} {
		r.Conversions.Revenue = append(r.Conversions.Revenue, conversion.Revenue{Currency: currency, Amount: "51230.4"})
	}
	lift := conversion.NewLift(9000, 189, 90, 1)
	r.Lift = &lift
	r.Cost = &reporting.Cost{Unrated: 9}
	for _, currency := range []string{"EUR", "USD", "NGN", "KES", "GHS", "ZAR"} {
		r.Cost.Amounts = append(r.Cost.Amounts, reporting.Amount{Currency: currency, Amount: json.Number("412.0512")})
	}
	return f
}

// demoFacts are the facts of a run of `campaignd demo`, recorded once, so that its report is the
// same at each time.
//
//go:embed testdata/demo.json
var demoFacts []byte

// demo is the run of `campaignd demo`.
func demo() *Facts {
	var f Facts
	if err := json.Unmarshal(demoFacts, &f); err != nil {
		panic(err)
	}
	return &f
}

// fixtures are the reports that the browser looks at too.
func fixtures() map[string]*Facts {
	return map[string]*Facts{"demo": demo(), "empty": empty(), "one": single(), "large": tenMillion(), "wide": wide()}
}
