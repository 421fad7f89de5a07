package cafe;

import com.google.adk.agents.BaseAgent;
import com.google.adk.agents.LlmAgent;
import com.google.adk.agents.SequentialAgent;
import com.google.adk.tools.Annotations.Schema;
import com.google.adk.tools.FunctionTool;
import com.google.adk.tools.ToolContext;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.Part;
import dev.sessiond.adk.Ops;
import io.reactivex.rxjava3.core.Single;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A café of three agents. Their model is scripted; a real one would be used in the same way. */
public final class Cafe {
  private Cafe() {}

  /** Takes an order. */
  public static Single<Map<String, Object>> takeOrder(
      @Schema(name = "drink") String drink,
      @Schema(name = "guest") String guest,
      @Schema(name = "toolContext") ToolContext toolContext) {
    toolContext.state().put("drink", drink); // of this session
    toolContext.state().put("user:name", guest); // of this user, in every session
    toolContext.state().put("user:usual", drink);
    // Of the app: of all users, who may order at the same time. Read, add one and put back would
    // lose orders.
    return Ops.increment(toolContext, "app:orders", 1).map(number -> Map.of("number", number));
  }

  private static Part waiterSays(String instruction, Part last) {
    if (last.functionResponse().isPresent()) {
      return Part.fromText("Coming.");
    }
    List<String> known = values(instruction);
    String said = last.text().orElse("");
    String guest = find("I am (\\w+)", said, known.get(0));
    String drink = find("[Aa] ([\\w ]+), please", said, known.get(1));
    Map<String, Object> arguments = Map.of("drink", drink, "guest", guest);
    return Part.builder()
        .functionCall(FunctionCall.builder().name("takeOrder").args(arguments).build())
        .build();
  }

  private static Part baristaSays(String instruction, Part last) {
    return Part.fromText("one %s, hot".formatted(values(instruction).get(0)));
  }

  private static Part serverSays(String instruction, Part last) {
    return Part.fromText("Order %s: %s, for %s.".formatted(values(instruction).toArray()));
  }

  /** Returns the values of state that ADK has put between angle brackets, for the scripts. */
  private static List<String> values(String instruction) {
    return Pattern.compile("<(.*?)>")
        .matcher(instruction)
        .results()
        .map(found -> found.group(1))
        .toList();
  }

  private static String find(String pattern, String text, String otherwise) {
    Matcher found = Pattern.compile(pattern).matcher(text);
    return found.find() ? found.group(1) : otherwise;
  }

  /** The waiter, the barista and the server, in a row. */
  public static BaseAgent agents() {
    LlmAgent waiter =
        LlmAgent.builder()
            .name("waiter")
            .instruction(
                "Take the order. The guest is <{user:name?}>, who usually has <{user:usual?}>.")
            .model(new ScriptedModel(Cafe::waiterSays))
            .tools(FunctionTool.create(Cafe.class, "takeOrder"))
            .build();
    LlmAgent barista =
        LlmAgent.builder()
            .name("barista")
            .instruction("Make <{drink}>.")
            .model(new ScriptedModel(Cafe::baristaSays))
            // From one agent to the next, and not stored.
            .outputKey("temp:made")
            .build();
    LlmAgent server =
        LlmAgent.builder()
            .name("server")
            .instruction("Serve order <{app:orders}>: <{temp:made}>, for <{user:name}>.")
            .model(new ScriptedModel(Cafe::serverSays))
            .outputKey("served")
            .build();
    return SequentialAgent.builder().name("cafe").subAgents(waiter, barista, server).build();
  }
}
