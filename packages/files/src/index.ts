export {
  type ByteRange,
  CHUNK_BYTES,
  type Checksum,
  type FileEngine,
  FileFault,
  type FileFaultKind,
  type FileUpload,
  isSha256,
  type LinkedFile,
  type StoredFile,
  type WriteAdmission,
} from './file-engine.ts';
export { type FolderEngineOptions, openFolderEngine } from './folder/folder-engine.ts';
export type { S3Options } from './s3/s3-bucket.ts';
export { openS3Engine, S3_FILE_BYTES_MAX } from './s3/s3-engine.ts';
