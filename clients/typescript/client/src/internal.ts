/** What `@sessiond/adk` of the same version uses of this package. It may change with any version. */
export { codeOf, type Http, nameOf, refusal, segment, success } from "./http.js";
export { isObject, put, record } from "./json.js";
export { batches } from "./kept.js";
export { type Grant, newOwner, release, shown, take } from "./lease.js";
export { all, pages } from "./pages.js";
export { sessionPath, trimmedId, userPath } from "./paths.js";
export { made } from "./session.js";
