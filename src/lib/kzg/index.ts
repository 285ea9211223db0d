export {
  blobFault,
  CELLS_PER_BLOB,
  KZG_BLOB_BYTES,
  KZG_POINT_BYTES,
  type Kzg,
  KzgError,
  versionedHashOf,
} from './kzg.ts'
export { createKzg, type KzgOptions } from './kzgProcess.ts'
