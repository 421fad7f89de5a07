//! The models of google-adk 2.13.0, as `tests/adk_compare/shapes.py` writes them down.

use super::kinds::Presence::{Nullable, Present, Required};
use super::kinds::Shape::{Any, Base64, Bool, Either, Integer, List, Map, Number, Object as Of, ObjectOrAny, OneOf, Scheme, Text};
use super::kinds::{CLOSED, OPEN, Object, cache_metadata, service_account};

static AUTH_CONFIG: Object = Object { fields: &[
    ("authScheme", Required, Scheme),
    ("credentialKey", Nullable, Text),
    ("exchangedAuthCredential", Nullable, Of(&AUTH_CREDENTIAL)),
    ("rawAuthCredential", Nullable, Of(&AUTH_CREDENTIAL)),
], ..OPEN };

static AUTH_CREDENTIAL: Object = Object { fields: &[
    ("apiKey", Nullable, Text),
    ("authType", Required, OneOf(&["apiKey", "http", "oauth2", "openIdConnect", "serviceAccount"])),
    ("http", Nullable, Of(&HTTP_AUTH)),
    ("oauth2", Nullable, Of(&OAUTH2_AUTH)),
    ("resourceRef", Nullable, Text),
    ("serviceAccount", Nullable, Of(&SERVICE_ACCOUNT)),
], ..OPEN };

static BLOB: Object = Object { fields: &[
    ("data", Nullable, Base64),
    ("displayName", Nullable, Text),
    ("mimeType", Nullable, Text),
], ..CLOSED };

static CACHE_METADATA: Object = Object { rule: Some(cache_metadata), fields: &[
    ("cache_name", Nullable, Text),
    ("contents_count", Required, Integer),
    ("created_at", Nullable, Number),
    ("expire_time", Nullable, Number),
    ("fingerprint", Required, Text),
    ("invocations_used", Nullable, Integer),
], ..CLOSED };

static CITATION: Object = Object { fields: &[
    ("endIndex", Nullable, Integer),
    ("license", Nullable, Text),
    ("publicationDate", Nullable, Of(&GOOGLE_TYPE_DATE)),
    ("startIndex", Nullable, Integer),
    ("title", Nullable, Text),
    ("uri", Nullable, Text),
], ..CLOSED };

static CITATION_METADATA: Object = Object { fields: &[
    ("citations", Nullable, List(&Of(&CITATION))),
    ("citationSources", Nullable, List(&Of(&CITATION))),
], ..CLOSED };

static CODE_EXECUTION_RESULT: Object = Object { fields: &[
    ("id", Nullable, Text),
    ("outcome", Nullable, Text),
    ("output", Nullable, Text),
], ..CLOSED };

static CONTENT: Object = Object { fields: &[
    ("parts", Nullable, List(&Of(&PART))),
    ("role", Nullable, Text),
], ..CLOSED };

pub(super) static EVENT: Object = Object { fields: &[
    ("actions", Present, Of(&EVENT_ACTIONS)),
    ("author", Present, Text),
    ("avgLogprobs", Nullable, Number),
    ("branch", Nullable, Text),
    ("cacheMetadata", Nullable, Of(&CACHE_METADATA)),
    ("citationMetadata", Nullable, Of(&CITATION_METADATA)),
    ("content", Nullable, Of(&CONTENT)),
    ("customMetadata", Nullable, Map(&Any)),
    ("environmentId", Nullable, Text),
    ("errorCode", Nullable, Text),
    ("errorMessage", Nullable, Text),
    ("finishReason", Nullable, Text),
    ("goAway", Nullable, Of(&LIVE_SERVER_GO_AWAY)),
    ("groundingMetadata", Nullable, Of(&GROUNDING_METADATA)),
    ("id", Present, Text),
    ("inputTranscription", Nullable, Of(&TRANSCRIPTION)),
    ("interactionId", Nullable, Text),
    ("interactionStatus", Nullable, Text),
    ("interrupted", Nullable, Bool),
    ("invocationId", Present, Text),
    ("isolationScope", Nullable, Text),
    ("liveSessionId", Nullable, Text),
    ("liveSessionResumptionUpdate", Nullable, Of(&LIVE_SERVER_SESSION_RESUMPTION_UPDATE)),
    ("logprobsResult", Nullable, Of(&LOGPROBS_RESULT)),
    ("longRunningToolIds", Nullable, List(&Text)),
    ("modelVersion", Nullable, Text),
    ("nodeInfo", Present, Of(&NODE_INFO)),
    ("output", Nullable, Any),
    ("outputTranscription", Nullable, Of(&TRANSCRIPTION)),
    ("partial", Nullable, Bool),
    ("timestamp", Present, Number),
    ("turnComplete", Nullable, Bool),
    ("turnCompleteReason", Nullable, Text),
    ("usageMetadata", Nullable, Of(&GENERATE_CONTENT_RESPONSE_USAGE_METADATA)),
    ("voiceActivity", Nullable, Of(&VOICE_ACTIVITY)),
], ..OPEN };

