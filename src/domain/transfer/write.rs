//! The lines that an export writes, and where it goes on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::format::{DATABASE, FORMAT, LONGEST_DATA, data_lines, has_line_break, on_one_line, raw_name};
use super::read::Totals;
use super::rows::{ExportSource, Exported, ExportedArtifact, LogRow, Lost, PastChange};
use crate::domain::event::{REDACTED, StoredEvent, show_versions, stored_digest};
use crate::domain::ids::{SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::{ObjectText, string_array};
use crate::domain::query::ListPosition;
use crate::domain::session::{SessionInfo, source_object};
use crate::domain::time::Micros;

/// The first line of an export.
pub fn first_line(source: &ExportSource, now: Micros) -> String {
    match source {
        ExportSource::App(app) => export_line("app", &[("appName", app.as_str())], now),
        ExportSource::User(UserKey { app, user }) => {
            export_line("user", &[("appName", app.as_str()), ("userId", user.as_str())], now)
        }
        ExportSource::Session(SessionKey { user: UserKey { app, user }, session }) => {
            let names = [("appName", app.as_str()), ("userId", user.as_str()), ("sessionId", session.as_str())];
            export_line("session", &names, now)
        }
    }
}

fn export_line(scope: &str, names: &[(&str, &str)], now: Micros) -> String {
    let mut line = typed("export");
    line.push("format", FORMAT);
    line.push_str("scope", scope);
    names.iter().for_each(|(name, value)| line.push_str(name, value));
    line.push("time", &now.to_number());
    line.push_str("server", concat!("sessiond ", env!("CARGO_PKG_VERSION")));
    closed(line)
}

/// The state of the app, or of a user.
pub fn state_line(user: Option<&UserId>, revision: i64, state: &str) -> String {
    let mut line = typed_of(if user.is_some() { "user.state" } else { "app.state" }, user);
    line.push("revision", &revision.to_string());
    push_value(&mut line, "state", state);
    closed(line)
}

/// A change of the app's state, or of a user's.
pub fn change_line(user: Option<&UserId>, change: &PastChange) -> String {
    let mut line = typed_of(if user.is_some() { "user.change" } else { "app.change" }, user);
    line.push("revision", &change.revision.to_string());
    line.push("time", &change.time.to_number());
    if change.is_base {
        line.push("base", "true");
    }
    if change.is_base || !change.set.is_empty() {
        let mut set = ObjectText::default();
        change.set.iter().for_each(|(key, value)| set.push(key, value.text()));
        push_value(&mut line, "set", &set.close());
    }
    if !change.removed.is_empty() {
        line.push("removed", &string_array(&change.removed));
    }
    if !change.by.is_empty() {
        let mut by = ObjectText::default();
        change.by.iter().for_each(|(key, made_by)| by.push(key, &made_by.to_object()));
        line.push("by", &by.close());
    }
    closed(line)
}

/// A version of an artifact of a session or, if one is named, of a user; the lines of its bytes follow.
pub fn artifact_line(user: Option<&UserId>, artifact: &ExportedArtifact) -> String {
    let mut line = typed_of("artifact", user);
    match &artifact.version {
        Some(version) => version.push_to(&mut line, push_value),
        None => line.push_str("name", artifact.name.as_str()),
    }
    line.push("next", &artifact.next.to_string());
    let size = artifact.version.as_ref().and_then(|version| version.content.bytes).map_or(0, |(size, _)| size);
    line.push("chunks", &data_lines(size).to_string());
    closed(line)
}

/// The next bytes of an artifact.
pub fn data_line(bytes: &[u8]) -> String {
    let mut line = ObjectText::with_capacity(LONGEST_DATA + 50);
    line.push_str("type", "artifact.data");
    let mut data = String::with_capacity(LONGEST_DATA + 2);
    data.push('"');
    STANDARD.encode_string(bytes, &mut data);
    data.push('"');
    line.push("data", &data);
    closed(line)
}

/// The first line of a session.
pub fn session_line(session: &Exported) -> String {
    session_line_with(session, true)
}

/// The first line of a session in the format before `saw`.
pub fn old_session_line(session: &Exported) -> String {
    session_line_with(session, false)
}

fn session_line_with(session: &Exported, saw: bool) -> String {
    let head = &session.head;
    let mut line = typed("session");
    line.push_str("userId", head.key.user.user.as_str());
    line.push_str("id", head.key.session.as_str());
    line.push_str("incarnation", &session.origin.clone().unwrap_or_else(|| format!("{:x}", head.incarnation)));
    line.push("createTime", &head.create_time.to_number());
    line.push("baseRevision", &head.base_revision.to_string());
    push_value(&mut line, "baseState", session.base_state.text());
    if saw {
        line.push_some("baseArtifacts", show_versions(&session.base_artifacts));
        line.push("saw", &format!("[{},{}]", session.base_saw.0, session.base_saw.1));
    }
    for (name, value) in [("displayName", &head.display_name), ("labels", &head.labels)] {
        if let Some(value) = value {
            push_value(&mut line, name, value.text());
        }
    }
    line.push_some("expireTime", head.expire_time.map(Micros::to_number));
    line.push_some("forkedFrom", head.forked_from.as_ref().map(source_object));
    closed(line)
}

pub fn row_line(row: &LogRow) -> String {
    let saw = format!("[{},{}]", row.saw.0, row.saw.1);
    let Some(body) = &row.body else {
        let mut line = typed("stub");
        line.push_str("id", row.id.as_str());
        line.push("sequence", &row.sequence.to_string());
        line.push_str("invocationId", &row.invocation_id);
        line.push("timestamp", &row.event_time.to_number());
        line.push("commitTime", &row.commit_time.to_number());
        line.push_str("digest", &hex::encode(row.digest));
        line.push("saw", &saw);
        return closed(line);
    };
    let mut event = String::new();
    StoredEvent::new(row.sequence, row.commit_time, body.as_str()).write_json(&mut event);
    let mut line = typed("event");
    if has_line_break(&event) {
        line.push_str("raw", &event);
    } else {
        line.push("event", &event);
    }
    line.push("saw", &saw);
    // The digest of the client's content, if the body has the results of its operators instead.
    if row.digest != REDACTED && stored_digest(body) != Some(row.digest) {
        line.push_str("digest", &hex::encode(row.digest));
    }
    closed(line)
}

/// The last line of a session; `sha256` is the digest of its lines before.
pub fn end_of_session(
    source: &ExportSource,
    head: &SessionInfo,
    state: &str,
    lost: &Lost,
    nearest_source: Option<&SessionId>,
    sha256: [u8; 32],
) -> String {
    let mut line = typed("session.end");
    line.push_str("id", head.key.session.as_str());
    line.push("revision", &head.revision.to_string());
    push_value(&mut line, "state", state);
    lost.push(&mut line);
    line.push_some_str("nearestSource", nearest_source.map(SessionId::as_str));
    line.push_str("sha256", &hex::encode(sha256));
    line.push_str("cursor", &cursor(source, head));
    closed(line)
}

pub fn last_line(totals: Totals) -> String {
    let mut line = typed("end");
    line.push("sessions", &totals.sessions.to_string());
    line.push("events", &totals.events.to_string());
    if totals.artifacts > 0 {
        line.push("artifacts", &totals.artifacts.to_string());
    }
    closed(line)
}

/// The export of a database without apps.
pub fn empty_export(now: Micros) -> String {
    export_line(DATABASE, &[], now) + &last_line(Totals::default())
}

/// Adds stored JSON to a line. If it has line breaks, they become spaces, and a second member has the exact text for imports.
fn push_value(line: &mut ObjectText, name: &str, json: &str) {
    if has_line_break(json) {
        line.push(name, &on_one_line(json));
        line.push_str(&raw_name(name), json);
    } else {
        line.push(name, json);
    }
}

pub(super) fn typed(kind: &str) -> ObjectText {
    let mut line = ObjectText::default();
    line.push_str("type", kind);
    line
}

/// A line of a user, if there is one.
fn typed_of(kind: &str, user: Option<&UserId>) -> ObjectText {
    let mut line = typed(kind);
    line.push_some_str("userId", user.map(UserId::as_str));
    line
}

fn closed(line: ObjectText) -> String {
    let mut text = line.close();
    text.push('\n');
    text
}

/// The cursor at which an export of this source continues after this session.
fn cursor(source: &ExportSource, head: &SessionInfo) -> String {
    let key = &head.key;
    let parts = [key.user.user.as_str(), &head.create_time.0.to_string(), key.session.as_str()];
    format!("{}-{}", parts.map(hex::encode).join("-"), source.mark())
}

/// Reads the cursor of a `session.end`.
///
/// # Errors
/// It is not a cursor, or not one of this source.
pub fn parse_cursor(source: &ExportSource, text: &str) -> Result<ListPosition, &'static str> {
    const NO_CURSOR: &str = "must be the cursor of a `session.end` of this very export";
    let part = |part: &str| hex::decode(part).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(NO_CURSOR);
    let [user, time, session, mark] = text.split('-').collect::<Vec<_>>()[..] else { return Err(NO_CURSOR) };
    if mark != source.mark() {
        return Err(NO_CURSOR);
    }
    Ok(ListPosition {
        user: UserId::parse(&part(user)?).map_err(|_| NO_CURSOR)?,
        time: Micros(part(time)?.parse().map_err(|_| NO_CURSOR)?),
        session: SessionId::parse(&part(session)?).map_err(|_| NO_CURSOR)?,
    })
}
