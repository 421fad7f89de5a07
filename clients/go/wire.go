package sessiond

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/adk/v2/session"
)

// refusedFields is where the CustomMetadata of an event has what ADK cannot read of it.
const refusedFields = "sessiond_refused"

var discard = slog.New(slog.DiscardHandler)

// wireSession is a session as sessiond answers it.
type wireSession struct {
	ID             string            `json:"id"`
	AppName        string            `json:"appName"`
	UserID         string            `json:"userId"`
	Revision       int64             `json:"revision"`
	State          map[string]value  `json:"state"`
	Events         []json.RawMessage `json:"events"`
	LastUpdateTime float64           `json:"lastUpdateTime"`
}

// wireEvent is what sessiond says of a stored event.
type wireEvent struct {
	ID         string  `json:"id"`
	Sequence   int64   `json:"sequence"`
	CommitTime float64 `json:"commitTime"`
	Actions    struct {
		StateDelta map[string]json.RawMessage `json:"stateDelta"`
	} `json:"actions"`
}

func (w *wireSession) session(service *Service) *stored {
	s := &stored{
		service:   service,
		id:        w.ID,
		appName:   w.AppName,
		userID:    w.UserID,
		turn:      make(chan struct{}, 1),
		state:     plain(w.State),
		events:    make([]*session.Event, 0, len(w.Events)),
		updatedAt: unixTime(w.LastUpdateTime),
		revision:  w.Revision,
	}
	if s.state == nil {
		s.state = map[string]any{}
	}
	for _, event := range w.Events {
		s.rewound = s.rewound || rewinds(event)
		s.events = append(s.events, decodeEvent(event, w.ID, service.client.logger))
	}
	if service.history == HistoryEffective {
		s.events = summarized(s.events, w.Events)
	}
	return s
}

// summarized shows the summaries of compactions as contents, and each where what it covers ended, as ADK for Python has
// it in a prompt.
func summarized(events []*session.Event, texts []json.RawMessage) []*session.Event {
	ends := map[*session.Event]float64{}
	for i, text := range texts {
		var said struct {
			Actions struct {
				Compaction *struct {
					EndTimestamp     float64
					CompactedContent json.RawMessage
				}
			}
		}
		if !bytes.Contains(text, []byte("ompactedContent")) || json.Unmarshal(text, &said) != nil || said.Actions.Compaction == nil {
			continue
		}
		end := said.Actions.Compaction.EndTimestamp
		if end >= year10000 {
			end /= 1000
		}
		ends[events[i]] = end
		shown, _ := json.Marshal(map[string]json.RawMessage{"content": said.Actions.Compaction.CompactedContent})
		events[i].Content = decodeShown(shown, "", discard).Content
	}
	if len(ends) == 0 {
		return events
	}
	at := func(event *session.Event) float64 {
		if end, ok := ends[event]; ok {
			return end
		}
		return float64(event.Timestamp.UnixMicro()) / 1e6
	}
	slices.SortStableFunc(events, func(a, b *session.Event) int { return cmp.Compare(at(a), at(b)) })
	return events
}

// rewinds says whether an event takes back what was before it.
func rewinds(event json.RawMessage) bool {
	// Most events are told by their text.
	if !bytes.Contains(event, []byte("ewindBeforeInvocationId")) {
		return false
	}
	var said struct {
		Actions struct{ RewindBeforeInvocationID *string }
	}
	return json.Unmarshal(event, &said) == nil && said.Actions.RewindBeforeInvocationID != nil
}

func unixTime(seconds float64) time.Time {
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}

// value is a JSON value that keeps its numbers: see exactNumber.
type value struct{ any }

func (v *value) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v.any); err != nil {
		return err
	}
	v.any = exactNumbers(v.any)
	return nil
}

// plain returns the values of a map; nil for nil.
func plain(values map[string]value) map[string]any {
	if values == nil {
		return nil
	}
	bare := make(map[string]any, len(values))
	for key, value := range values {
		bare[key] = value.any
	}
	return bare
}

func exactNumbers(decoded any) any {
	switch decoded := decoded.(type) {
	case json.Number:
		return exactNumber(decoded)
	case []any:
		for i, element := range decoded {
			decoded[i] = exactNumbers(element)
		}
	case map[string]any:
		for key, element := range decoded {
			decoded[key] = exactNumbers(element)
		}
	}
	return decoded
}

// exactNumber returns a float64, as encoding/json and the services of ADK do, if that would be written as the same
// number again, and the number as it was otherwise.
func exactNumber(number json.Number) any {
	float, err := number.Float64()
	if err != nil {
		return number
	}
	digits, exponent := decimal(number.String())
	again, power := decimal(strconv.FormatFloat(float, 'e', -1, 64))
	if digits != again || exponent != power {
		return number
	}
	return float
}

