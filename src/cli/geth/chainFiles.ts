import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { envelopeOfBlock, rlpLists } from '../../execution/chain/storage/blockFile.ts'
import { type Chain, encodeBlock } from '../../execution/index.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { DecodeError, describeError, UsageError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { Progress, type ProgressSink, progressInLog } from '../../lib/progress.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'

// `devium-geth export` and `import`: files of blocks in geth's format.

/** Blocks that are imported between two moves of the head. */
const BLOCKS_PER_HEAD = 100

interface Modules {
  chain: Chain
  logger: Logger
  signal: AbortSignal
  /** Receives the progress; by default the log does. */
  sink?: ProgressSink
  clock?: Pick<Clock, 'now'>
}

/**
 * `first` and `last` are the operator's texts. Without them the whole chain goes into a new file. With both, the blocks are
 * appended to the file.
 */
export async function exportChain(
  { chain, logger, signal, sink = progressInLog(logger), clock = systemClock }: Modules,
  path: string,
  range: readonly string[],
): Promise<void> {
  const [first, last] = blockRange(range, chain.head().number)
  const progress = new Progress({ clock, sink }, { what: 'Exporting blocks', unit: 'blocks' })
  async function* blocks(): AsyncGenerator<Uint8Array> {
    for (let number = first; number <= last; number++) {
      signal.throwIfAborted()
      const block = await chain.blockByNumber(number)
      if (block === undefined) throw new UsageError(`the chain does not have block ${number}`)
      yield encodeBlock(block)
      progress.advance(number - first + 1, { total: last - first + 1, fields: () => ({ file: path, number }) })
    }
  }
  const file = createWriteStream(path, { flags: range.length === 0 ? 'w' : 'a' })
  const source = Readable.from(blocks(), { objectMode: false })
  try {
    await (path.endsWith('.gz') ? pipeline(source, createGzip(), file) : pipeline(source, file))
  } catch (error) {
    if (!isFileError(error)) throw error
    throw new UsageError(`${path}: ${describeError(error)}`, { cause: error })
  } finally {
    progress.end()
  }
  logger.info('Exported blockchain', { file: path, first, last })
}

function blockRange(range: readonly string[], head: number): [first: number, last: number] {
  if (range.length === 0) return [0, head]
  const [first, last] = range.map((text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined))
  if (range.length !== 2 || first === undefined || last === undefined) {
    throw new UsageError(`expected a first and a last block number, got "${range.join(' ')}"`)
  }
  if (first > last) throw new UsageError(`first block ${first} is after last block ${last}`)
  if (last > head) throw new UsageError(`last block ${last} is after the head, block ${head}`)
  return [first, last]
}

/**
 * Imports the files in order and skips blocks that exist already. If one of several files fails, the failure is logged and
 * the next file is imported, as geth does. Throws if a file has failed.
 */
export async function importChain(modules: Modules, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) throw new UsageError('expected the path of at least one file')
  let failed = 0
  for (const path of paths) {
    try {
      await importFile(modules, path)
    } catch (error) {
      if (modules.signal.aborted) throw error
      const problem = new UsageError(`${path}: ${describeError(error)}`, { cause: error })
      if (paths.length === 1 || !(error instanceof UsageError || error instanceof DecodeError || isFileError(error))) {
        throw problem
      }
      modules.logger.error('Import error', { file: path, err: problem })
      failed++
    }
  }
  if (failed > 0) throw new UsageError(`${failed} of ${paths.length} files were not imported as a whole`)
}

async function importFile(
  { chain, logger, signal, sink = progressInLog(logger), clock = systemClock }: Modules,
  path: string,
): Promise<void> {
  const file = await openBlockFile(path)
  const startedAt = clock.now()
  const progress = new Progress({ clock, sink }, { what: 'Importing blocks', unit: 'blocks' })
  const done = { blocks: 0, bytes: 0, transactions: 0, gas: 0n }
  let best: { hash: Hex; number: number } | undefined
  const adopt = async () => {
    if (best === undefined || best.number <= chain.head().number) return
    await chain.setForkchoice({ headBlockHash: best.hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH })
  }
  const fields = () => {
    const seconds = Math.max(0.001, (clock.now() - startedAt) / 1000)
    return {
      file: path,
      number: best?.number,
      transactions: done.transactions,
      mgasps: (Number(done.gas) / 1e6 / seconds).toFixed(1),
      elapsed: `${seconds.toFixed(1)}s`,
    }
  }
  try {
    for await (const encoding of rlpLists(file.content)) {
      signal.throwIfAborted()
      const envelope = envelopeOfBlock(encoding)
      const { blockHash, blockNumber, gasUsed, transactions } = envelope.payload
      if (blockNumber === 0) continue
      const result = await chain.importPayload(envelope)
      if (result.status !== 'VALID') {
        const why = result.status === 'INVALID' ? result.validationError : 'the chain does not have its parent'
        throw new UsageError(`block ${blockNumber} ${blockHash}: ${why}`)
      }
      done.blocks++
      done.bytes += encoding.length
      done.transactions += transactions.length
      done.gas += gasUsed
      best = { hash: blockHash, number: blockNumber }
      if (done.blocks % BLOCKS_PER_HEAD === 0) await adopt()
      progress.advance(done.blocks, { fraction: file.fractionOf(done.bytes), fields })
    }
  } finally {
    progress.end()
    file.close()
    await adopt()
  }
  logger.info('Imported blocks', { ...fields(), blocks: done.blocks })
}

interface BlockFile {
  /** Decompressed. */
  content: AsyncIterable<Uint8Array>
  /**
   * The fraction (0 to 1) of the content that `bytes` is. For a compressed file it is estimated from the part decompressed
   * so far.
   */
  fractionOf(bytes: number): number
  close(): void
}

/** Rejects with the operating system's error. */
async function openBlockFile(path: string): Promise<BlockFile> {
  const { size } = await stat(path)
  const file = createReadStream(path, { highWaterMark: 1 << 20 })
  const unpacking = path.endsWith('.gz') ? file.pipe(createGunzip()) : undefined
  let unpacked = 0
  async function* content(): AsyncGenerator<Uint8Array> {
    for await (const part of unpacking ?? file) {
      unpacked += part.length
      yield part
    }
  }
  return {
    content: content(),
    fractionOf(bytes) {
      if (unpacking === undefined) return bytes / size
      return unpacked === 0 ? 0 : Math.min(1, (bytes / unpacked) * (unpacking.bytesWritten / size))
    },
    close: () => file.destroy(),
  }
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$|^Z_/.test(error.code)
}
