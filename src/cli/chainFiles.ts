import { createReadStream, createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { envelopeOfBlock, rlpLists } from '../execution/chain/blockFile.ts'
import { type Chain, encodeBlock } from '../execution/index.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { DecodeError, describeError, UsageError } from '../lib/errors.ts'
import type { Hex } from '../lib/hex.ts'
import type { Logger } from '../lib/logger.ts'
import { type PayloadEnvelope, ZERO_HASH } from '../rollup/protocol/types.ts'

// `devium-geth export` and `import`: blocks in files, as geth has them.

const REPORT_MS = 8_000
/** Blocks from one move of the head to the next. */
const BLOCKS_PER_HEAD = 100
/** Blocks that are read before they are imported, so that their senders are recovered meanwhile, and their transactions' bytes. */
const BLOCKS_AHEAD = 128
const BYTES_AHEAD = 8 * 1024 * 1024

interface Modules {
  chain: Chain
  logger: Logger
  signal: AbortSignal
  clock?: Pick<Clock, 'now'>
}

/** `first` and `last` as the operator wrote them: absent: the whole chain, into a new file; with both it is appended to. */
export async function exportChain(
  { chain, logger, signal }: Modules,
  path: string,
  range: readonly string[],
): Promise<void> {
  const [first, last] = blockRange(range, chain.head().number)
  async function* blocks(): AsyncGenerator<Uint8Array> {
    for (let number = first; number <= last; number++) {
      signal.throwIfAborted()
      const block = await chain.blockByNumber(number)
      if (block === undefined) throw new UsageError(`block ${number} is not there`)
      yield encodeBlock(block)
    }
  }
  const file = createWriteStream(path, { flags: range.length === 0 ? 'w' : 'a' })
  const source = Readable.from(blocks(), { objectMode: false })
  try {
    await (path.endsWith('.gz') ? pipeline(source, createGzip(), file) : pipeline(source, file))
  } catch (error) {
    if (!isFileError(error)) throw error
    throw new UsageError(`${path}: ${describeError(error)}`, { cause: error })
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
 * Imports the files in order; blocks that are there already are passed over. One file that fails is an error; among several
 * it is told of, and the next one is begun, as geth does it.
 */
export async function importChain(modules: Modules, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) throw new UsageError('the path of a file is missing')
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
    }
  }
}

async function importFile({ chain, logger, signal, clock = systemClock }: Modules, path: string): Promise<void> {
  const file = createReadStream(path, { highWaterMark: 1 << 20 })
  const startedAt = clock.now()
  let reportedAt = startedAt
  const done = { blocks: 0, transactions: 0, gas: 0n }
  let best: { hash: Hex; number: number } | undefined
  const adopt = async () => {
    if (best === undefined || best.number <= chain.head().number) return
    await chain.setForkchoice({ headBlockHash: best.hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH })
  }
  const report = (message: string) => {
    const seconds = Math.max(0.001, (clock.now() - startedAt) / 1000)
    const megagasPerSecond = (Number(done.gas) / 1e6 / seconds).toFixed(1)
    logger.info(message, {
      file: path,
      number: best?.number,
      blocks: done.blocks,
      transactions: done.transactions,
      mgasps: megagasPerSecond,
      elapsed: `${seconds.toFixed(1)}s`,
    })
  }
  try {
    for await (const envelope of readAhead(chain, path.endsWith('.gz') ? file.pipe(createGunzip()) : file)) {
      signal.throwIfAborted()
      const { blockHash, blockNumber, gasUsed, transactions } = envelope.payload
      const result = await chain.importPayload(envelope)
      if (result.status !== 'VALID') {
        const why = result.status === 'INVALID' ? result.validationError : 'its parent is not known'
        throw new UsageError(`block ${blockNumber} ${blockHash}: ${why}`)
      }
      done.blocks++
      done.transactions += transactions.length
      done.gas += gasUsed
      best = { hash: blockHash, number: blockNumber }
      if (done.blocks % BLOCKS_PER_HEAD === 0) await adopt()
      if (clock.now() - reportedAt < REPORT_MS) continue
      reportedAt = clock.now()
      report('Importing blocks')
    }
  } finally {
    file.destroy()
    await adopt()
  }
  report('Imported blocks')
}

/** The blocks of a file but the genesis block. What is wrong with the file is thrown behind the blocks before it. */
async function* readAhead(
  chain: Pick<Chain, 'expectPayload'>,
  file: AsyncIterable<Uint8Array>,
): AsyncGenerator<PayloadEnvelope> {
  const ahead: { envelope: PayloadEnvelope; bytes: number }[] = []
  let bytesAhead = 0
  function* take(isFull: () => boolean): Generator<PayloadEnvelope> {
    for (let [next] = ahead; next !== undefined && isFull(); [next] = ahead) {
      ahead.shift()
      bytesAhead -= next.bytes
      yield next.envelope
    }
  }
  try {
    for await (const encoding of rlpLists(file)) {
      const envelope = envelopeOfBlock(encoding)
      if (envelope.payload.blockNumber === 0) continue
      chain.expectPayload(envelope)
      ahead.push({ envelope, bytes: encoding.length })
      bytesAhead += encoding.length
      yield* take(() => ahead.length > BLOCKS_AHEAD || bytesAhead > BYTES_AHEAD)
    }
  } catch (error) {
    yield* take(() => true)
    throw error
  }
  yield* take(() => true)
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$|^Z_/.test(error.code)
}
