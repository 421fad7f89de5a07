package dev.sessiond.adk;

import static dev.sessiond.adk.ScriptedModel.call;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.agents.LlmAgent;
import com.google.adk.agents.RunConfig;
import com.google.adk.agents.SequentialAgent;
import com.google.adk.events.Event;
import com.google.adk.runner.Runner;
import com.google.adk.sessions.InMemorySessionService;
import com.google.adk.sessions.Session;
import com.google.adk.tools.Annotations.Schema;
import com.google.adk.tools.FunctionTool;
import com.google.adk.tools.ToolContext;
import com.google.genai.types.Part;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** ADK's own runner, with a scripted model. */
class RunnerTest extends SessionTest {

  /** Tools of the tests. */
  public static final class Tools {
    private Tools() {}

    public static Single<Map<String, Object>> order(
        @Schema(name = "item") String item, @Schema(name = "toolContext") ToolContext toolContext) {
      toolContext.state().put("item", item);
      return Ops.increment(toolContext, "app:orders", 1)
          .flatMap(
              number ->
                  Ops.append(toolContext, "user:items", item)
                      .map(items -> Map.of("number", number, "items", items)));
    }

    public static Map<String, Object> clean(@Schema(name = "toolContext") ToolContext toolContext) {
      Ops.union(toolContext, "user:items", "cup", "cup").blockingGet();
      Ops.remove(toolContext, "item").blockingAwait();
      Map<String, Object> both =
          Ops.apply(toolContext, List.of(Op.increment("a", 1), Op.max("b", 5))).blockingGet();
      toolContext.state().remove("gone");
      return both;
    }
  }

  private Runner runner(SessiondSessionService sessions, com.google.adk.agents.BaseAgent agent) {
    return Runner.builder()
        .agent(agent)
        .appName(app)
        .sessionService(sessions)
        .plugins(sessions.turns())
        .build();
  }

  private static LlmAgent.Builder agent(String name, ScriptedModel model) {
    return LlmAgent.builder().name(name).model(model).instruction("Do.");
  }

  @Test
  void aRunIsStoredAndTheNextProcessGoesOn() {
    create();
    var model = new ScriptedModel(Part.fromText("first")).then(r -> Part.fromText("second"));
    List<Event> said =
        run(
            runner(service, agent("a", model).outputKey("answer").build())
                .runAsync("ada", "s", HELLO));
    Session stored = load();
    assertEquals(List.of("user", "a"), stored.events().stream().map(Event::author).toList());
    assertEquals(ids(said), ids(stored.events().subList(1, 2)));
    assertEquals(Map.of("answer", "first"), stored.state());

    var other = server.client().build();
    run(runner(other, agent("a", model).build()).runAsync("ada", "s", HELLO));
    // The model saw what the first process had stored.
    assertEquals(3, model.requests.get(1).contents().size());
    assertEquals(4, load().events().size());
  }

  @Test
  void toolsReachTheOperators() {
    create(Map.of("gone", 1));
    var model =
        new ScriptedModel(
            call("order", Map.of("item", "tea")),
            call("order", Map.of("item", "cake")),
            call("clean", Map.of()),
            Part.fromText("done"));
    var tools =
        List.of(
            FunctionTool.create(Tools.class, "order"), FunctionTool.create(Tools.class, "clean"));
    run(runner(service, agent("a", model).tools(tools).build()).runAsync("ada", "s", HELLO));
    Session stored = load();
    assertEquals(
        Map.of("app:orders", 2, "user:items", List.of("tea", "cake", "cup"), "a", 1, "b", 5),
        stored.state());
    List<Map<String, Object>> answers = new ArrayList<>();
    for (Event event : stored.events()) {
      event.functionResponses().forEach(said -> answers.add(said.response().orElseThrow()));
    }
    assertEquals(Map.of("number", 2, "items", List.of("tea", "cake")), answers.get(1));
    // Each is an event of its own, by the agent, of the invocation.
    assertEquals(1, stored.events().stream().map(Event::invocationId).distinct().count());
    assertEquals(15, stored.events().size());
  }

