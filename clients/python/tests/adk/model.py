"""A model that needs no network."""

from collections.abc import AsyncGenerator, Callable

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

Said = str | types.Part | list[types.Part]


class ScriptedModel(BaseLlm):
    """Answers with the next turn of its script: a text, parts like function calls, or what a function returns."""

    model: str = "scripted"
    script: list[Said | Callable[[LlmRequest], Said]]
    requests: list[LlmRequest] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.requests.append(llm_request)
        turn = self.script.pop(0)
        said = turn(llm_request) if callable(turn) else turn
        if stream and isinstance(said, str):
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=said[:1])]), partial=True)
        parts = [types.Part(text=said)] if isinstance(said, str) else said if isinstance(said, list) else [said]
        # Copies, since ADK writes ids into function calls.
        copies = [part.model_copy(deep=True) for part in parts]
        yield LlmResponse(content=types.Content(role="model", parts=copies))


def call(name: str, /, **arguments: object) -> types.Part:
    """The model's wish to call a function."""
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


def text(content: types.Content | None) -> str:
    return "".join(part.text or "" for part in (content and content.parts) or ())


def instruction(request: LlmRequest) -> str:
    """The system instruction that a request has, as the model would see it."""
    said = request.config.system_instruction
    assert isinstance(said, str)
    return said
