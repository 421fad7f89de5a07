package dev.sessiond.adk;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;

/** A network that loses things: stands between a client and a server. */
final class Proxy implements AutoCloseable {
  private final ServerSocket listener;
  private final int target;

  /** So many of the next answers get lost, each with its connection, after the server has acted. */
  final AtomicInteger loseAnswers = new AtomicInteger();

  /**
   * So many of the next requests get lost, each with its connection, before the server sees them.
   */
  final AtomicInteger loseRequests = new AtomicInteger();

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
      Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
      thread(() -> pump(client, server, loseRequests));
      thread(() -> pump(server, client, loseAnswers));
    }
  }

  private static void pump(Socket from, Socket to, AtomicInteger lose) throws IOException {
    byte[] buffer = new byte[65536];
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
        if (lose.getAndUpdate(count -> Math.max(0, count - 1)) > 0) {
          return;
        }
        out.write(buffer, 0, length);
        out.flush();
      }
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }
}