// decimal returns a number's sign and digits, without zeros at either end, and the power of ten of the last one.
func decimal(number string) (string, int) {
	sign := ""
	if after, negative := strings.CutPrefix(number, "-"); negative {
		sign, number = "-", after
	}
	exponent := 0
	if at := strings.IndexAny(number, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(number[at+1:]); err != nil {
			// No float64 has such an exponent.
			return number, 0
		}
		number = number[:at]
	}
	whole, fraction, _ := strings.Cut(number, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return sign, 0
	}
	return sign + short, exponent - len(fraction) + len(digits) - len(short)
}

// decodeEvent returns ADK's event for one that sessiond answered, whoever wrote it.
//
// Fields that ADK does not know are not shown; they are sent again with the event. Other clients may store what ADK cannot
// read, such as a content that is a string. One such event must not make the session unreadable: it comes without those
// parts or fields, with an ErrorMessage that names them and with their values in its CustomMetadata, and there is a warning
// in the log.
func decodeEvent(text json.RawMessage, sessionID string, logger *slog.Logger) *session.Event {
	event := decodeShown(text, sessionID, logger)
	remember(event, text)
	return event
}

func decodeShown(text json.RawMessage, sessionID string, logger *slog.Logger) *session.Event {
	fields, lost := readable(members(text))
	shown, _ := json.Marshal(fields)
	event := &session.Event{}
	if json.Unmarshal(shown, event) != nil {
		event = decodeKnown(shown, lost, sessionID, logger)
	} else if len(lost) > 0 {
		refuse(event, lost, sessionID, logger)
	}
	keepNumbers(event, shown)
	return event
}

// keepNumbers replaces what the event holds as any, where encoding/json has made every number a float64.
func keepNumbers(event *session.Event, text json.RawMessage) {
	// Each on its own, since one may be of another form than ADK's.
	var fields struct {
		CustomMetadata, Output, Content, Actions, RequestedInput json.RawMessage
	}
	if json.Unmarshal(text, &fields) != nil {
		return
	}
	var metadata map[string]value
	if event.CustomMetadata != nil && json.Unmarshal(fields.CustomMetadata, &metadata) == nil {
		maps.Copy(event.CustomMetadata, plain(metadata))
	}
	var output value
	if event.Output != nil && json.Unmarshal(fields.Output, &output) == nil {
		event.Output = output.any
	}
	var actions struct{ StateDelta map[string]value }
	if event.Actions.StateDelta != nil && json.Unmarshal(fields.Actions, &actions) == nil {
		event.Actions.StateDelta = plain(actions.StateDelta)
	}
	var input struct{ Payload value }
	if event.RequestedInput != nil && json.Unmarshal(fields.RequestedInput, &input) == nil {
		event.RequestedInput.Payload = input.Payload.any
	}
	var content struct {
		Parts []struct {
			FunctionCall     struct{ Args map[string]value }
			FunctionResponse struct{ Response map[string]value }
		}
	}
	if event.Content == nil || json.Unmarshal(fields.Content, &content) != nil || len(content.Parts) != len(event.Content.Parts) {
		return
	}
	for i, part := range event.Content.Parts {
		if part == nil {
			continue
		}
		if part.FunctionCall != nil {
			part.FunctionCall.Args = plain(content.Parts[i].FunctionCall.Args)
		}
		if part.FunctionResponse != nil {
			part.FunctionResponse.Response = plain(content.Parts[i].FunctionResponse.Response)
		}
	}
}

// decodeKnown returns the event with those fields that ADK can read.
func decodeKnown(text json.RawMessage, refused map[string]any, sessionID string, logger *slog.Logger) *session.Event {
	event := &session.Event{}
	each(text, func(name string, field json.RawMessage) {
		try := func(of string, fields any, name string, field json.RawMessage) {
			alone, _ := json.Marshal(fields)
			if json.Unmarshal(alone, &session.Event{}) == nil {
				_ = json.Unmarshal(alone, event)
				return
			}
			var kept value
			_ = kept.UnmarshalJSON(field)
			refused[of+name] = kept.any
		}
		if name != "actions" || !bytes.HasPrefix(field, []byte("{")) {
			try("", map[string]any{name: field}, name, field)
			return
		}
		each(field, func(name string, field json.RawMessage) {
			try("actions.", map[string]any{"actions": map[string]any{name: field}}, name, field)
		})
	})
	refuse(event, refused, sessionID, logger)
	return event
}

// refuse says in an event what ADK cannot read of it.
func refuse(event *session.Event, refused map[string]any, sessionID string, logger *slog.Logger) {
	names := strings.Join(slices.Sorted(maps.Keys(refused)), ", ")
	if event.ErrorMessage == "" {
		event.ErrorMessage = fmt.Sprintf("ADK cannot read what is stored as %s.", names)
	}
	if event.CustomMetadata == nil {
		event.CustomMetadata = map[string]any{}
	}
	event.CustomMetadata[refusedFields] = refused
	logger.Warn("sessiond: ADK cannot read some fields of an event; it is shown without them",
		"session", sessionID, "event", event.ID, "fields", names)
}

func each(object json.RawMessage, take func(name string, field json.RawMessage)) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(object, &fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		take(name, fields[name])
	}
}
