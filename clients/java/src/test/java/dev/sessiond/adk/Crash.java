package dev.sessiond.adk;

import com.google.adk.agents.LlmAgent;
import com.google.adk.runner.Runner;
import com.google.adk.sessions.SessionKey;
import com.google.adk.tools.Annotations.Schema;
import com.google.adk.tools.FunctionTool;
import com.google.adk.tools.ToolContext;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import java.util.List;
import java.util.Map;

/** An agent that dies in a tool, or does not: {@code Crash APP SESSION WHERE}. */
public final class Crash {
  private static String where;

  private Crash() {}

  public static Map<String, Object> order(@Schema(name = "toolContext") ToolContext toolContext) {
    Number number = Ops.once("number of tea").increment(toolContext, "app:orders", 1).blockingGet();
    if (where.equals("in the middle")) {
      Runtime.getRuntime().halt(9);
    }
    List<?> items = Ops.once("items of tea").append(toolContext, "user:items", "tea").blockingGet();
    if (where.equals("at the end")) {
      Runtime.getRuntime().halt(9);
    }
    System.out.println("made: " + number + " " + items);
    return Map.of("number", number);
  }

  public static void main(String[] arguments) {
    where = arguments[2];
    var service = SessiondSessionService.builder().url(System.getenv("SESSIOND_URL")).build();
    var waiter =
        LlmAgent.builder()
            .name("waiter")
            .model(new ScriptedModel(ScriptedModel.call("order", Map.of()), Part.fromText("Done.")))
            .tools(FunctionTool.create(Crash.class, "order"))
            .build();
    var runner =
        Runner.builder().agent(waiter).appName(arguments[0]).sessionService(service).build();
    runner
        .runAsync(
            new SessionKey(arguments[0], "ada", arguments[1]),
            Content.fromParts(Part.fromText("Tea, please.")))
        .blockingSubscribe();
    System.exit(0);
  }
}