pub(super) static EVENT_ACTIONS: Object = Object { fields: &[
    ("agentState", Nullable, Map(&Any)),
    ("artifactDelta", Present, Map(&Integer)),
    ("compaction", Nullable, Of(&EVENT_COMPACTION)),
    ("endOfAgent", Nullable, Bool),
    ("escalate", Nullable, Bool),
    ("renderUiWidgets", Nullable, List(&Of(&UI_WIDGET))),
    ("requestedAuthConfigs", Present, Map(&ObjectOrAny(&AUTH_CONFIG))),
    ("requestedToolConfirmations", Present, Map(&Of(&TOOL_CONFIRMATION))),
    ("rewindBeforeInvocationId", Nullable, Text),
    ("route", Nullable, Either(&[Bool, Integer, Text, List(&Either(&[Bool, Integer, Text]))])),
    ("setModelResponse", Nullable, Any),
    ("skipSummarization", Nullable, Bool),
    ("stateDelta", Present, Map(&Any)),
    ("transferReason", Nullable, Text),
    ("transferToAgent", Nullable, Text),
], ..CLOSED };

static EVENT_COMPACTION: Object = Object { fields: &[
    ("compactedContent", Required, Of(&CONTENT)),
    ("endTimestamp", Required, Number),
    ("startTimestamp", Required, Number),
], ..CLOSED };

static EXECUTABLE_CODE: Object = Object { fields: &[
    ("code", Nullable, Text),
    ("id", Nullable, Text),
    ("language", Nullable, Text),
], ..CLOSED };

static FILE_DATA: Object = Object { fields: &[
    ("displayName", Nullable, Text),
    ("fileUri", Nullable, Text),
    ("mimeType", Nullable, Text),
], ..CLOSED };

static FUNCTION_CALL: Object = Object { fields: &[
    ("args", Nullable, Map(&Any)),
    ("id", Nullable, Text),
    ("name", Nullable, Text),
    ("partialArgs", Nullable, List(&Of(&PARTIAL_ARG))),
    ("willContinue", Nullable, Bool),
], ..CLOSED };

static FUNCTION_RESPONSE: Object = Object { fields: &[
    ("id", Nullable, Text),
    ("name", Nullable, Text),
    ("parts", Nullable, List(&Of(&FUNCTION_RESPONSE_PART))),
    ("response", Nullable, Map(&Any)),
    ("scheduling", Nullable, Text),
    ("willContinue", Nullable, Bool),
], ..CLOSED };

static FUNCTION_RESPONSE_BLOB: Object = Object { fields: &[
    ("data", Nullable, Base64),
    ("displayName", Nullable, Text),
    ("mimeType", Nullable, Text),
], ..CLOSED };

static FUNCTION_RESPONSE_FILE_DATA: Object = Object { fields: &[
    ("displayName", Nullable, Text),
    ("fileUri", Nullable, Text),
    ("mimeType", Nullable, Text),
], ..CLOSED };

