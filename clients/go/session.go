package sessiond

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/adk/v2/session"
)

// stored is a session as it was read, and as it changed with what was appended through it.
type stored struct {
	service             *Service
	id, appName, userID string
	// One append at a time, so that events have the order of the store. Held while sending; see lock.
	turn chan struct{}
	// What names this object among those that take leases, and its present one; guarded by turn.
	owner string
	lease *lease
	// Whether an event that was read with it takes back what was before it.
	rewound bool
	// Whether it was read to take the place of what another object shows.
	whole bool

	// Guards what follows.
	mu        sync.RWMutex
	state     map[string]any
	events    []*session.Event
	updatedAt time.Time
	// The revision up to which all events have been seen.
	revision int64
}

func (s *stored) ID() string      { return s.id }
func (s *stored) AppName() string { return s.appName }
func (s *stored) UserID() string  { return s.userID }

func (s *stored) State() session.State { return &stateView{s} }

func (s *stored) Events() session.Events {
	s.mu.RLock()
	defer s.mu.RUnlock()
	// What is appended later does not show in it.
	return eventList(slices.Clip(s.events))
}

func (s *stored) LastUpdateTime() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.updatedAt
}

// lock waits until nobody else appends through this object.
func (s *stored) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stored) unlock() { <-s.turn }

// appended shows an event that was stored, and the state after it.
func (s *stored) appended(event *session.Event, set map[string]any, removed []string, sequence int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range removed {
		delete(s.state, key)
	}
	maps.Copy(s.state, set)
	s.events = append(s.events, event)
	s.updatedAt = event.Timestamp
	// A gap means that others appended what this object has not seen: then it is stale, and stays so.
	if sequence == s.revision+1 {
		s.revision = sequence
	}
}

// catchUp takes over what was stored since: later has all the later events, and the state after them.
func (s *stored) catchUp(later *stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.state, func(key string, _ any) bool { return !isTemporary(key) })
	maps.Copy(s.state, later.state)
	if later.whole {
		// What this object has may have been taken back, or covered: later has all that is left.
		s.events = nil
	}
	// Those behind a gap are in both.
	kept := slices.DeleteFunc(slices.Clone(s.events), func(event *session.Event) bool { return later.has(event.ID) })
	s.events = append(kept, later.events...)
	s.updatedAt = later.updatedAt
	s.revision = later.revision
}

func (s *stored) seen() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.revision
}

func (s *stored) has(eventID string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.ContainsFunc(s.events, func(event *session.Event) bool { return event.ID == eventID })
}

func isTemporary(key string) bool { return strings.HasPrefix(key, session.KeyPrefixTemp) }

// lasting returns the state without `temp:` keys; the same map if it has none.
func lasting(state map[string]any) map[string]any {
	kept := state
	for key := range state {
		if isTemporary(key) {
			kept = maps.Clone(state)
			maps.DeleteFunc(kept, func(key string, _ any) bool { return isTemporary(key) })
			break
		}
	}
	return kept
}

// stateView is the state of a session. ADK gives it to tools and callbacks, by which these find the session.
type stateView struct{ session *stored }

func (v *stateView) Get(key string) (any, error) {
	v.session.mu.RLock()
	defer v.session.mu.RUnlock()
	value, ok := v.session.state[key]
	if !ok {
		return nil, session.ErrStateKeyNotExist
	}
	return value, nil
}

func (v *stateView) Set(key string, value any) error {
	v.session.mu.Lock()
	defer v.session.mu.Unlock()
	v.session.state[key] = value
	return nil
}

func (v *stateView) All() iter.Seq2[string, any] {
	v.session.mu.RLock()
	defer v.session.mu.RUnlock()
	return maps.All(maps.Clone(v.session.state))
}

type eventList []*session.Event

func (l eventList) All() iter.Seq[*session.Event] { return slices.Values(l) }

func (l eventList) Len() int { return len(l) }

func (l eventList) At(i int) *session.Event {
	if i < 0 || i >= len(l) {
		return nil
	}
	return l[i]
}

var (
	_ session.Session = (*stored)(nil)
	_ session.State   = (*stateView)(nil)
	_ session.Events  = (eventList)(nil)
)
