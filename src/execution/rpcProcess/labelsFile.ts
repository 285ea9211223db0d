import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { concatBytes, viewOf } from '../../lib/bytes.ts'
import { UsageError } from '../../lib/errors.ts'
import { describeFileError } from '../../lib/fileErrors.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import type { Chain } from '../chain/opChain.ts'
import type { ChainLabels } from '../chain/types.ts'

export interface LabelHashes {
  /** Changes with each forkchoice. */
  version: number
  head: Hex
  safe: Hex | undefined
  finalized: Hex | undefined
  /** Number of reorgs. While it stays the same, canonical blocks stay canonical. */
  reorgs: number
}

/** Version (u32), reorgs (u32), 32 bytes each for head, safe and finalized (zero: none), version again. */
const LENGTH = 108

/**
 * Writes the engine process's labels into a file, which RPC processes read at each call. The read takes a microsecond.
 * The labels are never older than an answer of the engine process. A message could arrive after the next call.
 */
export class LabelsFile {
  /** Child processes inherit it with the same number. */
  readonly descriptor: number
  private readonly unsubscribe: () => void
  private version = 0
  private reorgs = 0

  /** Throws UsageError if `folder` is not writable. The file is unlinked at once, so it has no name there. */
  constructor(chain: Pick<Chain, keyof ChainLabels | 'onForkchoice'>, folder: string) {
    const path = join(folder, `labels-${randomUUID()}`)
    try {
      this.descriptor = openSync(path, 'wx+', 0o600)
      unlinkSync(path)
      this.write(chain)
    } catch (cause) {
      throw new UsageError(`cannot write ${path}: ${describeFileError(cause)}`, { cause })
    }
    this.unsubscribe = chain.onForkchoice(({ removed }) => {
      if (removed.length > 0) this.reorgs = (this.reorgs + 1) >>> 0
      this.write(chain)
    })
  }

  close(): void {
    this.unsubscribe()
    closeSync(this.descriptor)
  }

  private write(labels: ChainLabels): void {
    this.version = (this.version + 1) >>> 0
    const numbers = new Uint8Array(8)
    viewOf(numbers).setUint32(0, this.version)
    viewOf(numbers).setUint32(4, this.reorgs)
    const headers = [labels.head(), labels.safe(), labels.finalized()]
    const hashes = headers.map((header) => fromHex(header?.hash ?? ZERO_HASH, 32))
    writeSync(this.descriptor, concatBytes(numbers, ...hashes, numbers.subarray(0, 4)), 0, LENGTH, 0)
  }
}

/** Reads the file of a descriptor. Decodes the hashes only if the version changed. */
export function createLabelsReader(descriptor: number): () => LabelHashes {
  const bytes = new Uint8Array(LENGTH)
  const view = viewOf(bytes)
  let read: LabelHashes | undefined
  return () => {
    // The versions differ while the engine process writes.
    do readSync(descriptor, bytes, 0, LENGTH, 0)
    while (view.getUint32(0) !== view.getUint32(LENGTH - 4))
    const version = view.getUint32(0)
    if (version !== read?.version) read = decode(bytes)
    return read
  }
}

function decode(bytes: Uint8Array): LabelHashes {
  const hashAt = (index: number) => toHex(bytes.subarray(8 + index * 32, 40 + index * 32))
  const known = (hash: Hex) => (hash === ZERO_HASH ? undefined : hash)
  return {
    version: viewOf(bytes).getUint32(0),
    head: hashAt(0),
    safe: known(hashAt(1)),
    finalized: known(hashAt(2)),
    reorgs: viewOf(bytes).getUint32(4),
  }
}