static FUNCTION_RESPONSE_PART: Object = Object { whole: true, fields: &[
    ("fileData", Nullable, Of(&FUNCTION_RESPONSE_FILE_DATA)),
    ("inlineData", Nullable, Of(&FUNCTION_RESPONSE_BLOB)),
    ("mediaProcessing", Nullable, Text),
], ..CLOSED };

static GENERATE_CONTENT_RESPONSE_USAGE_METADATA: Object = Object { fields: &[
    ("cacheTokensDetails", Nullable, List(&Of(&MODALITY_TOKEN_COUNT))),
    ("cachedContentTokenCount", Nullable, Integer),
    ("candidatesTokenCount", Nullable, Integer),
    ("candidatesTokensDetails", Nullable, List(&Of(&MODALITY_TOKEN_COUNT))),
    ("promptTokenCount", Nullable, Integer),
    ("promptTokensDetails", Nullable, List(&Of(&MODALITY_TOKEN_COUNT))),
    ("thoughtsTokenCount", Nullable, Integer),
    ("toolUsePromptTokenCount", Nullable, Integer),
    ("toolUsePromptTokensDetails", Nullable, List(&Of(&MODALITY_TOKEN_COUNT))),
    ("totalTokenCount", Nullable, Integer),
    ("trafficType", Nullable, Text),
], ..CLOSED };

static GOOGLE_TYPE_DATE: Object = Object { fields: &[
    ("day", Nullable, Integer),
    ("month", Nullable, Integer),
    ("year", Nullable, Integer),
], ..CLOSED };

static GROUNDING_CHUNK: Object = Object { fields: &[
    ("image", Nullable, Of(&GROUNDING_CHUNK_IMAGE)),
    ("maps", Nullable, Of(&GROUNDING_CHUNK_MAPS)),
    ("retrievedContext", Nullable, Of(&GROUNDING_CHUNK_RETRIEVED_CONTEXT)),
    ("web", Nullable, Of(&GROUNDING_CHUNK_WEB)),
], ..CLOSED };

static GROUNDING_CHUNK_CUSTOM_METADATA: Object = Object { fields: &[
    ("key", Nullable, Text),
    ("numericValue", Nullable, Number),
    ("stringListValue", Nullable, Of(&GROUNDING_CHUNK_STRING_LIST)),
    ("stringValue", Nullable, Text),
], ..CLOSED };

static GROUNDING_CHUNK_IMAGE: Object = Object { fields: &[
    ("domain", Nullable, Text),
    ("imageUri", Nullable, Text),
    ("sourceUri", Nullable, Text),
    ("title", Nullable, Text),
], ..CLOSED };

static GROUNDING_CHUNK_MAPS: Object = Object { fields: &[
    ("placeAnswerSources", Nullable, Of(&GROUNDING_CHUNK_MAPS_PLACE_ANSWER_SOURCES)),
    ("placeId", Nullable, Text),
    ("route", Nullable, Of(&GROUNDING_CHUNK_MAPS_ROUTE)),
    ("text", Nullable, Text),
    ("title", Nullable, Text),
    ("uri", Nullable, Text),
], ..CLOSED };

static GROUNDING_CHUNK_MAPS_PLACE_ANSWER_SOURCES: Object = Object { fields: &[
    ("flagContentUri", Nullable, Text),
    ("reviewSnippet", Nullable, List(&Of(&GROUNDING_CHUNK_MAPS_PLACE_ANSWER_SOURCES_REVIEW_SNIPPET))),
    ("reviewSnippets", Nullable, List(&Of(&GROUNDING_CHUNK_MAPS_PLACE_ANSWER_SOURCES_REVIEW_SNIPPET))),
], ..CLOSED };

static GROUNDING_CHUNK_MAPS_PLACE_ANSWER_SOURCES_AUTHOR_ATTRIBUTION: Object = Object { fields: &[
    ("displayName", Nullable, Text),
    ("photoUri", Nullable, Text),
    ("uri", Nullable, Text),
], ..CLOSED };

