//! What is asked of the server: each scenario writes its next request into a buffer that is used again and again.

use std::{
    hash::{BuildHasher, RandomState},
    io::Write,
    ops::Range,
};

use crate::Options;

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Debug)]
pub enum Scenario {
    /// Create the sessions s0, s1, … that the others use; those that are there stay as they are
    Setup,
    /// Append an event to a random session
    Append,
    /// Append, all connections to one session
    AppendOneSession,
    /// Append, every event setting the one key `app:hot`
    AppendOneAppKey,
    /// Append, every event setting an `app:` key of its connection
    AppendAppKeys,
    /// Append, no two connections to one session
    AppendOwn,
    /// Get the merged state of a random session
    GetState,
    /// Get a random session with its state and its last 10 events
    GetEvents,
    /// Create a session with a small state
    Create,
    /// Get a page of the sessions of the app
    List,
    /// 90 % get-events, 10 % append
    Mix,
    /// Change one key of a random session's state
    PatchState,
    /// Save a file of --body-bytes in a random session
    Save,
    /// Get a page of the files of a session
    ListFiles,
    /// Append --events to each of the sessions, in one request each
    FillEach,
    /// Fill the session h{EVENTS} with --events, 500 a request
    FillHistory,
    /// Create the session k{KEYS} with --keys in its state
    FillState,
    /// Create --count sessions in the app
    FillSessions,
    /// Read one session with all its events, once
    Stream,
}

/// Events of one request of fill-history.
pub const BATCH: u64 = 500;

/// Keys of each scope that appends set in turn.
const KEYS: u64 = 10;

impl Scenario {
    /// For how many requests there is work; `None` if there is no end of it.
    pub fn total(self, options: &Options) -> Option<u64> {
        match self {
            Self::Setup | Self::FillEach => Some(options.sessions),
            Self::FillHistory => Some(options.events.div_ceil(BATCH)),
            Self::FillState | Self::Stream => Some(1),
            Self::FillSessions => Some(options.count),
            _ => None,
        }
    }
}

/// A small fast generator (SplitMix64): not for secrets.
pub struct Random(u64);

impl Random {
    /// Seeded by the operating system, by way of the seed of std's hash maps.
    fn from_system() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

/// The requests of one connection.
pub struct Requests<'a> {
    options: &'a Options,
    connection: u64,
    /// Query of the page of the list to ask for, if not the first.
    page: &'a str,
    random: Random,
    /// How many were written.
    count: u64,
    bytes: Vec<u8>,
    body: Vec<u8>,
}

impl<'a> Requests<'a> {
    pub fn new(options: &'a Options, connection: usize, page: &'a str) -> Self {
        Self {
            options,
            connection: connection as u64,
            page,
            random: Random::from_system(),
            // Which keys an append sets depends on this. Connections that began alike would set the same ones in step.
            count: 7 * connection as u64,
            bytes: Vec::with_capacity(4096),
            body: Vec::with_capacity(4096),
        }
    }

    /// The request to send as the scenario's request `number`, and the statuses by which it succeeds.
    pub fn next(&mut self, number: u64) -> (&[u8], &'static [u16]) {
        self.body.clear();
        let expected = self.write(number);
        self.count += 1;
        (&self.bytes, expected)
    }

