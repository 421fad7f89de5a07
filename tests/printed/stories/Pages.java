package pages;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.adk.agents.BaseAgent;
import com.google.adk.models.BaseLlm;
import com.google.adk.models.BaseLlmConnection;
import com.google.adk.models.LlmRequest;
import com.google.adk.models.LlmResponse;
import com.google.adk.runner.Runner;
import com.google.adk.tools.Annotations.Schema;
import com.google.adk.tools.ToolContext;
import com.google.genai.types.Content;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.Part;
import dev.sessiond.adk.Concurrency;
import dev.sessiond.adk.Ops;
import dev.sessiond.adk.WatchItem;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Single;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

<<< imports

/** The agent of docs/clients.md runs; the parts of the README are compiled. */
public class Pages {
  static class Scripted extends BaseLlm {
    Scripted() {
      super("scripted");
    }

    @Override
    public Flowable<LlmResponse> generateContent(LlmRequest request, boolean stream) {
      var last = request.contents().get(request.contents().size() - 1).parts().get().get(0);
      var call = FunctionCall.builder().name("takeOrder").args(Map.of("drink", "green tea")).build();
      var said =
          last.functionResponse().isPresent()
              ? Part.fromText("Coming.")
              : Part.builder().functionCall(call).build();
      var content = Content.builder().role("model").parts(said).build();
      return Flowable.just(LlmResponse.builder().content(content).build());
    }

    @Override
    public BaseLlmConnection connect(LlmRequest request) {
      throw new UnsupportedOperationException();
    }
  }

  public static void main(String[] args) {
    Cafe.run(new Scripted());
    System.exit(0);
  }

  static void first(BaseAgent agent) {
    <<< clients/java/README.md: var sessions = SessiondSessionService.builder().url("http://127.0.0.1:8080").build();
  }

  static String read(Path path) {
    try {
      return Files.readString(path, UTF_8);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  static void access(String url, String key) {
    <<< clients/java/README.md: tokenSupplier
  }

  static void turns(String url, BaseAgent agent) {
    <<< clients/java/README.md: Concurrency.LEASE
    <<< clients/java/README.md: WatchItem.EventItem
  }

  <<< clients/java/README.md: placeOrder

  <<< clients/java/README.md: writeReport
}