static GROUNDING_CHUNK_MAPS_PLACE_ANSWER_SOURCES_REVIEW_SNIPPET: Object = Object { fields: &[
    ("authorAttribution", Nullable, Of(&GROUNDING_CHUNK_MAPS_PLACE_ANSWER_SOURCES_AUTHOR_ATTRIBUTION)),
    ("flagContentUri", Nullable, Text),
    ("googleMapsUri", Nullable, Text),
    ("relativePublishTimeDescription", Nullable, Text),
    ("review", Nullable, Text),
    ("reviewId", Nullable, Text),
    ("title", Nullable, Text),
], ..CLOSED };

static GROUNDING_CHUNK_MAPS_ROUTE: Object = Object { fields: &[
    ("distanceMeters", Nullable, Integer),
    ("duration", Nullable, Text),
    ("encodedPolyline", Nullable, Text),
], ..CLOSED };

static GROUNDING_CHUNK_RETRIEVED_CONTEXT: Object = Object { fields: &[
    ("customMetadata", Nullable, List(&Of(&GROUNDING_CHUNK_CUSTOM_METADATA))),
    ("documentName", Nullable, Text),
    ("fileSearchStore", Nullable, Text),
    ("mediaId", Nullable, Text),
    ("pageNumber", Nullable, Integer),
    ("ragChunk", Nullable, Of(&RAG_CHUNK)),
    ("text", Nullable, Text),
    ("title", Nullable, Text),
    ("uri", Nullable, Text),
], ..CLOSED };

static GROUNDING_CHUNK_STRING_LIST: Object = Object { fields: &[
    ("values", Nullable, List(&Text)),
], ..CLOSED };

static GROUNDING_CHUNK_WEB: Object = Object { fields: &[
    ("domain", Nullable, Text),
    ("title", Nullable, Text),
    ("uri", Nullable, Text),
], ..CLOSED };

static GROUNDING_METADATA: Object = Object { fields: &[
    ("googleMapsWidgetContextToken", Nullable, Text),
    ("groundingChunks", Nullable, List(&Of(&GROUNDING_CHUNK))),
    ("groundingSupports", Nullable, List(&Of(&GROUNDING_SUPPORT))),
    ("imageSearchQueries", Nullable, List(&Text)),
    ("retrievalMetadata", Nullable, Of(&RETRIEVAL_METADATA)),
    ("retrievalQueries", Nullable, List(&Text)),
    ("searchEntryPoint", Nullable, Of(&SEARCH_ENTRY_POINT)),
    ("sourceFlaggingUris", Nullable, List(&Of(&GROUNDING_METADATA_SOURCE_FLAGGING_URI))),
    ("webSearchQueries", Nullable, List(&Text)),
], ..CLOSED };

static GROUNDING_METADATA_SOURCE_FLAGGING_URI: Object = Object { fields: &[
    ("flagContentUri", Nullable, Text),
    ("sourceId", Nullable, Text),
], ..CLOSED };

static GROUNDING_SUPPORT: Object = Object { fields: &[
    ("confidenceScores", Nullable, List(&Number)),
    ("groundingChunkIndices", Nullable, List(&Integer)),
    ("renderedParts", Nullable, List(&Integer)),
    ("segment", Nullable, Of(&SEGMENT)),
], ..CLOSED };

static HTTP_AUTH: Object = Object { fields: &[
    ("additionalHeaders", Nullable, Map(&Text)),
    ("credentials", Required, Of(&HTTP_CREDENTIALS)),
    ("scheme", Required, Text),
], ..OPEN };

static HTTP_CREDENTIALS: Object = Object { fields: &[
    ("password", Nullable, Text),
    ("token", Nullable, Text),
    ("username", Nullable, Text),
], ..OPEN };

static LIVE_SERVER_GO_AWAY: Object = Object { fields: &[
    ("timeLeft", Nullable, Text),
], ..CLOSED };

static LIVE_SERVER_SESSION_RESUMPTION_UPDATE: Object = Object { fields: &[
    ("lastConsumedClientMessageIndex", Nullable, Integer),
    ("newHandle", Nullable, Text),
    ("resumable", Nullable, Bool),
], ..CLOSED };

