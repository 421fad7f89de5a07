package dev.sessiond.adk;

import com.google.adk.models.BaseLlm;
import com.google.adk.models.BaseLlmConnection;
import com.google.adk.models.LlmRequest;
import com.google.adk.models.LlmResponse;
import com.google.genai.types.Content;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.Part;
import io.reactivex.rxjava3.core.Flowable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.function.Function;

/** A model that needs no network: answers with the next turn of its script. */
final class ScriptedModel extends BaseLlm {
  private final Queue<Function<LlmRequest, Part>> script = new ArrayDeque<>();
  final List<LlmRequest> requests = new ArrayList<>();

  ScriptedModel(Part... answers) {
    super("scripted");
    for (Part answer : answers) {
      then(request -> answer);
    }
  }

  ScriptedModel then(Function<LlmRequest, Part> turn) {
    script.add(turn);
    return this;
  }

  static Part call(String name, Map<String, Object> arguments) {
    return Part.builder()
        .functionCall(FunctionCall.builder().name(name).args(arguments).build())
        .build();
  }

  @Override
  public synchronized Flowable<LlmResponse> generateContent(LlmRequest request, boolean stream) {
    requests.add(request);
    Part said = script.remove().apply(request);
    LlmResponse whole = response(said).build();
    return stream && said.text().isPresent()
        ? Flowable.just(
            response(Part.fromText(said.text().get().substring(0, 1))).partial(true).build(), whole)
        : Flowable.just(whole);
  }

  private static LlmResponse.Builder response(Part part) {
    return LlmResponse.builder().content(Content.builder().role("model").parts(part).build());
  }

  @Override
  public BaseLlmConnection connect(LlmRequest request) {
    throw new UnsupportedOperationException();
  }
}
