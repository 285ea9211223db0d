import { appendFile, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { concatBytes } from '../../lib/bytes.ts'
import type { Clock } from '../../lib/clock.ts'
import { describeError, isErrno } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { makeDirectory } from '../../lib/makeDirectory.ts'
import { encodeRlp, readRlpHeader } from '../../lib/rlp.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import { decodeSignedTransaction } from '../../rollup/protocol/index.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import type { TxPool } from './txPool.ts'

/** The part of the pool that the journal uses. */
export type JournaledPool = Pick<TxPool, 'add' | 'content' | 'senderAddresses' | 'onTaken'>

export interface PoolJournalOptions {
  path: string
  /** Interval of rewriting the whole pool (`--txpool.rejournal`). */
  rejournalMs: number
}

/** Growth after which the file is rewritten, because it also holds transactions mined since. */
const MAX_GROWTH_BYTES = 64 * 1024 * 1024
/** Larger than any pool. */
const MAX_FILE_BYTES = 512 * 1024 * 1024

/**
 * Keeps the pool's transactions across a restart, in the format of geth's journal: RLP items, one after another. New
 * transactions are appended. At an interval, and at the stop, the whole pool is rewritten. The format has no conditions,
 * so transactions with a condition are omitted.
 */
export class PoolJournal {
  private readonly pool: JournaledPool
  private readonly logger: Logger
  private readonly clock: Clock
  private readonly options: PoolJournalOptions
  private readonly lock = createSemaphore(1)
  private unwritten: Uint8Array[] = []
  private grownBytes = 0
  private hasFailed = false
  private stopped: (() => void)[] = []

  constructor(
    { pool, logger, clock }: { pool: JournaledPool; logger: Logger; clock: Clock },
    options: PoolJournalOptions,
  ) {
    this.pool = pool
    this.logger = logger
    this.clock = clock
    this.options = options
  }

  /** Loads the file into the pool, then writes new transactions. Transactions that the pool refuses now are dropped. */
  async start(): Promise<void> {
    const { kept, refused } = await this.load()
    if (kept + refused > 0) this.logger.info('Loaded the journal of the transaction pool', { kept, refused })
    await this.rewrite()
    this.stopped.push(this.pool.onTaken((transaction) => this.append(transaction)))
    let cancel = () => {}
    const again = () => {
      cancel = this.clock.setTimeout(again, this.options.rejournalMs)
      void this.rewrite()
    }
    cancel = this.clock.setTimeout(again, this.options.rejournalMs)
    this.stopped.push(() => cancel())
  }

  async stop(): Promise<void> {
    for (const stop of this.stopped) stop()
    this.stopped = []
    await this.rewrite()
  }

  private async load(): Promise<{ kept: number; refused: number }> {
    const { path } = this.options
    let kept = 0
    let refused = 0
    try {
      const { size } = await stat(path)
      if (size > MAX_FILE_BYTES) throw new RangeError(`expected at most ${MAX_FILE_BYTES} bytes, got ${size}`)
      const file = await readFile(path)
      for (let at = 0; at < file.length; ) {
        await yieldToLoop('answer')
        const { start, end, isList } = readRlpHeader(file, at)
        const raw = new Uint8Array(file.subarray(isList ? at : start, end))
        at = end
        await this.pool.add(decodeSignedTransaction(raw)).then(
          () => kept++,
          () => refused++,
        )
      }
    } catch (error) {
      // A process that was killed may leave a partial transaction at the end.
      if (!isErrno(error, 'ENOENT')) {
        this.logger.warn('The journal of the transaction pool is incomplete', { path, kept, err: describeError(error) })
      }
    }
    return { kept, refused }
  }

  private append({ raw, condition }: SignedTransaction): void {
    if (condition !== undefined) return
    this.unwritten.push(entryOf(raw))
    if (this.unwritten.length > 1) return
    // Transactions that arrive before the write are included in it.
    void this.write(async () => {
      // A failed write may have left a partial entry. Loading ends there.
      if (this.hasFailed) return this.writeAll()
      const bytes = concatBytes(...this.unwritten)
      this.unwritten = []
      await appendFile(this.options.path, bytes)
      this.grownBytes += bytes.length
      if (this.grownBytes > MAX_GROWTH_BYTES) await this.writeAll()
    })
  }

  private rewrite(): Promise<void> {
    return this.write(() => this.writeAll())
  }

  private async writeAll(): Promise<void> {
    const { path } = this.options
    this.unwritten = []
    const entries: Uint8Array[] = []
    for (const sender of this.pool.senderAddresses()) {
      const { pending, queued } = this.pool.content(sender)
      for (const { raw, condition } of [...pending, ...queued]) {
        if (condition === undefined) entries.push(entryOf(raw))
      }
    }
    makeDirectory(dirname(path))
    const written = `${path}.new`
    await writeFile(written, concatBytes(...entries))
    await rename(written, path)
    this.grownBytes = 0
  }

  /** A failed write is logged once. The pool continues without the journal. */
  private write(work: () => Promise<void>): Promise<void> {
    return this.lock.run(async () => {
      try {
        await work()
        this.hasFailed = false
      } catch (error) {
        this.unwritten = []
        if (this.hasFailed) return
        this.hasFailed = true
        const { path } = this.options
        this.logger.warn('Failed to write the journal of the transaction pool', { path, err: describeError(error) })
      }
    })
  }
}

/** Legacy transactions are lists. Encodings of other types are stored as byte strings. */
function entryOf(raw: Uint8Array): Uint8Array {
  return (raw[0] ?? 0) >= 0xc0 ? raw : encodeRlp(raw)
}
