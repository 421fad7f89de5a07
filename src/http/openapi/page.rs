use serde_json::Value;
pub fn render(_: &Value) -> String {
    String::new()
}