    fn write(&mut self, number: u64) -> &'static [u16] {
        let options = self.options;
        match options.scenario {
            Scenario::Setup => {
                let session = Session::number(number, options);
                self.send("PUT", options, &session, "");
                &[200, 201]
            }
            Scenario::Append => {
                let session = self.some_session();
                self.append(&session, None)
            }
            Scenario::AppendOneSession => self.append(&Session::named(options, "s0"), None),
            Scenario::AppendOneAppKey => {
                let session = self.some_session();
                self.append(&session, Some("hot".into()))
            }
            Scenario::AppendAppKeys => {
                let session = self.some_session();
                self.append(&session, Some(format!("c{}", self.connection)))
            }
            Scenario::AppendOwn => {
                // Connection C of N has the sessions C, C + N, C + 2 N, …
                let connections = options.connections as u64;
                let turns = (options.sessions.saturating_sub(self.connection)).div_ceil(connections).max(1);
                let session = self.connection + self.count % turns * connections;
                self.append(&Session::number(session, options), None)
            }
            Scenario::GetState => {
                let session = self.some_session();
                self.send("GET", options, &session, "/state");
                &[200]
            }
            Scenario::GetEvents => {
                let session = self.some_session();
                self.get_events(&session)
            }
            Scenario::Create => {
                let user = self.random.below(options.users);
                let (id, value) = (self.fresh_id(), self.random.next());
                put(
                    &mut self.body,
                    format_args!(r#"{{"sessionId":"{id:032x}","state":{{"topic":"{value:016x}","step":1}}}}"#),
                );
                let path = format_args!("/v1/apps/{}/users/u{user}/sessions", options.app);
                send(&mut self.bytes, options, &self.body, "POST", path);
                &[201]
            }
            Scenario::List => {
                let path = list_path(options, self.page);
                send(&mut self.bytes, options, &self.body, "GET", format_args!("{path}"));
                &[200]
            }
            Scenario::Mix => {
                let session = self.some_session();
                if self.random.below(10) == 0 { self.append(&session, None) } else { self.get_events(&session) }
            }
            Scenario::PatchState => {
                let session = self.some_session();
                let (key, value) = (self.count % KEYS, self.random.next());
                put(&mut self.body, format_args!(r#"{{"stateDelta":{{"k{key}":"{value:016x}"}}}}"#));
                self.send("PATCH", options, &session, "/state");
                &[200]
            }
            Scenario::Save => {
                let session = self.some_session();
                self.text(options.body_bytes);
                self.send("PUT", options, &session, "/artifacts/report");
                &[201]
            }
            Scenario::ListFiles => {
                let session = self.some_session();
                self.send("GET", options, &session, "/artifacts?pageSize=10");
                &[200]
            }
            Scenario::FillEach => {
                let session = Session::number(number, options);
                self.fill(number * options.events..(number + 1) * options.events, &session)
            }
            Scenario::FillHistory => {
                let session = fill_history_session(options);
                self.fill(number * BATCH..options.events.min((number + 1) * BATCH), &session)
            }
            Scenario::FillState => {
                put(&mut self.body, format_args!(r#"{{"state":{{"#));
                for key in 0..options.keys {
                    let (comma, value) = (if key == 0 { "" } else { "," }, self.random.next());
                    put(&mut self.body, format_args!(r#"{comma}"k{key}":"{value:016x}""#));
                }
                put(&mut self.body, format_args!("}}}}"));
                let session = Session::named(options, &format!("k{}", options.keys));
                self.send("PUT", options, &session, "");
                &[200, 201]
            }
            Scenario::FillSessions => {
                put(&mut self.body, format_args!(r#"{{"state":{{"step":1}}}}"#));
                let session = Session { user: format!("u{}", number % options.users), id: format!("s{number}") };
                self.send("PUT", options, &session, "");
                &[200, 201]
            }
            Scenario::Stream => {
                let session = Session::named(options, "s0");
                self.send("GET", options, &session, "");
                &[200]
            }
        }
    }

    /// The session that was asked for, or a random one.
    fn some_session(&mut self) -> Session {
        match &self.options.session {
            Some(_) => Session::named(self.options, ""),
            None => Session::number(self.random.below(self.options.sessions), self.options),
        }
    }

    fn get_events(&mut self, session: &Session) -> &'static [u16] {
        self.send("GET", self.options, session, "?numRecentEvents=10");
        &[200]
    }

    /// The same events each time, so that what was filled before is recognised.
    fn fill(&mut self, events: Range<u64>, session: &Session) -> &'static [u16] {
        for event in events {
            self.body.push(if self.body.is_empty() { b'[' } else { b',' });
            self.random = Random(event);
            self.count = event;
            self.event(u128::from(event), None);
        }
        self.body.push(b']');
        self.send("POST", self.options, session, "/events");
        &[200, 201]
    }

    fn append(&mut self, session: &Session, app_key: Option<String>) -> &'static [u16] {
        let id = self.fresh_id();
        self.event(id, app_key.as_deref());
        self.send("POST", self.options, session, "/events");
        // 200 would mean that the id was not fresh.
        &[201]
    }

    fn fresh_id(&mut self) -> u128 {
        u128::from(self.random.next()) << 64 | u128::from(self.random.next())
    }

    /// Adds an event to the body: one key of the session, and `app:{app_key}` or, if there is none, a key of the user
    /// with every 4th and one of the app with every 16th.
    fn event(&mut self, id: u128, app_key: Option<&str>) {
        let start = self.body.len();
        let invocation = self.random.next();
        put(
            &mut self.body,
            format_args!(r#"{{"id":"{id:032x}","author":"agent","invocationId":"e-{invocation:016x}","actions":"#),
        );
        let (key, value) = (self.count % KEYS, self.random.next());
        put(&mut self.body, format_args!(r#"{{"stateDelta":{{"k{key}":"{value:016x}""#));
        if let Some(key) = app_key {
            put(&mut self.body, format_args!(r#","app:{key}":"{value:016x}""#));
        } else {
            if self.count.is_multiple_of(4) {
                put(&mut self.body, format_args!(r#","user:k{}":"{value:016x}""#, self.count / 4 % KEYS));
            }
            if self.count.is_multiple_of(16) {
                put(&mut self.body, format_args!(r#","app:k{}":"{value:016x}""#, self.count / 16 % KEYS));
            }
        }
        put(&mut self.body, format_args!(r#"}}}},"content":{{"role":"model","parts":[{{"text":""#));
        const END: &[u8] = br#""}]}}"#;
        let text = (self.options.body_bytes + start).saturating_sub(self.body.len() + END.len());
        self.text(text);
        self.body.extend_from_slice(END);
    }

    /// Adds so many bytes of text.
    fn text(&mut self, mut length: usize) {
        const TEXT: &[u8] = b"The parcel was handed over at the counter on Tuesday and has been on its way since. You can \
            send it back within thirty days, free of charge, in the box that it came in; the label is in your mailbox. ";
        let mut from = self.random.below(TEXT.len() as u64) as usize;
        while length > 0 {
            let piece = &TEXT[from..TEXT.len().min(from + length)];
            self.body.extend_from_slice(piece);
            length -= piece.len();
            from = 0;
        }
    }

    /// Writes a request about a session.
    fn send(&mut self, method: &str, options: &Options, session: &Session, rest: &str) {
        let Session { user, id } = session;
        let path = format_args!("/v1/apps/{}/users/{user}/sessions/{id}{rest}", options.app);
        send(&mut self.bytes, options, &self.body, method, path);
    }
}

pub struct Session {
    pub user: String,
    pub id: String,
}

impl Session {
    /// One of those that the setup makes.
    fn number(number: u64, options: &Options) -> Self {
        Self { user: format!("u{}", number % options.users), id: format!("s{number}") }
    }

    /// The one that was asked for, else the one of this name.
    fn named(options: &Options, id: &str) -> Self {
        let user = options.user.as_deref().unwrap_or("u0");
        Self { user: user.into(), id: options.session.as_deref().unwrap_or(id).into() }
    }
}

pub fn fill_history_session(options: &Options) -> Session {
    Session::named(options, &format!("h{}", options.events))
}

/// Makes sure that the session for the history is there.
pub fn create_for_history(options: &Options) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Session { user, id } = fill_history_session(options);
    send(&mut bytes, options, b"", "PUT", format_args!("/v1/apps/{}/users/{user}/sessions/{id}", options.app));
    bytes
}

/// Asks for a page of the list; `page` is empty or the parameter with the token of a page.
pub fn get_page(options: &Options, page: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    send(&mut bytes, options, b"", "GET", format_args!("{}", list_path(options, page)));
    bytes
}

fn list_path(options: &Options, page: &str) -> String {
    let size = options.page_size.map(|size| format!("pageSize={size}")).unwrap_or_default();
    let parameters: Vec<&str> = [size.as_str(), page].into_iter().filter(|one| !one.is_empty()).collect();
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("/v1/apps/{}/sessions{mark}{}", options.app, parameters.join("&"))
}

/// Writes a whole request, in place of what is in `bytes`.
fn send(bytes: &mut Vec<u8>, options: &Options, body: &[u8], method: &str, path: std::fmt::Arguments<'_>) {
    bytes.clear();
    put(bytes, format_args!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", options.authority));
    if !body.is_empty() {
        put(bytes, format_args!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
}

fn put(bytes: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a Vec cannot fail.
    let _ = bytes.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::Value;

    use super::*;

    fn options(scenario: &str, more: &[&str]) -> Options {
        let basic = ["sessiond-load", "--url", "http://127.0.0.1:1", "--scenario", scenario];
        Options::try_parse_from(basic.iter().chain(more)).unwrap()
    }

    fn body(request: &[u8]) -> &[u8] {
        let end = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        &request[end + 4..]
    }

    #[test]
    fn an_event_has_the_size_and_the_keys_that_were_said() {
        let options = options("append", &[]);
        let mut requests = Requests::new(&options, 0, "");
        let mut ids = std::collections::HashSet::new();
        for number in 0..64 {
            let (request, expected) = requests.next(number);
            assert_eq!(expected, [201]);
            assert!(request.starts_with(b"POST /v1/apps/bench/users/u"));
            assert_eq!(body(request).len(), 1024);
            let event: Value = serde_json::from_slice(body(request)).unwrap();
            let delta = event["actions"]["stateDelta"].as_object().unwrap();
            let of = |prefix: &str| delta.keys().filter(|key| key.starts_with(prefix)).count();
            assert_eq!(of("user:"), usize::from(number % 4 == 0));
            assert_eq!(of("app:"), usize::from(number % 16 == 0));
            assert_eq!(of("k"), 1);
            assert!(ids.insert(event["id"].as_str().unwrap().to_owned()));
        }
    }

    #[test]
    fn own_sessions_are_nobody_elses() {
        let options = options("append-own", &["--connections", "3", "--sessions", "8"]);
        let mut owners = std::collections::HashMap::new();
        for connection in 0..3 {
            let mut requests = Requests::new(&options, connection, "");
            for number in 0..20 {
                let request = String::from_utf8(requests.next(number).0.to_vec()).unwrap();
                let path = request.split(' ').nth(1).unwrap().to_owned();
                assert_eq!(*owners.entry(path).or_insert(connection), connection);
            }
        }
        assert_eq!(owners.len(), 8);
    }

    #[test]
    fn a_history_is_filled_with_the_same_events_each_time() {
        let options = options("fill-history", &["--events", "700"]);
        let batch = |connection, number| {
            let mut requests = Requests::new(&options, connection, "");
            body(requests.next(number).0).to_vec()
        };
        assert_eq!(batch(0, 1), batch(5, 1));
        let events: Vec<Value> = serde_json::from_slice(&batch(0, 1)).unwrap();
        assert_eq!(events.len(), 200);
    }

    #[test]
    fn bodies_are_json() {
        for scenario in
            ["create", "patch-state", "fill-state", "fill-sessions", "append-one-app-key", "append-app-keys"]
        {
            let options = options(scenario, &["--keys", "3", "--count", "1"]);
            let mut requests = Requests::new(&options, 0, "");
            let text = body(requests.next(0).0).to_vec();
            serde_json::from_slice::<Value>(&text).unwrap_or_else(|error| panic!("{scenario}: {error}"));
        }
    }
}
