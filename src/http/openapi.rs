pub fn yaml() -> String {
    String::new()
}
pub fn page() -> String {
    String::new()
}
