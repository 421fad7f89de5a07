package pages;

import com.google.adk.agents.LlmAgent;
import com.google.adk.models.BaseLlm;
import com.google.adk.runner.Runner;
import com.google.adk.tools.Annotations.Schema;
import com.google.adk.tools.FunctionTool;
import com.google.adk.tools.ToolContext;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import dev.sessiond.adk.Ops;
import dev.sessiond.adk.SessiondSessionService;
import io.reactivex.rxjava3.core.Single;
import java.util.Map;

<<< docs/clients.md: public final class Cafe