static LOGPROBS_RESULT: Object = Object { fields: &[
    ("chosenCandidates", Nullable, List(&Of(&LOGPROBS_RESULT_CANDIDATE))),
    ("logProbabilitySum", Nullable, Number),
    ("topCandidates", Nullable, List(&Of(&LOGPROBS_RESULT_TOP_CANDIDATES))),
], ..CLOSED };

static LOGPROBS_RESULT_CANDIDATE: Object = Object { fields: &[
    ("logProbability", Nullable, Number),
    ("token", Nullable, Text),
    ("tokenId", Nullable, Integer),
], ..CLOSED };

static LOGPROBS_RESULT_TOP_CANDIDATES: Object = Object { fields: &[
    ("candidates", Nullable, List(&Of(&LOGPROBS_RESULT_CANDIDATE))),
], ..CLOSED };

static MODALITY_TOKEN_COUNT: Object = Object { fields: &[
    ("modality", Nullable, Text),
    ("tokenCount", Nullable, Integer),
], ..CLOSED };

static NODE_INFO: Object = Object { fields: &[
    ("messageAsOutput", Nullable, Bool),
    ("outputFor", Nullable, List(&Text)),
    ("path", Present, Text),
], ..OPEN };

static OAUTH2_AUTH: Object = Object { fields: &[
    ("accessToken", Nullable, Text),
    ("audience", Nullable, Text),
    ("authCode", Nullable, Text),
    ("authResponseUri", Nullable, Text),
    ("authUri", Nullable, Text),
    ("clientId", Nullable, Text),
    ("clientSecret", Nullable, Text),
    ("codeChallengeMethod", Nullable, Text),
    ("codeVerifier", Nullable, Text),
    ("expiresAt", Nullable, Integer),
    ("expiresIn", Nullable, Integer),
    ("idToken", Nullable, Text),
    ("nonce", Nullable, Text),
    ("prompt", Nullable, Text),
    ("redirectUri", Nullable, Text),
    ("refreshToken", Nullable, Text),
    ("state", Nullable, Text),
    ("tokenEndpointAuthMethod", Nullable, OneOf(&["client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"])),
], ..OPEN };

pub(super) static PART: Object = Object { whole: true, fields: &[
    ("audioTranscription", Nullable, Of(&TRANSCRIPTION)),
    ("codeExecutionResult", Nullable, Of(&CODE_EXECUTION_RESULT)),
    ("executableCode", Nullable, Of(&EXECUTABLE_CODE)),
    ("fileData", Nullable, Of(&FILE_DATA)),
    ("functionCall", Nullable, Of(&FUNCTION_CALL)),
    ("functionResponse", Nullable, Of(&FUNCTION_RESPONSE)),
    ("inlineData", Nullable, Of(&BLOB)),
    ("mediaProcessing", Nullable, Text),
    ("mediaResolution", Nullable, Of(&PART_MEDIA_RESOLUTION)),
    ("partMetadata", Nullable, Map(&Any)),
    ("speechMetadata", Nullable, Of(&SPEECH_METADATA)),
    ("text", Nullable, Text),
    ("thought", Nullable, Bool),
    ("thoughtSignature", Nullable, Base64),
    ("toolCall", Nullable, Of(&TOOL_CALL)),
    ("toolResponse", Nullable, Of(&TOOL_RESPONSE)),
    ("videoMetadata", Nullable, Of(&VIDEO_METADATA)),
], ..CLOSED };

static PARTIAL_ARG: Object = Object { fields: &[
    ("boolValue", Nullable, Bool),
    ("jsonPath", Nullable, Text),
    ("nullValue", Nullable, OneOf(&["NULL_VALUE"])),
    ("numberValue", Nullable, Number),
    ("stringValue", Nullable, Text),
    ("willContinue", Nullable, Bool),
], ..CLOSED };

static PART_MEDIA_RESOLUTION: Object = Object { fields: &[
    ("level", Nullable, Text),
    ("numTokens", Nullable, Integer),
], ..CLOSED };

