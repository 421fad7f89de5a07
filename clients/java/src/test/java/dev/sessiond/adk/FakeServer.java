package dev.sessiond.adk;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The server of clients/wire, which answers as requests.json says, and judges. */
final class FakeServer implements AutoCloseable {
  private final Process process;

  final String url;

  /** Where nobody listens. */
  final String away;

  FakeServer() throws IOException {
    process =
        new ProcessBuilder("python3", "../wire/fake_server.py")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    var output = new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8);
    String[] urls = new BufferedReader(output).readLine().split(" ");
    url = urls[0];
    away = urls[1];
  }

  static Map<String, Object> cases() throws IOException {
    byte[] content = Files.readAllBytes(Path.of("../wire/requests.json"));
    return Json.object(Json.object(content).get("cases"));
  }

  /** Returns what is wrong with what a client did; a list of JSON, empty if nothing is. */
  String check(String name, Map<String, Object> did) throws InterruptedException {
    var body = BodyPublishers.ofByteArray(Json.bytes(did));
    var request = HttpRequest.newBuilder(URI.create(url + "/check/java/" + name)).POST(body);
    try {
      return HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofString()).body();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
  }
}
