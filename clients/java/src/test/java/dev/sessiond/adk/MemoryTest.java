package dev.sessiond.adk;

import static dev.sessiond.adk.ScriptedModel.call;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.agents.LlmAgent;
import com.google.adk.events.Event;
import com.google.adk.memory.MemoryEntry;
import com.google.adk.runner.Runner;
import com.google.adk.sessions.BaseSessionService;
import com.google.adk.sessions.InMemorySessionService;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.adk.tools.LoadMemoryTool;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What agents remember. */
class MemoryTest extends SessionTest {
  private final SessiondMemoryService memory = service.memory();

  @BeforeEach
  void switchOn() {
    var said = server.ask("PUT", "/apps/" + app + "/policy", "{\"search\":{\"index\":true}}");
    assertEquals(200, said.statusCode(), said.body());
  }

  private Session session(BaseSessionService of, String user, String id) {
    return of.createSession(app, user, Map.of(), id).blockingGet();
  }

  private static Event say(BaseSessionService to, Session session, String author, Part... parts) {
    Content content = Content.builder().role("user").parts(parts).build();
    Event said = Events.event().author(author).content(content).build();
    return to.appendEvent(session, said).blockingGet();
  }

  private List<String> remembered(String query) {
    return memory.searchMemory(app, "ada", query).blockingGet().memories().stream()
        .map(entry -> entry.author() + ": " + entry.content().text())
        .toList();
  }

  @Test
  void whatWasSaidIsRemembered() {
    Session session = session(service, "ada", "s");
    Event first = say(service, session, "user", Part.fromText("My favourite tea is Sencha."));
    Part thought = Part.builder().text("a plan").thought(true).build();
    say(service, session, "waiter", thought, Part.fromText("Noted: SENCHA"));
    say(service, session(service, "bob", "s"), "user", Part.fromText("sencha is mine"));
    var both = List.of("user: My favourite tea is Sencha.", "waiter: Noted: SENCHA");
    assertEquals(both, remembered("my sencha?"));
    assertEquals(List.of(), remembered("plan Sench"));
    MemoryEntry entry =
        memory.searchMemory(app, "ada", "favourite").blockingGet().memories().get(0);
    assertEquals(Instant.ofEpochMilli(first.timestamp()).toString(), entry.timestamp());

    Hits found = service.search(app, "ada", "favourite sencha", 1).blockingGet();
    assertTrue(found.complete());
    assertEquals(1, found.hits().size());
    assertEquals("s", found.hits().get(0).sessionId());
    assertEquals(first.id(), found.hits().get(0).event().id());
    assertTrue(found.hits().get(0).score() > 0);
    service.deleteSession(app, "ada", "s").blockingAwait();
    assertEquals(List.of(), remembered("my sencha?"));
  }

  @Test
  void whatHasNoWordsFindsNothingAndTheQuestionIsNoMemory() {
    Session session = session(service, "ada", "s");
    for (int n = 0; n < 12; n++) {
      say(service, session, "user", Part.fromText("tea " + n));
    }
    for (String query : List.of("", " ", "?!")) {
      assertEquals(List.of(), remembered(query));
    }
    assertEquals(10, remembered("tea").size());
    assertEquals("user: tea 11", remembered("tea").get(0));
    assertEquals(10, remembered("tea ä ".repeat(100_000)).size());
    assertTrue(!remembered(" tea  3").contains("user: tea 3"));
    var refused = refused(() -> service.search(app, "ada", "?!", 5).blockingGet());
    assertEquals(422, refused.status());
  }

  @Test
  void anAppWithoutAnIndexSaysHowItGetsOne() {
    var off = refused(() -> memory.searchMemory(Server.app(), "ada", "tea").blockingGet());
    assertEquals("search_off", off.code().orElseThrow());
    assertTrue(off.getMessage().contains("/policy"), off.getMessage());
  }

  @Test
  void aSessionOfSessiondIsOnlyLookedAt() {
    Session session = session(service, "ada", "s");
    say(service, session, "user", Part.fromText("black tea"));
    memory.addSessionToMemory(session).blockingAwait();
    assertEquals(List.of("user: black tea"), remembered("black"));
    String memories = Server.session(app, "ada", "memories");
    assertEquals(404, server.ask("GET", memories, null).statusCode());
    service.deleteSession(app, "ada", "s").blockingAwait();
    assertThrows(
        SessionNotFoundException.class, () -> memory.addSessionToMemory(session).blockingAwait());
  }

  @Test
  void sessionsOfElsewhereAreKeptOnce() {
    var elsewhere = new InMemorySessionService();
    Session session = session(elsewhere, "ada", "far");
    say(elsewhere, session, "user", Part.fromText("oolong tea"));
    say(elsewhere, session, "waiter", call("tea", Map.of()));
    memory.addSessionToMemory(session).blockingAwait();
    say(elsewhere, session, "waiter", Part.fromText("assam tea"));
    memory
        .addSessionToMemory(session)
        .mergeWith(memory.addSessionToMemory(session))
        .blockingAwait();
    assertEquals(List.of("waiter: assam tea", "user: oolong tea"), remembered("which tea"));
  }

  @Test
  void agentsLookItUp() {
    say(service, session(service, "ada", "monday"), "user", Part.fromText("I like sencha"));
    session(service, "ada", "tuesday");
    var model =
        new ScriptedModel(call("loadMemory", Map.of("query", "sencha")))
            .then(request -> Part.fromText(request.contents().toString()));
    var waiter = LlmAgent.builder().name("waiter").model(model).tools(new LoadMemoryTool()).build();
    var runner =
        Runner.builder()
            .agent(waiter)
            .appName(app)
            .sessionService(service)
            .memoryService(memory)
            .build();
    var hello = Content.fromParts(Part.fromText("What do I drink?"));
    List<Event> said = run(runner.runAsync("ada", "tuesday", hello));
    assertTrue(said.get(said.size() - 1).stringifyContent().contains("I like sencha"));
  }
}
