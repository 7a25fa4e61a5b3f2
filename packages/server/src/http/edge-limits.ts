/** Bytes of a body that are parsed before others get their turn. */
export const PARSE_STRETCH_BYTES = 131_072;
/**
 * Nesting of a whole body. Values are bounded more tightly where they are admitted; this keeps the parser itself from
 * making millions of lists, and lies above every bound that an operator can set there. Exceeded: `too_deep`.
 */
export const BODY_DEPTH_MAX = 1_024;
/** Fields of a body at its top level. Exceeded: `limit_exceeded`. */
export const ENVELOPE_NAMES_MAX = 100;
/** Members of one object in a body, unless more objects are allowed in a write. Exceeded: `limit_exceeded`. */
export const OBJECT_MEMBERS_MAX = 250_000;
/** How often is looked whether the server can keep up. */
export const LOAD_SAMPLE_MS = 500;
/** When whoever was turned away for that may come again. */
export const OVERLOAD_RETRY_AFTER_S = 2;
