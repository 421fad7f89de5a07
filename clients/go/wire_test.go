package sessiond

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

type golden struct {
	Name      string
	Event     json.RawMessage
	Written   json.RawMessage
	WrittenBy map[string]json.RawMessage `json:"written_by"`
	Texts     []string
}

// goldenEvents returns the events that the clients of all languages read and write.
func goldenEvents(t *testing.T) []golden {
	t.Helper()
	text := must(os.ReadFile("../wire/events.json"))
	var file struct{ Events []golden }
	check(t, json.Unmarshal(text, &file))
	return file.Events
}

func goldenEvent(t *testing.T, id string) json.RawMessage {
	t.Helper()
	for _, one := range goldenEvents(t) {
		if members(one.Event)["id"] == id {
			return one.Event
		}
	}
	t.Fatalf("there is no golden event %s", id)
	return nil
}

func TestGoldenEventsAreReadAndWrittenWhole(t *testing.T) {
	for _, one := range goldenEvents(t) {
		t.Run(one.Name, func(t *testing.T) {
			want := one.Event
			if one.Written != nil {
				want = one.Written
			}
			if by := one.WrittenBy["go"]; by != nil {
				want = by
			}
			event := decodeEvent(one.Event, "s", discard)
			written := must(encodeEvent(event, event))
			differences(t, "", written, members(want))
			// What ADK's type holds is written so, too, by an event that was not read.
			copied := *event
			alone := must(encodeEvent(&copied, &copied))
			again := decodeEvent(json.RawMessage(jsonOf(t, alone)), "s", discard)
			equal(t, jsonOf(t, again.Content), jsonOf(t, event.Content))
			equal(t, jsonOf(t, again.CustomMetadata), jsonOf(t, event.CustomMetadata))
			if one.Texts != nil {
				var texts []string
				for _, part := range event.Content.Parts {
					texts = append(texts, part.Text)
				}
				equal(t, texts, one.Texts)
			}
		})
	}
}

// differences says where two decoded values are not the same.
func differences(t *testing.T, at string, got, want any) {
	t.Helper()
	a, isObject := got.(map[string]any)
	b, both := want.(map[string]any)
	if !isObject || !both {
		var plain [2]any
		for i, value := range []any{got, want} {
			check(t, json.Unmarshal([]byte(jsonOf(t, value)), &plain[i]))
		}
		if !reflect.DeepEqual(plain[0], plain[1]) {
			t.Errorf("%s: %v, not %v", at, plain[0], plain[1])
		}
		return
	}
	names := maps.Clone(a)
	maps.Copy(names, b)
	for name := range names {
		_, is := a[name]
		_, was := b[name]
		if is != was {
			t.Errorf("%s/%s: %v, not %v", at, name, a[name], b[name])
			continue
		}
		differences(t, at+"/"+name, a[name], b[name])
	}
}

func TestBytesAreReadInBothAlphabetsAndWrittenInOne(t *testing.T) {
	for _, id := range []string{"golden-url", "golden-standard"} {
		event := decodeEvent(goldenEvent(t, id), "s", discard)
		equal(t, event.Content.Parts[0].ThoughtSignature, []byte{0xfb, 0xff, 0xfe, 0x3f, 0xef})
		equal(t, event.Content.Parts[1].InlineData.Data, []byte{0xfb, 0xff, 0xfe})
		copied := *event
		written := must(encodeEvent(&copied, &copied))
		text := jsonOf(t, written)
		for _, want := range []string{`"thoughtSignature":"-__-P-8="`, `"data":"-__-"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not in %s", want, text)
			}
		}
	}
}

func TestMetadataIsAnObjectWhoeverWroteIt(t *testing.T) {
	event := decodeEvent(goldenEvent(t, "golden-list"), "s", discard)
	equal(t, event.CustomMetadata, map[string]any{"trace": "abc", "n": 2.5, "tags": []any{"a", "b"}})
}

func TestWhatWasChangedSinceItWasReadIsWrittenAsItIsNow(t *testing.T) {
	event := decodeEvent(goldenEvent(t, "golden-full"), "s", discard)
	event.Content = genai.NewContentFromText("other", genai.RoleModel)
	event.Actions.TransferToAgent = ""
	written := must(encodeEvent(event, event))
	want := members(goldenEvent(t, "golden-full"))
	want["content"] = map[string]any{"role": "model", "parts": []any{map[string]any{"text": "other"}}}
	delete(want["actions"].(map[string]any), "transferToAgent")
	differences(t, "", written, want)
}

// A new field of ADK fails here first: add it to clients/wire/fields.json and to the golden event, and see what the other
// languages make of it.
func TestEveryFieldOfAnEventIsKnown(t *testing.T) {
	text := must(os.ReadFile("../wire/fields.json"))
	var known struct{ Go map[string][]string }
	check(t, json.Unmarshal(text, &known))
	for name, one := range map[string]any{
		"event": session.Event{}, "actions": session.EventActions{}, "content": genai.Content{}, "part": genai.Part{},
		"functionCall": genai.FunctionCall{}, "functionResponse": genai.FunctionResponse{},
	} {
		equal(t, fmt.Sprint(name, fieldsOf(reflect.TypeOf(one))), fmt.Sprint(name, known.Go[name]))
	}
}

func fieldsOf(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Anonymous {
			names = append(names, fieldsOf(field.Type)...)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
