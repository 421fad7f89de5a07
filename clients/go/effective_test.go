package sessiond

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/adk/v2/session"
)

// compacted makes a session of six events, of which the fifth sums up the first three and comes after the fourth.
func compacted(t *testing.T) session.Session {
	t.Helper()
	one := create(t, service(t), app(), "u", "s", nil)
	said := []string{}
	for i := range 4 {
		said = append(said, fmt.Sprintf(
			`{"id":"e%d","author":"user","timestamp":%d,"content":{"parts":[{"text":"t"}]},"actions":{"stateDelta":{"n":%d}}}`, i, 1000+i, i))
	}
	said = append(said, summaryOf(1000, 1002), `{"id":"e5","author":"user","timestamp":1005}`)
	post(t, one, "["+strings.Join(said, ",")+"]")
	return one
}

func summaryOf(start, end int) string {
	return fmt.Sprintf(`{"id":"c%d","author":"user","timestamp":%d,"actions":{"compaction":{"startTimestamp":%d,`+
		`"endTimestamp":%d,"compactedContent":{"role":"model","parts":[{"text":"in short"}]}}}}`, end, end+2, start, end)
}

func TestTheEffectiveHistoryHasTheSummaryInPlaceOfWhatItCovers(t *testing.T) {
	one := compacted(t)
	s := service(t, WithHistory(HistoryEffective))
	found := load(t, s, one)
	equal(t, idsOf(found), []string{"c1002", "e3", "e5"})
	equal(t, found.Events().At(0).Content.Parts[0].Text, "in short")
	equal(t, stateOf(found), map[string]any{"n": 3.0})
	recent := must(s.Get(t.Context(), &session.GetRequest{
		AppName: one.AppName(), UserID: "u", SessionID: "s", NumRecentEvents: 1,
	}))
	equal(t, idsOf(recent.Session), []string{"e5"})
	equal(t, len(idsOf(load(t, service(t), one))), 6)
	if _, err := New(shared.url(), WithHistory(7)); err == nil {
		t.Fatal("there is such a history")
	}
}

func TestAnEffectiveHistoryKnowsThatItIsStale(t *testing.T) {
	one := compacted(t)
	strict := service(t, WithHistory(HistoryEffective), WithConcurrency(ConcurrencySession))
	found := load(t, strict, one)
	add(t, strict, found, "mine", nil)
	post(t, one, summaryOf(1000, 1006))
	is(t, strict.AppendEvent(t.Context(), found, event("late", nil)), ErrStale)
	again := load(t, strict, one)
	equal(t, idsOf(again), []string{"c1006", "mine"})
	add(t, strict, again, "late", nil)
}

func TestATurnSeesWhatWasCompactedMeanwhile(t *testing.T) {
	one := compacted(t)
	s := leased(t, WithHistory(HistoryEffective))
	found := load(t, s, one)
	post(t, one, summaryOf(1000, 1006))
	appendAll(t, s, found, of("i1", "mine"))
	equal(t, idsOf(found), []string{"c1006", "mine"})
}
