package sessiond

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/session"
)

// Op is an operator, which the server applies to what is there: nothing is lost between concurrent writers.
type Op struct {
	// Op is set, remove, increment (an absent key is 0; exact for integers of any size), append (an absent key is an
	// empty list), union (append what is not in the list yet), max, min, or merge (RFC 7396 into an object).
	Op string
	// Key is a key of state, with its prefix.
	Key string
	// Value is the operand: a list for append and union, a number for increment, max and min. remove has none.
	Value any
}

// MarshalJSON writes an operator as sessiond takes it.
func (o Op) MarshalJSON() ([]byte, error) {
	fields := map[string]any{"op": o.Op, "key": o.Key}
	if o.Op != "remove" {
		fields["value"] = o.Value
	}
	return json.Marshal(fields)
}

// Precondition is what must hold of a key for a change to be made.
type Precondition struct{ fields map[string]any }

// IfEquals asks for a value.
func IfEquals(key string, value any) Precondition {
	return Precondition{map[string]any{"key": key, "equals": value}}
}

// IfExists asks for a key to be there, or not to be there.
func IfExists(key string, exists bool) Precondition {
	return Precondition{map[string]any{"key": key, "exists": exists}}
}

// IfUnchanged asks for a key of the session not to have changed since the session was at a revision. Of app: and user:
// keys, it is the revision of their scope that is asked for.
func IfUnchanged(key string, revision int64) Precondition {
	return Precondition{map[string]any{"key": key, "revision": revision}}
}

// MarshalJSON writes a precondition as sessiond takes it.
func (p Precondition) MarshalJSON() ([]byte, error) { return json.Marshal(p.fields) }

// Change is what [Service.Apply] makes of the state of a session.
type Change struct {
	// Ops are applied in order, all or none.
	Ops []Op
	// If has what must hold, else nothing is changed and the error is [ErrStale].
	If []Precondition
	// Author of the event; "user" if empty.
	Author string
	// InvocationID is the invocation that the event is part of, if any.
	InvocationID string
	// Once is an id for this change, the same in every run of the program, if it is not empty: the session makes a change
	// of this id once. It is the id of the event. Where it was made before, whoever made it, nothing is changed, and the
	// values are those that it had then. If the session has another change, or another event, of this id, the error is an
	// [*Error] with the code event_id_conflict.
	Once string
}

// Apply changes the state of a session, and of its user and app, by operators. It does so through one event that is
// appended to the session, in the store and then in the session object; [ConcurrencySession] does not matter here. After
// a lost answer the operators are not applied twice.
//
// It returns the new values of the keys; a removed key is absent. Errors: [ErrNotFound]; [ErrStale], if a precondition
// does not hold; an [*Error] with the code invalid_argument, if an operator does not fit what is there.
func (s *Service) Apply(ctx context.Context, cur session.Session, change Change) (map[string]any, error) {
	raw, err := s.apply(ctx, cur, change)
	if err != nil {
		return nil, err
	}
	return decodeValues(raw)
}

func (s *Service) apply(ctx context.Context, cur session.Session, change Change) (map[string]json.RawMessage, error) {
	target, err := own(cur)
	if err != nil {
		return nil, err
	}
	actions := map[string]any{"stateOps": change.Ops}
	if len(change.If) > 0 {
		actions["preconditions"] = change.If
	}
	author := change.Author
	if author == "" {
		author = "user"
	}
	event := map[string]any{"author": author, "invocationId": change.InvocationID, "actions": actions}
	if change.Once != "" {
		if why := faultOf(change.Once); why != "" {
			return nil, refused("id of the change", why)
		}
		// A change that is made again has the time of the first one.
		event["id"] = change.Once
	} else {
		event["id"], event["timestamp"] = platform.NewUUID(ctx), platform.Now(ctx)
	}
	if err := target.lock(ctx); err != nil {
		return nil, err
	}
	defer target.unlock()
	seen := target.seen()
	answer, said, err := s.post(ctx, target, event, nil, change.InvocationID, false)
	replayed := err == nil && answer.header.Get("Idempotent-Replayed") != ""
	if failure := (*Error)(nil); change.Once != "" && errors.As(err, &failure) && failure.Code == "event_id_conflict" {
		answer, said, err = s.made(ctx, target, change.Once, actions, err)
		replayed = true
	}
	if err != nil {
		return nil, err
	}
	// A session that was read after the change shows what became of it since.
	if replayed && (said.Sequence <= seen || target.has(said.ID)) {
		return said.Actions.StateDelta, nil
	}
	values, err := decodeValues(said.Actions.StateDelta)
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, op := range change.Ops {
		if _, there := values[op.Key]; !there {
			removed = append(removed, op.Key)
		}
	}
	target.appended(decodeEvent(answer.body, target.id, s.client.logger), values, removed, said.Sequence)
	return said.Actions.StateDelta, nil
}

