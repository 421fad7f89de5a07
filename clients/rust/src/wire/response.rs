//! What an event says besides its content: usage, citations, a compaction, why it ended.

use adk_core::{CitationMetadata, EventCompaction, FinishReason, UsageMetadata};
use chrono::DateTime;
use serde_json::{Value, json};

use super::content::{decode_content, present};

pub(super) fn encode_usage(usage: &UsageMetadata) -> Value {
    present(json!({
        "promptTokenCount": usage.prompt_token_count,
        "candidatesTokenCount": usage.candidates_token_count,
        "totalTokenCount": usage.total_token_count,
        "cachedContentTokenCount": usage.cache_read_input_token_count,
        "thoughtsTokenCount": usage.thinking_token_count,
    }))
}

pub(super) fn decode_usage(usage: &Value) -> Option<UsageMetadata> {
    let count = |name: &str| usage.get(name)?.as_i64()?.try_into().ok();
    usage.as_object()?;
    Some(UsageMetadata {
        prompt_token_count: count("promptTokenCount").unwrap_or_default(),
        candidates_token_count: count("candidatesTokenCount").unwrap_or_default(),
        total_token_count: count("totalTokenCount").unwrap_or_default(),
        cache_read_input_token_count: count("cachedContentTokenCount"),
        thinking_token_count: count("thoughtsTokenCount"),
        ..UsageMetadata::default()
    })
}

pub(super) fn encode_citations(metadata: &CitationMetadata) -> Value {
    let sources = metadata.citation_sources.iter().map(|source| {
        present(json!({
            "uri": source.uri,
            "title": source.title,
            "startIndex": source.start_index,
            "endIndex": source.end_index,
            "license": source.license,
        }))
    });
    json!({"citations": sources.collect::<Vec<_>>()})
}

pub(super) fn decode_citations(metadata: &Value) -> Option<CitationMetadata> {
    serde_json::from_value(json!({"citationSources": metadata.get("citations")?})).ok()
}

pub(super) fn decode_compaction(compaction: &Value) -> Option<EventCompaction> {
    let time = |name: &str| DateTime::from_timestamp_micros((compaction[name].as_f64()? * 1e6).round() as i64);
    Some(EventCompaction {
        start_timestamp: time("startTimestamp")?,
        end_timestamp: time("endTimestamp")?,
        compacted_content: decode_content(&compaction["compactedContent"])?,
    })
}

pub(super) fn finish_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "STOP",
        FinishReason::MaxTokens => "MAX_TOKENS",
        FinishReason::Safety => "SAFETY",
        FinishReason::Recitation => "RECITATION",
        FinishReason::Other => "OTHER",
    }
}

pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::MaxTokens,
        "SAFETY" => FinishReason::Safety,
        "RECITATION" => FinishReason::Recitation,
        _ => FinishReason::Other,
    }
}
