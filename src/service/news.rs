//! News of a session from commits and polls, and the last read of it.

use std::collections::VecDeque;

use crate::domain::cursor::{EventMark, mark};
use crate::domain::event::StoredEvent;
use crate::domain::loaded::Revisions;
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;
use crate::domain::writes::{Removal, SessionChange};

/// How much of the last read is kept for other followers of the session.
const RECENT_BYTES: usize = 64 << 10;

/// The latest news of a session: revisions of one incarnation on one timeline, which only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct News {
    pub incarnation: i64,
    pub timeline: Timeline,
    pub revision: i64,
    pub metadata: i64,
    pub user: i64,
    pub app: i64,
    /// Grows with changes that the revisions do not show: the session was deleted or replaced; its log may have lost its end; its
    /// lease changed.
    pub other: u64,
    /// The last incarnation that this process saw removed, and why.
    pub removed: Option<(i64, Removal)>,
    is_gone: bool,
}

impl News {
    pub fn of(head: &SessionInfo) -> Self {
        Self {
            incarnation: head.incarnation,
            timeline: head.timeline,
            revision: head.revision,
            metadata: head.metadata_revision,
            user: head.user_revision,
            app: head.app_revision,
            ..Self::default()
        }
    }

    pub fn of_revisions(timeline: Timeline, heard: Revisions) -> Self {
        let Revisions { incarnation, revision, metadata } = heard;
        Self { incarnation, timeline, revision, metadata, ..Self::default() }
    }

    /// Adds later or simultaneous news; returns whether anything changed.
    pub fn add(&mut self, heard: Self) -> bool {
        let before = *self;
        if (self.incarnation, self.timeline) != (heard.incarnation, heard.timeline) {
            let other = self.other + u64::from(self.incarnation != 0);
            *self = Self { other, removed: self.removed, ..heard };
        } else {
            self.revision = self.revision.max(heard.revision);
            self.metadata = self.metadata.max(heard.metadata);
            self.user = self.user.max(heard.user);
            self.app = self.app.max(heard.app);
            self.is_gone = false;
        }
        *self != before
    }

    /// Adds events up to this sequence that this process committed; returns whether anything changed.
    pub fn add_events(&mut self, incarnation: i64, last: i64) -> bool {
        match self.incarnation == incarnation {
            true => self.add(Self { revision: last, ..*self }),
            false => self.add(Self { incarnation, timeline: self.timeline, revision: last, ..Self::default() }),
        }
    }

    /// Adds another change that this process committed.
    pub fn add_change(&mut self, incarnation: i64, change: &SessionChange) {
        self.other += 1;
        if let SessionChange::Deleted(removal) = change {
            self.removed = Some((incarnation, *removal));
        }
    }

    /// Notes that there is no such session; returns whether anything changed.
    pub fn lose(&mut self) -> bool {
        let is_new = !self.is_gone;
        self.is_gone = true;
        self.other += u64::from(is_new);
        is_new
    }
}

/// An event and its mark in cursors.
#[derive(Debug, Clone)]
pub struct MarkedEvent {
    pub event: StoredEvent,
    pub mark: EventMark,
}

impl MarkedEvent {
    pub fn new(event: StoredEvent) -> Self {
        Self { mark: mark(&event), event }
    }
}

/// A read of a session: its head, and events after a position.
#[derive(Clone)]
pub(super) struct Batch {
    pub head: SessionInfo,
    pub events: Vec<MarkedEvent>,
    /// There are more events in the log.
    pub more: bool,
}

/// The last read of a session, for all its followers.
#[derive(Default)]
pub(super) struct Recent {
    /// The news that the read includes.
    as_of: News,
    head: Option<SessionInfo>,
    /// The last events up to the head.
    events: VecDeque<MarkedEvent>,
    bytes: usize,
}

impl Recent {
    /// The events after `sequence`, if the read includes this news and has all of them.
    pub fn behind(&self, sequence: i64, incarnation: i64, news: News) -> Option<Batch> {
        let head = self.head.as_ref().filter(|head| head.incarnation == incarnation && self.as_of == news)?;
        let first = self.events.front().map_or(head.revision, |first| first.event.sequence - 1);
        if sequence < first || sequence > head.revision {
            return None;
        }
        let events = self.events.iter().filter(|marked| marked.event.sequence > sequence).cloned().collect();
        Some(Batch { head: head.clone(), events, more: false })
    }

    pub fn keep(&mut self, as_of: News, batch: &Batch) {
        let Batch { head, events, more } = batch;
        // An event that was read before may have been redacted with a change of metadata.
        let of = |head: &SessionInfo| (head.incarnation, head.timeline, head.metadata_revision);
        let is_same = |known: &SessionInfo| of(known) == of(head);
        let is_same = self.head.as_ref().is_some_and(is_same);
        let goes_on = match (self.events.back(), events.first()) {
            (None, None) => true,
            (Some(last), None) => last.event.sequence == head.revision,
            (Some(last), Some(first)) => last.event.sequence + 1 == first.event.sequence,
            (None, Some(_)) => false,
        };
        if *more || !is_same || !goes_on {
            *self = Self::default();
        }
        if *more {
            return;
        }
        self.as_of = as_of;
        self.head = Some(head.clone());
        for marked in events {
            self.bytes += marked.event.weight();
            self.events.push_back(marked.clone());
        }
        while self.bytes > RECENT_BYTES
            && let Some(first) = self.events.pop_front()
        {
            self.bytes -= first.event.weight();
        }
    }
}
