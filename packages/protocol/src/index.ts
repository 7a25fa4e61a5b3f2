export { addChecksums, objectChecksum, subtractChecksums, textChecksum } from './checksum.ts';
export { canonicalJson, type JsonValue } from './json.ts';
export * from './limits.ts';
export { NAME_BYTES_MAX, type NameKind, nameProblem, utf8Bytes } from './names.ts';
export { type Flaw, pointer, REFUSALS, Refusal, type RefusalCode } from './refusals.ts';
export {
  DEVICE_TYPES,
  type DeviceType,
  Objects,
  Page,
  PartitionType,
  Problem,
  SourceAttributes,
  StatStep,
  SyncType,
  WriteReport,
} from './schemas.ts';
