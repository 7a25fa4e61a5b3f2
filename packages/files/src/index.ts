export {
  type ByteRange,
  CHUNK_BYTES,
  type Checksum,
  type FileEngine,
  FileFault,
  type FileFaultKind,
  type FileUpload,
  isSha256,
  type StoredFile,
  type WriteAdmission,
} from './file-engine.ts';
export { type FolderEngineOptions, openFolderEngine } from './folder/folder-engine.ts';
