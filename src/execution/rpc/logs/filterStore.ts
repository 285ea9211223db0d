import { randomBytes } from 'node:crypto'
import { serialize, WrittenJson } from '../../../jsonRpc/bodyChunks.ts'
import { describeError } from '../../../lib/errors.ts'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { yieldToLoop } from '../../../lib/yieldToLoop.ts'
import type { HeadChange } from '../../chain/types.ts'
import type { SignedTransaction } from '../../primitives/block.ts'
import type { RpcModules } from '../context.ts'
import { serverError } from '../errors.ts'
import { formatTransaction } from '../format/formatTransaction.ts'
import type { JsonRecord } from '../format/quantities.ts'
import { createBloomTest, type LogFilter, limitCriteria } from './logFilter.ts'
import { logDataCharacters, logsFor, readOnce } from './logSearch.ts'

/** geth drops a filter that was not polled for this long. */
const IDLE_LIMIT_MS = 5 * 60_000
const MAX_FILTERS = 1000
/** Waiting changes of one filter. Beyond it, the filter is dropped. */
const MAX_WAITING = 10_000
/** Waiting changes of all filters. A thousand full filters would fill the heap. */
const MAX_WAITING_IN_ALL = 200_000
/** Characters of their data and of whole transactions. A single log may have megabytes. */
const MAX_CHARACTERS_IN_ALL = 64_000_000

type Kind =
  | { kind: 'logs'; filter: LogFilter; mayMatch: (bloom: Hex) => boolean }
  | { kind: 'blocks' }
  /** Hashes, or whole transactions. */
  | { kind: 'transactions'; isWhole: boolean }

type Change = JsonRecord | Hex | WrittenJson

interface Installed {
  what: Kind
  waiting: Change[]
  /** Characters of the waiting log data and transactions. */
  characters: number
  usedAtMs: number
}

/** Filters that clients poll (eth_newFilter and similar). Without filters, nothing is collected. */
export class FilterStore {
  private readonly modules: Pick<RpcModules, 'chain' | 'pool' | 'clock' | 'logger'>
  private readonly filters = new Map<Hex, Installed>()
  private waitingInAll = 0
  private charactersInAll = 0
  private unsubscribe: (() => void)[] = []
  private tail: Promise<void> = Promise.resolve()

  constructor(modules: Pick<RpcModules, 'chain' | 'pool' | 'clock' | 'logger'>) {
    this.modules = modules
  }

  installLogs(filter: LogFilter): Hex {
    return this.install({ kind: 'logs', filter, mayMatch: createBloomTest(filter) })
  }

  install(what: Kind): Hex {
    this.dropIdle()
    const logs = [what, ...[...this.filters.values()].map((other) => other.what)].filter((one) => one.kind === 'logs')
    limitCriteria(logs.map(({ filter }) => filter))
    if (this.filters.size >= MAX_FILTERS) throw serverError(`too many filters: at most ${MAX_FILTERS}`)
    const id = toHex(new Uint8Array(randomBytes(16)))
    this.filters.set(id, { what, waiting: [], characters: 0, usedAtMs: this.modules.clock.now() })
    if (this.unsubscribe.length === 0) {
      this.unsubscribe = [
        this.modules.chain.onHead((change) => this.onHead(change)),
        this.modules.pool.onAdded((transaction) => this.onTransaction(transaction)),
      ]
    }
    return id
  }

  uninstall(id: Hex): boolean {
    this.waitingInAll -= this.filters.get(id)?.waiting.length ?? 0
    this.charactersInAll -= this.filters.get(id)?.characters ?? 0
    const existed = this.filters.delete(id)
    if (this.filters.size === 0) this.close()
    return existed
  }

  /** Changes since the last call. Throws for an unknown filter. */
  async changes(id: Hex): Promise<Change[]> {
    await this.tail
    const installed = this.touch(id)
    const changes = installed.waiting
    installed.waiting = []
    this.waitingInAll -= changes.length
    this.charactersInAll -= installed.characters
    installed.characters = 0
    return changes
  }

  /** Throws for an unknown filter, and for a filter of another kind. */
  filterOf(id: Hex): LogFilter {
    const { what } = this.touch(id)
    if (what.kind !== 'logs') throw serverError('filter not found')
    return what.filter
  }

  close(): void {
    for (const unsubscribe of this.unsubscribe) unsubscribe()
    this.unsubscribe = []
  }

  private touch(id: Hex): Installed {
    this.dropIdle()
    const installed = this.filters.get(id)
    if (installed === undefined) throw serverError('filter not found')
    installed.usedAtMs = this.modules.clock.now()
    return installed
  }

  private dropIdle(): void {
    const oldest = this.modules.clock.now() - IDLE_LIMIT_MS
    for (const [id, { usedAtMs }] of this.filters) if (usedAtMs < oldest) this.uninstall(id)
  }

  private push(id: Hex, installed: Installed, changes: Change[], characters = 0): void {
    // The filter was removed while its changes were read.
    if (!this.filters.has(id)) return
    const isFull =
      installed.waiting.length + changes.length > MAX_WAITING ||
      this.waitingInAll + changes.length > MAX_WAITING_IN_ALL ||
      this.charactersInAll + characters > MAX_CHARACTERS_IN_ALL
    if (isFull) return void this.uninstall(id)
    installed.waiting.push(...changes)
    installed.characters += characters
    this.waitingInAll += changes.length
    this.charactersInAll += characters
  }

  private onTransaction(transaction: SignedTransaction): void {
    let text: string | undefined
    for (const [id, installed] of this.filters) {
      const { what } = installed
      if (what.kind !== 'transactions') continue
      if (what.isWhole) {
        // As text, because the objects of an access list take several times its memory.
        text ??= serialize(formatTransaction(transaction, undefined))
        this.push(id, installed, [new WrittenJson([text])], text.length)
      } else {
        this.push(id, installed, [transaction.hash])
      }
    }
  }

  private onHead(change: HeadChange): void {
    this.dropIdle()
    this.tail = this.tail
      .then(() => this.collect(change))
      .catch((error: unknown) => {
        this.modules.logger.warn('Failed to update the log filters for the new head', { err: describeError(error) })
      })
  }

  private async collect({ removed, added }: HeadChange): Promise<void> {
    const chain = readOnce(this.modules.chain)
    for (const [id, installed] of this.filters) {
      const { what } = installed
      if (what.kind === 'blocks') {
        this.push(
          id,
          installed,
          added.map(({ hash }) => hash),
        )
      }
      if (what.kind !== 'logs') continue
      await yieldToLoop('answer')
      const changes: JsonRecord[] = []
      for (const header of removed) changes.push(...(await logsFor(chain, what, header, true)))
      for (const header of added) changes.push(...(await logsFor(chain, what, header, false)))
      const characters = changes.reduce((sum, log) => sum + logDataCharacters(log), 0)
      this.push(id, installed, changes, characters)
    }
  }
}
