//! One keep-alive connection, with one request in flight.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::response::{Head, Reader};

pub struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
    reader: Reader,
    /// Bytes of all bodies so far.
    pub received: u64,
    /// The body of the last response, if it was to be kept.
    pub body: Vec<u8>,
}

impl Client {
    /// Connects with the first request.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, stream: None, reader: Reader::default(), received: 0, body: Vec::new() }
    }

    /// Sends a request and waits for the end of its response, which is its status. A failure ends the connection; the
    /// next request makes a new one. Nothing is sent twice.
    pub async fn exchange(&mut self, request: &[u8], keep: bool) -> io::Result<u16> {
        // Not put back until the response is complete: a request that is dropped half-way leaves nothing behind.
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        stream.write_all(request).await?;
        self.body.clear();
        let head = self.read(&mut stream, keep).await?;
        if !head.close {
            self.stream = Some(stream);
        }
        Ok(head.status)
    }

    async fn connect(&mut self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        self.reader = Reader::default();
        Ok(stream)
    }

    async fn read(&mut self, stream: &mut TcpStream, keep: bool) -> io::Result<Head> {
        loop {
            let count = stream.read(self.reader.space()).await?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.reader.filled(count);
            let (received, body) = (&mut self.received, &mut self.body);
            let done = self.reader.advance(|bytes| {
                *received += bytes.len() as u64;
                if keep {
                    body.extend_from_slice(bytes);
                }
            });
            if let Some(head) = done.map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))? {
                return Ok(head);
            }
        }
    }
}
