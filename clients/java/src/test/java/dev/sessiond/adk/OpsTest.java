package dev.sessiond.adk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.sessions.Session;
import com.google.adk.sessions.State;
import io.reactivex.rxjava3.core.Single;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Operators of programs that have a session; those of tools are in RunnerTest. */
class OpsTest extends SessionTest {

  private Map<String, Object> apply(Session session, Op... ops) {
    return service.applyOps(session, List.of(ops), List.of(), "agent", "inv").blockingGet();
  }

  @Test
  void eachOperatorDoesWhatItSays() {
    Session session = create(Map.of("n", 5, "list", List.of(1), "gone", 1, "o", Map.of("a", 1)));
    Map<String, Object> values =
        apply(
            session,
            Op.increment("app:n", 2),
            Op.append("list", List.of(2, 2)),
            Op.union("list", List.of(2, 3)),
            Op.remove("gone"),
            Op.set("user:name", "Ada"),
            Op.max("n", 7),
            Op.min("n", 6),
            Op.merge("o", Map.of("b", 2)));
    Map<String, Object> expected =
        Map.of(
            "app:n",
            2,
            "list",
            List.of(1, 2, 2, 3),
            "user:name",
            "Ada",
            "n",
            6,
            "o",
            Map.of("a", 1, "b", 2));
    assertEquals(expected, values);
    assertEquals(expected, session.state());
    Session stored = load();
    assertEquals(expected, stored.state());
    assertEquals(1, stored.events().size());
    assertEquals("agent", stored.events().get(0).author());
    assertEquals("inv", stored.events().get(0).invocationId());
    assertEquals(stored.events().get(0).id(), session.events().get(0).id());
    assertEquals(stored.lastUpdateTime(), session.lastUpdateTime());
    assertEquals(State.REMOVED, session.events().get(0).actions().stateDelta().get("gone"));
  }

  @Test
  void countsAreExact() {
    Session session = create(Map.of("n", BigInteger.TWO.pow(70)));
    assertEquals(
        BigInteger.TWO.pow(70).add(BigInteger.ONE), apply(session, Op.increment("n", 1)).get("n"));
  }

  @Test
  void noneOfManyIsLost() {
    Session session = create();
    Single<Map<String, Object>> one =
        Single.defer(
            () ->
                service.applyOps(
                    session, List.of(Op.increment("app:n", 1)), List.of(), "agent", ""));
    Single.mergeDelayError(Collections.nCopies(20, one)).ignoreElements().blockingAwait();
    assertEquals(20, load().state().get("app:n"));
    assertEquals(20, session.state().get("app:n"));
  }

  @Test
  void aSecondSubscriptionAppliesNothingAgain() {
    Session session = create();
    var increment =
        service.applyOps(session, List.of(Op.increment("n", 1)), List.of(), "agent", "");
    assertEquals(Map.of("n", 1), increment.blockingGet());
    assertEquals(Map.of("n", 1), increment.blockingGet());
    assertEquals(1, session.events().size());
    assertEquals(Map.of("n", 1), load().state());
  }

  @Test
  void anOperatorThatDoesNotFitChangesNothing() {
    Session session = create(Map.of("text", "x"));
    var error = refused(() -> apply(session, Op.increment("n", 1), Op.increment("text", 1)));
    assertEquals("invalid_argument", error.code().orElseThrow());
    assertTrue(error.getMessage().contains("text"), error.getMessage());
    assertEquals(Map.of("text", "x"), session.state());
    assertFalse(load().state().containsKey("n"));
  }

  @Test
  void whatMustHoldIsAskedFirst() {
    Session session = create(Map.of("n", 1, "app:open", true));
    Precondition[] held = {
      Precondition.exists("n", true),
      Precondition.exists("none", false),
      Precondition.isValue("app:open", true),
      Precondition.unchanged("n", 0),
    };
    applyIf(session, Op.increment("n", 1), held);
    assertEquals(2, session.state().get("n"));
    for (Precondition broken :
        List.of(
            Precondition.exists("n", false),
            Precondition.exists("none", true),
            Precondition.isValue("n", 3),
            Precondition.unchanged("n", 0))) {
      stale(() -> applyIf(session, Op.increment("n", 1), broken));
    }
    assertEquals(2, load().state().get("n"));
    assertEquals(1, load().events().size());
  }

  private void applyIf(Session session, Op op, Precondition... conditions) {
    service
        .applyOps(session, List.of(op), List.of(conditions), "agent", "inv")
        .ignoreElement()
        .blockingAwait();
  }

  @Test
  void aChangeThatHasAnIdIsMadeOnce() {
    Session session = create(Map.of("n", 1));
    List<Op> add = List.of(Op.increment("n", 1), Op.remove("gone"));
    List<Precondition> atOne = List.of(Precondition.isValue("n", 1));
    assertEquals(Map.of("n", 2), once(session, add, atOne, "user", ""));
    apply(session, Op.set("n", 10));
    // Of the same agent, of another one, in another invocation, through another object; the
    // precondition held then.
    Session other = load();
    assertEquals(Map.of("n", 2), once(session, add, atOne, "user", ""));
    assertEquals(Map.of("n", 2), once(session, add, atOne, "agent", "i2"));
    assertEquals(Map.of("n", 2), once(other, add, atOne, "agent", "i3"));
    for (Session each : List.of(session, other, load())) {
      assertEquals(Map.of("n", 10), each.state());
      assertEquals(2, each.events().size());
    }
    // Another change of the same id is none of ours.
    List<Op> two = List.of(Op.increment("n", 2));
    var error = refused(() -> once(session, two, List.of(), "user", ""));
    assertEquals("event_id_conflict", error.code().orElseThrow());
    assertEquals(10, load().state().get("n"));
  }

  private Map<String, Object> once(
      Session session, List<Op> ops, List<Precondition> held, String author, String invocation) {
    return service.applyOps(session, ops, held, author, invocation, "order 17").blockingGet();
  }

  @Test
  void aToolThatDiesAndRunsAgainChangesEachThingOnce() throws Exception {
    Session session = create();
    String made = "made: 1 [tea]";
    var runs =
        List.of(
            Map.entry("in the middle", ""),
            Map.entry("at the end", ""),
            Map.entry("nowhere", made),
            Map.entry("nowhere", made));
    for (var run : runs) {
      List<String> command = new ArrayList<>();
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp"));
      command.add(System.getProperty("java.class.path"));
      command.add(Crash.class.getName());
      command.addAll(List.of(session.appName(), session.id(), run.getKey()));
      var builder = new ProcessBuilder(command);
      builder.redirectError(ProcessBuilder.Redirect.DISCARD);
      builder.environment().put("SESSIOND_URL", Server.shared().url());
      Process process = builder.start();
      String printed = new String(process.getInputStream().readAllBytes(), UTF_8);
      assertEquals(run.getValue().isEmpty() ? 9 : 0, process.waitFor(), run.getKey());
      assertTrue(printed.contains(run.getValue()), printed);
    }
    assertEquals(Map.of("app:orders", 1, "user:items", List.of("tea")), load().state());
  }
}
