package dev.sessiond.adk;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;

/** A network that loses things: stands between a client and a server. */
final class Proxy implements AutoCloseable {
  private final ServerSocket listener;
  private final int target;
  final AtomicInteger connections = new AtomicInteger();

  /** So many of the next answers get lost, each with its connection, after the server has acted. */
  final AtomicInteger loseAnswers = new AtomicInteger();

  /**
   * So many of the next requests get lost, each with its connection, before the server sees them.
   */
  final AtomicInteger loseRequests = new AtomicInteger();

  /** After how many bytes of answers a new connection breaks; never, if null. */
  volatile IntSupplier cutAfter;

  Proxy(int target) {
    this.target = target;
    try {
      listener = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    thread(this::accept);
  }

  String url() {
    return "http://127.0.0.1:" + listener.getLocalPort();
  }

  private interface Job {
    void run() throws IOException;
  }

  private static void thread(Job job) {
    Thread thread =
        new Thread(
            () -> {
              try {
                job.run();
              } catch (IOException closed) {
                // One of the ends is gone, and so is the other.
              }
            });
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() throws IOException {
    while (true) {
      Socket client = listener.accept();
      connections.incrementAndGet();
      Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
      int cut = cutAfter == null ? Integer.MAX_VALUE : cutAfter.getAsInt();
      thread(() -> pump(client, server, loseRequests, Integer.MAX_VALUE));
      thread(() -> pump(server, client, loseAnswers, cut));
    }
  }

  private static void pump(Socket from, Socket to, AtomicInteger lose, int cut) throws IOException {
    byte[] buffer = new byte[65536];
    int left = cut;
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
        if (lose.getAndUpdate(count -> Math.max(0, count - 1)) > 0) {
          return;
        }
        out.write(buffer, 0, Math.min(length, left));
        out.flush();
        left -= length;
        if (left <= 0) {
          return;
        }
      }
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }
}
