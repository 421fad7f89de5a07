//! A TCP proxy that fails on command: the network between `sessiond` and its database.

use std::{
    collections::HashMap,
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// Forwards TCP connections to one upstream address, until a fault is injected.
///
/// It runs on threads of its own, so a test may block, or stop polling its runtime, while traffic flows. Every call has
/// taken effect when it returns. Dropping it ends all connections and closes the port.
pub struct TcpProxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
}

impl TcpProxy {
    /// A proxy on a free port of 127.0.0.1. It connects to the upstream once for each connection.
    pub fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind the proxy");
        let addr = listener.local_addr().expect("a bound address");
        let state = State { upstream: Some(upstream), ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), ..Shared::default() });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                let mode = accepting.lock().mode;
                match (mode, client) {
                    (Mode::Stopped, _) => break,
                    // Accepted and closed: std can neither refuse while it listens nor be sure to get the port back.
                    (Mode::Cut, _) | (_, Err(_)) => {}
                    (Mode::Open | Mode::Blackhole, Ok(client)) => {
                        let shared = Arc::clone(&accepting);
                        thread::spawn(move || shared.serve(client));
                    }
                }
            }
        });
        Self { addr, shared }
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Forwards new connections to another upstream from now on, like an address that moves.
    pub fn lead_to(&self, upstream: SocketAddr) {
        self.shared.lock().upstream = Some(upstream);
    }

    /// Closes all connections on both sides, and from now on each new one as soon as it is accepted.
    pub fn cut(&self) {
        self.shared.enter(Mode::Cut);
    }

    /// From now on forwards nothing in either direction and closes nothing: data is held back, and neither end learns
    /// that the other one has closed. New connections are accepted and get no answer. Data in flight may still arrive.
    pub fn blackhole(&self) {
        self.shared.enter(Mode::Blackhole);
    }

    /// Like [`TcpProxy::blackhole`], but only for the connections that are open now, until they are cut: like a
    /// firewall that lost their state. New connections work.
    pub fn strand(&self) {
        for link in self.shared.lock().links.values_mut() {
            link.stranded = true;
        }
    }

    /// Forwards again. As after a healed network, held data arrives now, and cut connections stay cut.
    pub fn restore(&self) {
        self.shared.enter(Mode::Open);
    }

    /// Arms a trap for the next connection that sends these bytes to the server, such as `b"COMMIT"`: they are
    /// forwarded, the server's reply is dropped, and **then** the connection is closed. So the server has executed the
    /// command, but the client cannot know. Fires once; replaces an armed trap.
    pub fn cut_on(&self, pattern: &'static [u8]) {
        self.shared.lock().trap = Some(Trap { pattern, forward: true });
    }

    /// Like [`TcpProxy::cut_on`], but the connection is closed **instead of** forwarding: the server never gets all of
    /// these bytes.
    pub fn cut_before(&self, pattern: &'static [u8]) {
        self.shared.lock().trap = Some(Trap { pattern, forward: false });
    }

    /// How many traps of both kinds have fired. Counted before the client can notice.
    pub fn fired(&self) -> usize {
        self.shared.lock().fired
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.shared.enter(Mode::Stopped);
        // Wakes the accepting thread, which closes the port.
        let _ = TcpStream::connect(self.addr);
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified of every change of `State::mode`.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    mode: Mode,
    upstream: Option<SocketAddr>,
    trap: Option<Trap>,
    fired: usize,
    next_link: u64,
    /// The open connections, for [`Shared::enter`] to close.
    links: HashMap<u64, Link>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Mode {
    #[default]
    Open,
    Blackhole,
    Cut,
    Stopped,
}

struct Trap {
    pattern: &'static [u8],
    forward: bool,
}

/// A client's connection, and the connection to the server for it, if it exists already.
struct Link {
    client: TcpStream,
    server: Option<TcpStream>,
    /// The server's next reply is dropped and the link closed.
    sprung: bool,
    /// Nothing is forwarded any more.
    stranded: bool,
}

impl Link {
    fn close(&self) {
        for stream in [Some(&self.client), self.server.as_ref()].into_iter().flatten() {
            // An error means that the other end was faster.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in one connection's thread leaves the state consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, mode: Mode) {
        let mut state = self.lock();
        state.mode = mode;
        if matches!(mode, Mode::Cut | Mode::Stopped) {
            for (_, link) in state.links.drain() {
                link.close();
            }
        }
        self.changed.notify_all();
    }

    /// Waits for the end of a black hole. `None` if the link was closed meanwhile.
    fn open(&self, id: u64) -> Option<MutexGuard<'_, State>> {
        let hole = |state: &mut State| {
            let blackhole = state.mode == Mode::Blackhole;
            state.links.get(&id).is_some_and(|link| blackhole || link.stranded)
        };
        let state = self.changed.wait_while(self.lock(), hole).unwrap_or_else(PoisonError::into_inner);
        state.links.contains_key(&id).then_some(state)
    }

    /// Closes a link after one end has closed. A black hole hides this from the other end.
    fn hang_up(&self, id: u64) {
        drop(self.open(id));
        if let Some(link) = self.lock().links.remove(&id) {
            link.close();
        }
    }

    /// Serves one connection to its end.
    fn serve(&self, client: TcpStream) {
        let Ok(handle) = client.try_clone() else {
            return;
        };
        let id = {
            let mut state = self.lock();
            if matches!(state.mode, Mode::Cut | Mode::Stopped) {
                return;
            }
            let id = state.next_link;
            state.next_link += 1;
            state.links.insert(id, Link { client: handle, server: None, sprung: false, stranded: false });
            id
        };
        if let Some(server) = self.connect(id) {
            let _ = client.set_nodelay(true);
            thread::scope(|scope| {
                scope.spawn(|| {
                    self.carry_replies(id, &server, &client);
                    self.hang_up(id);
                });
                self.carry_requests(id, &client, &server);
                self.hang_up(id);
            });
        }
        self.hang_up(id);
    }

    fn connect(&self, id: u64) -> Option<TcpStream> {
        let upstream = self.open(id)?.upstream?;
        let server = TcpStream::connect(upstream).ok()?;
        server.set_nodelay(true).ok()?;
        let handle = server.try_clone().ok()?;
        self.lock().links.get_mut(&id)?.server = Some(handle);
        Some(server)
    }

    /// Forwards from the client to the server, past the trap, until either has closed.
    fn carry_requests(&self, id: u64, mut client: &TcpStream, mut server: &TcpStream) {
        let mut chunk = [0; CHUNK];
        // The last bytes read, because a pattern may be split over chunks.
        let mut recent: Vec<u8> = Vec::new();
        while let Some(sent) = read(&mut client, &mut chunk) {
            let Some(mut state) = self.open(id) else {
                return;
            };
            let before = recent.len();
            recent.extend_from_slice(sent);
            let hit = |trap: &mut Trap| {
                // Skip the bytes that were already checked, perhaps before the trap was armed.
                let new = &recent[(before + 1).saturating_sub(trap.pattern.len())..];
                new.windows(trap.pattern.len()).any(|bytes| bytes == trap.pattern)
            };
            let trap = state.trap.take_if(hit);
            recent.drain(..recent.len().saturating_sub(CHUNK));
            let mut held = None;
            if let Some(trap) = trap {
                state.fired += 1;
                if !trap.forward {
                    return;
                }
                if let Some(link) = state.links.get_mut(&id) {
                    link.sprung = true;
                }
                // Whoever cuts once it has fired waits until the server has these bytes.
                held = Some(state);
            } else {
                drop(state);
            }
            let written = server.write_all(sent);
            drop(held);
            if written.is_err() {
                return;
            }
        }
    }

    /// Forwards from the server to the client, until either has closed or a trap has fired.
    fn carry_replies(&self, id: u64, mut server: &TcpStream, mut client: &TcpStream) {
        let mut chunk = [0; CHUNK];
        while let Some(reply) = read(&mut server, &mut chunk) {
            let Some(state) = self.open(id) else { return };
            let sprung = state.links.get(&id).is_some_and(|link| link.sprung);
            drop(state);
            if sprung || client.write_all(reply).is_err() {
                return;
            }
        }
    }
}

const CHUNK: usize = 16 * 1024;

/// The next bytes, or `None` at the end of the stream, however it ended.
fn read<'a>(stream: &mut &TcpStream, chunk: &'a mut [u8]) -> Option<&'a [u8]> {
    loop {
        match stream.read(chunk) {
            Ok(0) => return None,
            Ok(length) => return Some(&chunk[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