  @Test
  void agentsInARowShareTempStateWhichIsNotStored() {
    create();
    // Each counts on what those before it did, also with a tool.
    var first = new ScriptedModel(call("order", Map.of("item", "tea")), Part.fromText("made"));
    var row = SequentialAgent.builder().name("row");
    var agents = new ArrayList<LlmAgent>();
    agents.add(
        agent("one", first)
            .tools(FunctionTool.create(Tools.class, "order"))
            .outputKey("temp:k0")
            .build());
    for (int i = 0; i < 5; i++) {
      var model =
          new ScriptedModel()
              .then(request -> Part.fromText(request.getFirstSystemInstruction().orElseThrow()));
      agents.add(
          agent("next" + i, model)
              .instruction("<{item} {temp:k" + i + "}>")
              .outputKey(i == 4 ? "seen" : "temp:k" + (i + 1))
              .build());
    }
    run(runner(service, row.subAgents(agents).build()).runAsync("ada", "s", HELLO));
    assertTrue(load().state().get("seen").toString().contains("<tea made>"));
    assertEquals(Set.of("item", "seen", "app:orders", "user:items"), load().state().keySet());
  }

  @Test
  void partialEventsOfAStreamAreNotStored() {
    create();
    var config = RunConfig.builder().streamingMode(RunConfig.StreamingMode.SSE).build();
    var model = new ScriptedModel(Part.fromText("whole"));
    List<Event> said =
        run(runner(service, agent("a", model).build()).runAsync("ada", "s", HELLO, config));
    assertEquals(2, said.size());
    assertEquals(
        List.of("hello", "whole"), load().events().stream().map(Event::stringifyContent).toList());
  }

  @Test
  void theStateOfACallIsStored() {
    create(Map.of("user:name", "?"));
    var model = new ScriptedModel(Part.fromText("hi"));
    run(
        runner(service, agent("a", model).build())
            .runAsync(
                "ada",
                "s",
                HELLO,
                RunConfig.builder().build(),
                Map.of("user:name", "Ada", "n", 1)));
    assertEquals(Map.of("user:name", "Ada", "n", 1), load().state());
  }

  @Test
  void aSessionThatIsMissingCanBeCreated() {
    var config = RunConfig.builder().autoCreateSession(true).build();
    var model = new ScriptedModel(Part.fromText("hi"));
    run(runner(service, agent("a", model).build()).runAsync("ada", "s", HELLO, config));
    assertEquals(2, load().events().size());
  }

  @Test
  void aTurnEndsWithTheRunAndWithItsFailure() {
    var leasing = server.client().concurrency(Concurrency.LEASE).build();
    create();
    String lease = path + "/lease";
    var model =
        new ScriptedModel()
            .then(
                request -> {
                  assertTrue(server.get(lease).containsKey("owner"));
                  return Part.fromText("hi");
                })
            .then(
                request -> {
                  throw new IllegalStateException("the model fails");
                });
    Runner runner = runner(leasing, agent("a", model).build());
    run(runner.runAsync("ada", "s", HELLO));
    assertFalse(server.get(lease).containsKey("owner"));
    assertThrows(IllegalStateException.class, () -> run(runner.runAsync("ada", "s", HELLO)));
    Session third = load();
    // It is released soon: the framework does not wait for what hears of a failure.
    var waits =
        leasing
            .appendEvent(third, Events.event().invocationId("next").build())
            .subscribeOn(Schedulers.io());
    waits.timeout(60, TimeUnit.SECONDS).blockingGet();
    leasing.close();
    assertEquals(3, Json.number(server.get(lease), "epoch"));
  }

  @Test
  void operatorsNeedTheService() {
    var memory = new InMemorySessionService();
    Session session = memory.createSession(app, "ada").blockingGet();
    var context =
        ToolContext.builder(
                com.google.adk.agents.InvocationContext.builder()
                    .sessionService(memory)
                    .session(session)
                    .agent(agent("a", new ScriptedModel()).build())
                    .build())
            .build();
    var error =
        assertThrows(
            IllegalStateException.class, () -> Ops.increment(context, "n", 1).blockingGet());
    assertTrue(error.getMessage().contains("InMemorySessionService"));
  }
}
