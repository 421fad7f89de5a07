package dev.sessiond.adk;

import com.google.adk.artifacts.BaseArtifactService;
import com.google.adk.artifacts.ListArtifactsResponse;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.common.collect.ImmutableList;
import com.google.genai.types.Blob;
import com.google.genai.types.FileData;
import com.google.genai.types.Part;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;

/**
 * Keeps the files of ADK agents in sessiond, beside their sessions; see {@link
 * SessiondSessionService#artifacts()}.
 *
 * <p>What it guarantees, beyond what ADK asks of an artifact service:
 *
 * <ul>
 *   <li>When {@link #saveArtifact} succeeds, the whole file is on disk, and every later read
 *       through any process shows it. If it fails, no part of it is there, or it is unknown whether
 *       all of it is ({@link SessiondException#outcome()}).
 *   <li>Versions of a file count 0, 1, 2, … without a gap, whoever saves at the same time, and a
 *       version never changes. Those that were deleted are not used again.
 *   <li>A file goes with its session, which must exist, or with its user if its name begins with
 *       {@code user:} or the id of the session is blank.
 * </ul>
 *
 * <p>A file may have any name, also with slashes, of up to 256 bytes. Bytes travel as they are, and
 * are in memory as a whole, as in ADK's parts; of a part, its text, its file data, or its inline
 * data are kept.
 *
 * <p>An instance is safe to use from all threads. Nothing is sent before the returned type is
 * subscribed to. Requests run on {@link Schedulers#io()}, whose threads also bring the results.
 * Failures are a {@link SessiondException}, or ADK's {@link SessionNotFoundException}.
 */
public final class SessiondArtifactService implements BaseArtifactService {
  private static final String USER = "user:";

  /** Says whether what was read is bytes or a text. */
  private static final String KIND = "Sessiond-Artifact-Kind";

  /** The name for people of what was read, percent-encoded. */
  private static final String NAME = "Sessiond-Artifact-Display-Name";

  private final Http http;

  SessiondArtifactService(Http http) {
    this.http = http;
  }

  /**
   * Saves a version of a file, once, also if the first answer gets lost, or by a second
   * subscription. The log of the session is not changed: ADK's runner appends the event that names
   * the version.
   *
   * @return the number of the version; fails with {@link SessionNotFoundException}, or with {@link
   *     IllegalArgumentException} if the part has nothing to save
   */
  @Override
  public Single<Integer> saveArtifact(
      String appName, String userId, String sessionId, String filename, Part artifact) {
    String place = place(appName, userId, sessionId, Http.named(Http.FILE, filename));
    Objects.requireNonNull(artifact, "artifact");
    // A user has no log.
    Map<String, String> event = ofUser(sessionId, filename) ? Map.of() : Map.of("event", "none");
    // By which sessiond knows what an attempt before has saved.
    Map<String, String> headers = Map.of("Idempotency-Key", UUID.randomUUID().toString());
    return Blocking.io(
        () -> {
          Http.Call call = Http.Call.of("POST", place);
          if (artifact.inlineData().isPresent()) {
            Blob blob = artifact.inlineData().get();
            var payload =
                new Http.Payload(
                    blob.data().orElseThrow(SessiondArtifactService::empty), type(blob));
            Map<String, String> query = new LinkedHashMap<>(event);
            blob.displayName().ifPresent(name -> query.put("displayName", name));
            String file = place + Http.path(Http.FILE, filename);
            call = Http.Call.of("PUT", file).query(query).body(payload);
          } else {
            Map<String, Object> body = new LinkedHashMap<>(event);
            body.put("name", filename);
            body.put("part", written(artifact));
            call = call.body(body);
          }
          Http.Reply reply = http.send(call.headers(headers));
          if (reply.code().equals("session_not_found")) {
            throw Reads.notFound(sessionId, reply);
          }
          return Math.toIntExact(Json.number(reply.success(), "version"));
        });
  }

  /**
   * Returns a version of a file, as it was saved.
   *
   * @param version the number of the version; null is the latest
   * @return the version; empty if there is none
   */
  @Override
  public Maybe<Part> loadArtifact(
      String appName, String userId, String sessionId, String filename, Integer version) {
    String file = file(appName, userId, sessionId, filename);
    if (version != null && version < 0) {
      return Maybe.empty();
    }
    Map<String, String> query = version == null ? Map.of() : Map.of("version", version.toString());
    return Blocking.io(() -> Optional.ofNullable(load(file, query)))
        .flatMapMaybe(found -> found.map(Maybe::just).orElseGet(Maybe::empty));
  }

  /**
   * Returns the names of the files of a session and of its user.
   *
   * @return in the order of their bytes; what changes meanwhile may or may not be seen
   */
  @Override
  public Single<ListArtifactsResponse> listArtifactKeys(
      String appName, String userId, String sessionId) {
    String place = place(appName, userId, sessionId, "");
    String users = place(appName, userId, "", "");
    return Blocking.io(
        () -> {
          // Without a session there are still those of the user.
          List<Map<String, Object>> found =
              all(place, "artifacts").or(() -> all(users, "artifacts")).orElse(List.of());
          List<String> names = found.stream().map(one -> Json.text(one, "name")).toList();
          return ListArtifactsResponse.builder().filenames(ImmutableList.copyOf(names)).build();
        });
  }

