package sessiond

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"weak"

	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

// The one form in which events are stored, whatever language wrote them.

// year10000 is the first second that is no date any more; a bound of a compaction from there on is in milliseconds.
const year10000 = 253402300800

// members returns the fields of an object, numbers as they are written; nil if it is none.
func members(text json.RawMessage) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var fields map[string]any
	if decoder.Decode(&fields) != nil {
		return nil
	}
	return fields
}

// readable returns an event as ADK's types read it, and, under their names, the fields that come without a part of theirs.
func readable(fields map[string]any) (shown, lost map[string]any) {
	shown, lost = converted(fields, base64.StdEncoding), map[string]any{}
	shiftVersions(shown, 1)
	content, ok := shown["content"].(map[string]any)
	parts, whole := content["parts"].([]any)
	if !ok || !whole {
		return shown, lost
	}
	kept := make([]any, 0, len(parts))
	for _, part := range parts {
		alone, err := json.Marshal(part)
		if _, object := part.(map[string]any); object && err == nil && json.Unmarshal(alone, &genai.Part{}) == nil {
			kept = append(kept, part)
		}
	}
	if len(kept) < len(parts) {
		content["parts"] = kept
		lost["content"] = exactNumbers(copied(fields["content"]))
	}
	return shown, lost
}

// converted returns an event with all its bytes in one alphabet, padded; with times in seconds; and with metadata as an
// object, which ADK for Java has had as a list of entries. Bytes that are none stay as they are.
func converted(fields map[string]any, alphabet *base64.Encoding) map[string]any {
	fields, _ = copied(fields).(map[string]any)
	convertContent(fields["content"], alphabet)
	if metadata, ok := fields["groundingMetadata"].(map[string]any); ok {
		convertBytes(metadata["searchEntryPoint"], "sdkBlob", alphabet)
	}
	if entries, ok := fields["customMetadata"].([]any); ok {
		if metadata := byKey(entries); metadata != nil {
			fields["customMetadata"] = metadata
		}
	}
	actions, _ := fields["actions"].(map[string]any)
	if compaction, ok := actions["compaction"].(map[string]any); ok {
		convertContent(compaction["compactedContent"], alphabet)
		for _, name := range []string{"startTimestamp", "endTimestamp"} {
			number, _ := compaction[name].(json.Number)
			if bound, err := number.Float64(); err == nil && bound >= year10000 {
				compaction[name] = bound / 1000
			}
		}
	}
	return fields
}

// shiftVersions adds a number to the versions of artifacts in an event: sessiond counts them from 0, ADK for Go from 1.
// Where one is no integer, all stay as they are.
func shiftVersions(fields map[string]any, by int64) {
	actions, _ := fields["actions"].(map[string]any)
	delta, _ := actions["artifactDelta"].(map[string]any)
	shifted := make(map[string]any, len(delta))
	for name, version := range delta {
		number, _ := version.(json.Number)
		n, err := number.Int64()
		if err != nil {
			return
		}
		shifted[name] = json.Number(strconv.FormatInt(n+by, 10))
	}
	maps.Copy(delta, shifted)
}

// written returns an event of ADK, as JSON, in the form in which it is stored.
func written(text json.RawMessage) map[string]any {
	fields := converted(members(text), base64.URLEncoding)
	shiftVersions(fields, -1)
	return fields
}

func convertContent(content any, alphabet *base64.Encoding) {
	fields, _ := content.(map[string]any)
	parts, _ := fields["parts"].([]any)
	for _, part := range parts {
		convertBytes(part, "thoughtSignature", alphabet)
		if fields, ok := part.(map[string]any); ok {
			convertBytes(fields["inlineData"], "data", alphabet)
			convertContent(fields["functionResponse"], alphabet)
		}
	}
}

// convertBytes rewrites a field of an object, if it is one and has it.
func convertBytes(object any, name string, alphabet *base64.Encoding) {
	fields, _ := object.(map[string]any)
	text, ok := fields[name].(string)
	if !ok {
		return
	}
	from, bare := base64.RawStdEncoding, strings.TrimRight(text, "=")
	if strings.ContainsAny(bare, "-_") {
		from = base64.RawURLEncoding
	}
	if decoded, err := from.DecodeString(bare); err == nil && len(text)-len(bare) <= 2 {
		fields[name] = alphabet.EncodeToString(decoded)
	}
}

// byKey returns a list of entries as an object; nil if they are none.
func byKey(entries []any) map[string]any {
	metadata := make(map[string]any, len(entries))
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		key, ok := fields["key"].(string)
		if !ok {
			return nil
		}
		metadata[key] = nil
		list, _ := fields["stringListValue"].(map[string]any)
		for _, value := range []any{list["values"], fields["numericValue"], fields["stringValue"]} {
			if value != nil {
				metadata[key] = value
			}
		}
	}
	return metadata
}

// copied returns a deep copy of a decoded value.
func copied(decoded any) any {
	switch decoded := decoded.(type) {
	case []any:
		list := make([]any, len(decoded))
		for i, element := range decoded {
			list[i] = copied(element)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(decoded))
		for name, field := range decoded {
			fields[name] = copied(field)
		}
		return fields
	}
	return decoded
}

// origins has, of each event that was read and is still held, its text. ADK's type cannot hold all that others have stored.
var origins sync.Map // from weak.Pointer[session.Event] to json.RawMessage

func remember(event *session.Event, text json.RawMessage) {
	name := weak.Make(event)
	origins.Store(name, text)
	runtime.AddCleanup(event, func(name weak.Pointer[session.Event]) { origins.Delete(name) }, name)
}

// encodeEvent returns an event as sessiond takes it. If origin was read from sessiond, it has what ADK's type cannot hold
// of that one, too, and whatever was not changed is as it is stored.
func encodeEvent(event, origin *session.Event) (map[string]any, error) {
	text, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	now := written(text)
	known, ok := origins.Load(weak.Make(origin))
	if !ok {
		return now, nil
	}
	raw := converted(members(known.(json.RawMessage)), base64.URLEncoding)
	delete(raw, "sequence")
	delete(raw, "commitTime")
	again, err := json.Marshal(decodeShown(known.(json.RawMessage), "", discard))
	if err != nil {
		return nil, err
	}
	then := written(again)
	actions, _ := now["actions"].(map[string]any)
	rawActions, isObject := raw["actions"].(map[string]any)
	restore(now, then, raw)
	if isObject {
		// An action on its own, for one may have been changed, and another be unknown.
		thenActions, _ := then["actions"].(map[string]any)
		restore(actions, thenActions, rawActions)
		now["actions"] = actions
	}
	return now, nil
}

// restore makes of the fields that are as they were read those that are stored.
func restore(written, then, raw map[string]any) {
	names := maps.Clone(raw)
	maps.Copy(names, written)
	for name := range names {
		now, is := written[name]
		before, was := then[name]
		if is != was || !sameJSON(now, before) {
			continue
		}
		if stored, ok := raw[name]; ok {
			written[name] = stored
		} else {
			delete(written, name)
		}
	}
}

// sameJSON compares decoded values, numbers by their value.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameJSON)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a.String(), b.String())
	}
	return a == b
}

func sameNumber(a, b string) bool {
	digits, exponent := decimal(a)
	others, power := decimal(b)
	return digits == others && exponent == power
}
