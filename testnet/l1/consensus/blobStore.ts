import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { z } from 'zod'
import { isErrno } from '../../../src/lib/errors.ts'
import type { Hex } from '../../../src/lib/hex.ts'
import { makeDirectory } from '../../../src/lib/makeDirectory.ts'

export interface StoredBlob {
  versionedHash: Hex
  /** Hex, because requests and responses use hex. */
  blob: Hex
}

const hex = z.custom<Hex>((value) => typeof value === 'string' && value.startsWith('0x'))
const fileSchema = z.array(z.object({ versionedHash: hex, blob: hex }))

const pack = promisify(gzip)
const unpack = promisify(gunzip)

/** The blobs of L1 by slot, a file each. Files are compressed, because a testnet fills little of a blob. */
export class BlobStore {
  private readonly directory: string

  constructor(directory: string) {
    this.directory = directory
  }

  async write(slot: number, blobs: readonly StoredBlob[]): Promise<void> {
    makeDirectory(this.directory)
    const path = this.pathOf(slot)
    // The rename is atomic: readers never see an incomplete file.
    await writeFile(`${path}.new`, await pack(JSON.stringify(blobs)))
    await rename(`${path}.new`, path)
  }

  /** Undefined if no block of the slot has blobs. */
  async read(slot: number): Promise<StoredBlob[] | undefined> {
    let bytes: Uint8Array
    try {
      bytes = await readFile(this.pathOf(slot))
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined
      throw error
    }
    return fileSchema.parse(JSON.parse((await unpack(bytes)).toString()))
  }

  private pathOf(slot: number): string {
    return join(this.directory, `${slot}.json.gz`)
  }
}