// made returns the event of a change that was made before, by another agent or in another invocation; else the error is
// conflict.
func (s *Service) made(
	ctx context.Context, target *stored, id string, actions map[string]any, conflict error,
) (*reply, *wireEvent, error) {
	answer, err := s.client.send(ctx, request{method: http.MethodGet, path: target.path() + "/events" + segments(id)})
	if err != nil {
		return nil, nil, err
	}
	said := &wireEvent{}
	if err := decode(answer, said); err != nil {
		return nil, nil, err
	}
	asked, err := json.Marshal(actions)
	if err != nil {
		return nil, nil, err
	}
	wanted := members(asked)
	there, _ := members(answer.body)["actions"].(map[string]any)
	for _, name := range []string{"stateOps", "preconditions"} {
		if !sameJSON(wanted[name], there[name]) {
			return nil, nil, conflict
		}
	}
	return answer, said, nil
}

func decodeValues(raw map[string]json.RawMessage) (map[string]any, error) {
	values := make(map[string]any, len(raw))
	for key, text := range raw {
		var one value
		if err := one.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("sessiond: the answer is not sessiond's: %w", err)
		}
		values[key] = one.any
	}
	return values, nil
}

// Increment adds a number to a key, an absent key being 0, and returns the sum; exact for integers of any size.
//
// It is for tools and callbacks, as are [Append], [Union], [Remove] and [Apply]. Each call is an event of its own, by
// the agent that is running and in its invocation; it is stored when the call returns, also if the tool fails
// afterwards. ctx.State() shows the new value. The session of the context must come from a [Service]; programs that have
// a session and no such context call [Service.Apply], whose errors are the same.
func Increment(ctx agent.ReadonlyContext, key string, by any) (json.Number, error) {
	return OnceOps{}.Increment(ctx, key, by)
}

// Append puts values at the end of a list, an absent key being an empty one, and returns the list. See [Increment].
func Append(ctx agent.ReadonlyContext, key string, values ...any) ([]any, error) {
	return OnceOps{}.Append(ctx, key, values...)
}

// Union puts those values at the end of a list that are not in it yet, and returns the list. See [Increment].
func Union(ctx agent.ReadonlyContext, key string, values ...any) ([]any, error) {
	return OnceOps{}.Union(ctx, key, values...)
}

// Remove removes a key, which is something else than to set it to nil. An absent key stays absent. See [Increment].
func Remove(ctx agent.ReadonlyContext, key string) error {
	return OnceOps{}.Remove(ctx, key)
}

// Apply applies several operators in order, all or none, and only if all preconditions hold, else the error is
// [ErrStale]. It returns the new values of the keys; a removed key is absent. See [Increment].
func Apply(ctx agent.ReadonlyContext, ops []Op, conditions ...Precondition) (map[string]any, error) {
	return OnceOps{}.Apply(ctx, ops, conditions...)
}

// OnceOps are the operators for a change that is made once: see [Once].
type OnceOps struct{ id string }

// Once returns the operators for a change that has an id, the same in every run of the program: the session makes a change
// of this id once. So a tool that died in the middle may run again:
//
//	number, err := sessiond.Once("number of "+order).Increment(ctx, "app:orders", 1)
//
// Made again, a change changes nothing, and returns what it returned the first time. Each call needs an id of its own: for
// another change of the same id, the error is an [*Error] with the code event_id_conflict.
func Once(id string) OnceOps { return OnceOps{id} }

// Increment is like the function of this name.
func (o OnceOps) Increment(ctx agent.ReadonlyContext, key string, by any) (json.Number, error) {
	raw, err := o.apply(ctx, []Op{{"increment", key, by}}, nil)
	return json.Number(raw[key]), err
}

// Append is like the function of this name.
func (o OnceOps) Append(ctx agent.ReadonlyContext, key string, values ...any) ([]any, error) {
	return o.list(ctx, Op{"append", key, values})
}

// Union is like the function of this name.
func (o OnceOps) Union(ctx agent.ReadonlyContext, key string, values ...any) ([]any, error) {
	return o.list(ctx, Op{"union", key, values})
}

// Remove is like the function of this name.
func (o OnceOps) Remove(ctx agent.ReadonlyContext, key string) error {
	_, err := o.apply(ctx, []Op{{Op: "remove", Key: key}}, nil)
	return err
}

// Apply is like the function of this name.
func (o OnceOps) Apply(ctx agent.ReadonlyContext, ops []Op, conditions ...Precondition) (map[string]any, error) {
	raw, err := o.apply(ctx, ops, conditions)
	if err != nil {
		return nil, err
	}
	return decodeValues(raw)
}

func (o OnceOps) list(ctx agent.ReadonlyContext, op Op) ([]any, error) {
	if op.Value.([]any) == nil {
		op.Value = []any{}
	}
	values, err := o.Apply(ctx, []Op{op})
	if err != nil {
		return nil, err
	}
	// The server has checked that it is a list.
	elements, _ := values[op.Key].([]any)
	return elements, nil
}

func (o OnceOps) apply(
	ctx agent.ReadonlyContext, ops []Op, conditions []Precondition,
) (map[string]json.RawMessage, error) {
	// A tool's context has no session, but the state of it.
	view, ok := ctx.ReadonlyState().(*stateView)
	if !ok {
		return nil, errors.New("sessiond: the session of the context does not come from sessiond")
	}
	return view.session.service.apply(ctx, view.session, Change{
		Ops: ops, If: conditions, Author: ctx.AgentName(), InvocationID: ctx.InvocationID(), Once: o.id,
	})
}