  /** Deletes all versions of a file, if there is one. Their numbers are not used again. */
  @Override
  public Completable deleteArtifact(
      String appName, String userId, String sessionId, String filename) {
    String file = file(appName, userId, sessionId, filename);
    return Blocking.io(() -> found(http.send(Http.Call.of("DELETE", file)))).ignoreElement();
  }

  /**
   * Returns the numbers of the versions of a file.
   *
   * @return in ascending order; none if there is no such file
   */
  @Override
  public Single<ImmutableList<Integer>> listVersions(
      String appName, String userId, String sessionId, String filename) {
    String path = file(appName, userId, sessionId, filename) + "/versions";
    return Blocking.io(
        () ->
            all(path, "versions").orElse(List.of()).stream()
                .map(one -> Math.toIntExact(Json.number(one, "version")))
                .collect(ImmutableList.toImmutableList()));
  }

  /** Returns a version; null if there is none. */
  private Part load(String file, Map<String, String> query) {
    Http.Reply reply = http.send(Http.Call.of("GET", file).query(query).forBytes());
    if (reply.status() == 422) {
      // Of file data there are no bytes.
      Map<String, String> asPart = new LinkedHashMap<>(query);
      asPart.put("as", "part");
      return found(http.send(Http.Call.of("GET", file).query(asPart)))
          .map(part -> Json.MAPPER.convertValue(part, Part.class))
          .orElse(null);
    }
    Optional<String> kind = reply.headers().firstValue(KIND);
    if (reply.status() != 200 || kind.isEmpty()) {
      found(reply);
      return null;
    }
    if (kind.get().equals("text")) {
      return Part.fromText(new String(reply.bytes(), StandardCharsets.UTF_8));
    }
    String type = reply.headers().firstValue("Content-Type").orElse("application/octet-stream");
    Blob.Builder blob = Blob.builder().data(reply.bytes()).mimeType(type);
    // A plus is a plus: what is decoded is no form.
    reply
        .headers()
        .firstValue(NAME)
        .map(name -> URLDecoder.decode(name.replace("+", "%2B"), StandardCharsets.UTF_8))
        .ifPresent(blob::displayName);
    return Part.builder().inlineData(blob.build()).build();
  }

  /** Returns all of a list; empty if there is no such session or file. */
  private Optional<List<Map<String, Object>>> all(String path, String field) {
    Map<String, String> query = new LinkedHashMap<>();
    query.put("pageSize", "1000");
    List<Map<String, Object>> all = new ArrayList<>();
    while (true) {
      Optional<Map<String, Object>> page = found(http.send(Http.Call.of("GET", path).query(query)));
      if (page.isEmpty()) {
        return Optional.empty();
      }
      Json.list(page.get().get(field)).forEach(one -> all.add(Json.object(one)));
      String next = Json.text(page.get(), "nextPageToken");
      if (next == null) {
        return Optional.of(all);
      }
      query.put("pageToken", next);
    }
  }

  /** Returns the body of a success; empty if there is no such session or file. */
  private static Optional<Map<String, Object>> found(Http.Reply reply) {
    boolean absent =
        reply.code().equals("session_not_found") || reply.code().equals("artifact_not_found");
    return absent ? Optional.empty() : Optional.of(reply.success());
  }

  private static String type(Blob blob) {
    return blob.mimeType().filter(type -> !type.isEmpty()).orElse(null);
  }

  /** Returns a part that has no bytes as sessiond takes it. */
  private static Map<String, Object> written(Part part) {
    if (part.fileData().isEmpty()) {
      return Map.of("text", part.text().orElseThrow(SessiondArtifactService::empty));
    }
    FileData data = part.fileData().get();
    Map<String, Object> fields = new LinkedHashMap<>();
    data.fileUri().ifPresent(uri -> fields.put("fileUri", uri));
    data.mimeType().ifPresent(type -> fields.put("mimeType", type));
    data.displayName().ifPresent(name -> fields.put("displayName", name));
    return Map.of("fileData", fields);
  }

  private static IllegalArgumentException empty() {
    return new IllegalArgumentException("An artifact has inline data, a text or file data.");
  }

  private static boolean ofUser(String sessionId, String filename) {
    return filename.startsWith(USER) || (sessionId != null && Http.trimmed(sessionId).isEmpty());
  }

  /** The path of the files of a session; of those of its user for a name that is one of theirs. */
  private static String place(String appName, String userId, String sessionId, String filename) {
    String user = Paths.user(appName, userId);
    return (ofUser(sessionId, filename) ? user : Paths.session(user, sessionId)) + "/artifacts";
  }

  private static String file(String appName, String userId, String sessionId, String filename) {
    String name = Http.path(Http.FILE, filename);
    return place(appName, userId, sessionId, filename) + name;
  }
}
