/**
 * Every bound of the product, with its unit in its name. Whoever exceeds one is refused with the code beside it in
 * docs/limits.md. Those an operator may change arrive as a `Limits` value; the others are properties of the format.
 * Text inside the core is measured in UTF-16 units (`Units`), which is what a string knows of itself at no cost; bodies
 * on the wire are measured in bytes (`Bytes`).
 */
export interface Limits {
  /** Objects in one write. Exceeded: `limit_exceeded`. */
  readonly objectsPerWriteMax: number;
  /** Attributes of one object, as given in one write. Exceeded: `limit_exceeded`. */
  readonly attributesPerObjectMax: number;
  /** Nesting of a value: a scalar has depth 0, `[1]` has depth 1. Exceeded: `too_deep`. */
  readonly valueDepthMax: number;
  /** Names, ids and values of one write together, as JSON text. Exceeded: `body_too_large`. */
  readonly writeUnitsMax: number;
  /** A named document after the write, as text. Exceeded: `document_too_large`. */
  readonly documentUnitsMax: number;
  /** Objects in a page, when the device asks for none or for more. */
  readonly pageObjectsMax: number;
  /** Text in a page; one object may exceed it, since an object is never torn. */
  readonly pageUnitsMax: number;
  /** Attributes of one user. Exceeded: `limit_exceeded`. */
  readonly userAttributesMax: number;
  /** All attributes of one user as JSON text. Exceeded: `limit_exceeded`. */
  readonly userAttributesUnitsMax: number;
}

export const DEFAULT_LIMITS: Limits = {
  objectsPerWriteMax: 100_000,
  attributesPerObjectMax: 10_000,
  valueDepthMax: 32,
  writeUnitsMax: 10_000_000,
  documentUnitsMax: 100_000_000,
  pageObjectsMax: 500,
  pageUnitsMax: 1_000_000,
  userAttributesMax: 1_000,
  userAttributesUnitsMax: 100_000,
};

/** Stars in the pattern of `stats?names=`. Exceeded: `invalid_value`. */
export const GLOB_STARS_MAX = 8;
/** Length of that pattern. Exceeded: `invalid_value`. */
export const GLOB_UNITS_MAX = 512;
/** A password, in UTF-8. Hashing is slow on purpose, so what is hashed is bounded. Exceeded: `invalid_value`. */
export const PASSWORD_BYTES_MAX = 1_024;
/** Different metric keys; beyond it new ones are not recorded. */
export const METRICS_MAX = 10_000;
/** The largest poll interval and refresh time: ten years. Exceeded: `invalid_value`. */
export const INTERVAL_S_MAX = 315_360_000;
/** Removed attributes an object remembers; beyond it the object is sent whole to devices that lack the change. */
export const GONE_MARKS_MAX = 64;
/** Attempts to commit a write that other writers keep overtaking. Exceeded: `write_conflict`. */
export const COMMIT_ATTEMPTS_MAX = 20;
/** Logins or ids in one listing. */
export const LIST_MAX = 10_000;
/** Devices of one user. Exceeded: `limit_exceeded`. */
export const CLIENTS_PER_USER_MAX = 10_000;
/** One attribute of a device. The longest is the address of a browser's push service. Exceeded: `invalid_value`. */
export const DEVICE_ATTRIBUTE_UNITS_MAX = 4_096;
/** The URL of the backend. Exceeded: `url_not_allowed`. */
export const URL_UNITS_MAX = 2_048;
/** Rows of statistics in one answer; beyond it only the newest are given. */
export const STAT_ROWS_MAX = 100_000;
/** Rows of statistics waiting for the store; beyond it the newer ones are dropped. */
export const STAT_ROWS_PENDING_MAX = 100_000;
