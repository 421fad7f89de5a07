package dev.sessiond.adk;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A server that answers each connection with the next of the answers it is given, and then closes
 * it; the last one is given for ever. One that is {@link #SILENCE} never comes.
 */
final class Script implements AutoCloseable {
  static final String SILENCE = "";

  private final ServerSocket listener;
  private final List<String> answers;
  private final List<Socket> open = Collections.synchronizedList(new ArrayList<>());

  /** The requests, head and body. */
  final List<String> requests = Collections.synchronizedList(new ArrayList<>());

  Script(String... answers) {
    this.answers = new ArrayList<>(List.of(answers));
    try {
      listener = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    Thread thread = new Thread(this::accept);
    thread.setDaemon(true);
    thread.start();
  }

  String url() {
    return "http://127.0.0.1:" + listener.getLocalPort();
  }

  /** An answer with a body of JSON. */
  static String json(int status, String body, String... headers) {
    return "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n%s"
        .formatted(
            status,
            body.getBytes(StandardCharsets.UTF_8).length,
            String.join("", List.of(headers).stream().map(line -> line + "\r\n").toList()),
            body);
  }

  private void accept() {
    try {
      while (true) {
        Socket client = listener.accept();
        open.add(client);
        requests.add(request(client.getInputStream()));
        String answer = answers.size() > 1 ? answers.remove(0) : answers.get(0);
        if (answer.isEmpty()) {
          continue;
        }
        client.getOutputStream().write(answer.getBytes(StandardCharsets.UTF_8));
        client.close();
      }
    } catch (IOException closed) {
      // The test is over.
    }
  }

  private static String request(InputStream in) throws IOException {
    StringBuilder read = new StringBuilder();
    int end = -1;
    int length = 0;
    while (end < 0 || read.length() < end + length) {
      int unit = in.read();
      if (unit < 0) {
        break;
      }
      read.append((char) unit);
      if (end < 0 && read.length() >= 4 && read.substring(read.length() - 4).equals("\r\n\r\n")) {
        end = read.length();
        for (String line : read.toString().split("\r\n")) {
          if (line.toLowerCase(java.util.Locale.ROOT).startsWith("content-length:")) {
            length = Integer.parseInt(line.substring(15).strip());
          }
        }
      }
    }
    return read.toString();
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket socket : List.copyOf(open)) {
      socket.close();
    }
  }
}