static RAG_CHUNK: Object = Object { fields: &[
    ("chunkId", Nullable, Text),
    ("fileId", Nullable, Text),
    ("pageSpan", Nullable, Of(&RAG_CHUNK_PAGE_SPAN)),
    ("text", Nullable, Text),
], ..CLOSED };

static RAG_CHUNK_PAGE_SPAN: Object = Object { fields: &[
    ("firstPage", Nullable, Integer),
    ("lastPage", Nullable, Integer),
], ..CLOSED };

static RETRIEVAL_METADATA: Object = Object { fields: &[
    ("googleSearchDynamicRetrievalScore", Nullable, Number),
], ..CLOSED };

static SEARCH_ENTRY_POINT: Object = Object { fields: &[
    ("renderedContent", Nullable, Text),
    ("sdkBlob", Nullable, Base64),
], ..CLOSED };

static SEGMENT: Object = Object { fields: &[
    ("endIndex", Nullable, Integer),
    ("partIndex", Nullable, Integer),
    ("startIndex", Nullable, Integer),
    ("text", Nullable, Text),
], ..CLOSED };

static SERVICE_ACCOUNT: Object = Object { rule: Some(service_account), fields: &[
    ("audience", Nullable, Text),
    ("scopes", Nullable, List(&Text)),
    ("serviceAccountCredential", Nullable, Of(&SERVICE_ACCOUNT_CREDENTIAL)),
    ("useDefaultCredential", Nullable, Bool),
    ("useIdToken", Nullable, Bool),
], ..OPEN };

static SERVICE_ACCOUNT_CREDENTIAL: Object = Object { fields: &[
    ("authProviderX509CertUrl", Required, Text),
    ("authUri", Required, Text),
    ("clientEmail", Required, Text),
    ("clientId", Required, Text),
    ("clientX509CertUrl", Required, Text),
    ("privateKey", Required, Text),
    ("privateKeyId", Required, Text),
    ("projectId", Required, Text),
    ("tokenUri", Required, Text),
    ("type", Present, Text),
    ("universeDomain", Required, Text),
], ..OPEN };

static SPEECH_METADATA: Object = Object { fields: &[
    ("speaker", Nullable, Text),
    ("style", Nullable, Text),
], ..CLOSED };

static TOOL_CALL: Object = Object { fields: &[
    ("args", Nullable, Map(&Any)),
    ("id", Nullable, Text),
    ("toolType", Nullable, Text),
], ..CLOSED };

static TOOL_CONFIRMATION: Object = Object { fields: &[
    ("confirmed", Present, Bool),
    ("hint", Present, Text),
    ("payload", Nullable, Any),
], ..CLOSED };

static TOOL_RESPONSE: Object = Object { fields: &[
    ("id", Nullable, Text),
    ("response", Nullable, Map(&Any)),
    ("toolType", Nullable, Text),
], ..CLOSED };

static TRANSCRIPTION: Object = Object { fields: &[
    ("endOffset", Nullable, Text),
    ("finished", Nullable, Bool),
    ("languageCode", Nullable, Text),
    ("speakerLabel", Nullable, Text),
    ("startOffset", Nullable, Text),
    ("text", Nullable, Text),
    ("words", Nullable, List(&Of(&WORD_INFO))),
], ..CLOSED };

static UI_WIDGET: Object = Object { fields: &[
    ("id", Required, Text),
    ("payload", Present, Map(&Any)),
    ("provider", Required, Text),
], ..CLOSED };

static VIDEO_METADATA: Object = Object { fields: &[
    ("endOffset", Nullable, Text),
    ("fps", Nullable, Number),
    ("startOffset", Nullable, Text),
], ..CLOSED };

static VOICE_ACTIVITY: Object = Object { fields: &[
    ("audioOffset", Nullable, Text),
    ("voiceActivityType", Nullable, Text),
], ..CLOSED };

static WORD_INFO: Object = Object { fields: &[
    ("endOffset", Nullable, Text),
    ("startOffset", Nullable, Text),
    ("word", Nullable, Text),
], ..CLOSED };
