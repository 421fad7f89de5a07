package cafe;

import com.google.adk.models.BaseLlm;
import com.google.adk.models.BaseLlmConnection;
import com.google.adk.models.LlmRequest;
import com.google.adk.models.LlmResponse;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import io.reactivex.rxjava3.core.Flowable;
import java.util.List;
import java.util.function.BiFunction;

/** Answers by a rule, from the instruction and from the last thing that it was told. */
final class ScriptedModel extends BaseLlm {
  private final BiFunction<String, Part, Part> rule;

  ScriptedModel(BiFunction<String, Part, Part> rule) {
    super("scripted");
    this.rule = rule;
  }

  @Override
  public Flowable<LlmResponse> generateContent(LlmRequest request, boolean stream) {
    String instruction = String.join("\n", request.getSystemInstructions());
    List<Content> contents = request.contents();
    List<Part> told = contents.get(contents.size() - 1).parts().orElse(List.of());
    Part last = told.isEmpty() ? Part.fromText("") : told.get(told.size() - 1);
    Content said =
        Content.builder().role("model").parts(rule.apply(instruction, last)).build();
    return Flowable.just(LlmResponse.builder().content(said).build());
  }

  @Override
  public BaseLlmConnection connect(LlmRequest request) {
    throw new UnsupportedOperationException("This model has no live connection.");
  }
}
