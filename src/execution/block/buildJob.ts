import type { Clock } from '../../lib/clock.ts'
import { DecodeError, describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import { decodeTransaction } from '../../rollup/protocol/index.ts'
import { encodePostExecTx, isPostExecTx, SDM_VERSION } from '../../rollup/protocol/transaction/postExec.ts'
import type { PayloadAttributes } from '../../rollup/protocol/types.ts'
import { toBlock, toReceipts } from '../chain/blockReader.ts'
import type { BuildJob, BuiltBlock, DaSizeLimits, TxSource } from '../chain/building.ts'
import { envelopeOfHeader } from '../chain/headerPayload.ts'
import { ChainError, hasCode } from '../errors.ts'
import { createEnvironment, type EvmModules } from '../evm/environment.ts'
import { abandonTransaction } from '../evm/runMessage.ts'
import { type BlockHeader, isSigned, type SignedTransaction, type Transaction } from '../primitives/block.ts'
import type { WorldState } from '../state/worldState.ts'
import { daSizeOf } from '../tx/dataSize.ts'
import { BlockExecution, type ExecutionResult } from './blockExecution.ts'
import { childBaseFee, extraDataOf, headerOf } from './headerRules.ts'
import type { SlowTransactions } from './slowTransactions.ts'

export interface BuildModules {
  evm: EvmModules
  /** State after the parent. */
  world: WorldState
  clock: Pick<Clock, 'setTimeout' | 'now'>
  slow: SlowTransactions
  logger: Logger
  /** Undefined: forced transactions only. */
  txSource: TxSource | undefined
  /** Called with each finished block, so that the import need not execute it again. */
  onBuilt: (built: BuiltBlock, result: ExecutionResult) => void
}

export interface BuildOptions {
  parent: BlockHeader
  attributes: PayloadAttributes
  /** From Lagoon on, if the pool is used: the block refunds accesses that it warmed for its own transactions. */
  refundsWarming: boolean
}

/** Time left to the first pass over the pool after the block is requested. */
const FIRST_WALK_GRACE_MS = 100
/** Gas of the smallest transaction. With less gas left, the pass ends. */
const MIN_TX_GAS = 21_000n

/** The block was requested while a pool transaction still ran. */
class BlockIsDue extends Error {}

/** A block under construction: forced transactions first, then pool transactions, until it is sealed. */
export class OpBuildJob implements BuildJob {
  private readonly modules: BuildModules
  private readonly options: BuildOptions
  private readonly execution: BlockExecution
  private readonly extraData: Hex
  private readonly transactions: Transaction[] = []
  /** Estimated compressed bytes of the block so far. */
  private daBytes = 0
  private fillingSince = 0
  /** Aborts when filling must end. */
  private readonly stop = new AbortController()
  /** Ends the first pass over the pool, complete or not. */
  private isFirstWalkOver = false
  private filling: Promise<void> = Promise.resolve()
  private sealed: Promise<BuiltBlock> | undefined

  private constructor(modules: BuildModules, options: BuildOptions) {
    const { config } = modules.evm
    const { parent, attributes } = options
    this.modules = modules
    this.options = options
    this.extraData = extraDataOf(attributes, config)
    const context = {
      number: parent.number + 1,
      timestamp: attributes.timestamp,
      coinbase: attributes.suggestedFeeRecipient,
      prevRandao: attributes.prevRandao,
      gasLimit: attributes.gasLimit,
      baseFee: childBaseFee(config, parent, attributes.timestamp),
    }
    const env = createEnvironment(modules.evm, modules.world, context, parent.hash)
    this.execution = new BlockExecution(env, config)
  }

  /** Runs the forced transactions. Throws ChainError `invalid-attributes` or `build-failed`. */
  static async start(modules: BuildModules, options: BuildOptions): Promise<OpBuildJob> {
    const { attributes, parent } = options
    if (attributes.timestamp <= parent.timestamp) throw new ChainError('invalid-attributes', 'invalid timestamp')
    const job = new OpBuildJob(modules, options)
    await job.runForced()
    const { txSource } = modules
    if (txSource !== undefined && !attributes.noTxPool) {
      job.fillingSince = modules.clock.now()
      job.filling = job.fill(txSource)
      // `seal` reports a failure, but it may never be called.
      job.filling.catch(() => {})
    }
    return job
  }

  seal(): Promise<BuiltBlock> {
    this.stop.abort()
    this.sealed ??= this.finish()
    return this.sealed
  }

  cancel(): void {
    this.isFirstWalkOver = true
    this.stop.abort()
    if (this.sealed !== undefined) return
    this.sealed = this.filling.then(() => {
      throw new ChainError('build-failed', 'block building was cancelled')
    })
    this.sealed.catch(() => {})
  }

  private async runForced(): Promise<void> {
    const { attributes, parent } = this.options
    const { parentBeaconBlockRoot, transactions } = attributes
    await forced('', () => this.execution.begin({ parent, parentBeaconBlockRoot }, transactions))
    if (this.refundsWarming()) this.execution.refundWarming()
    for (const [index, raw] of transactions.entries()) {
      await yieldToLoop()
      this.execution.env.evm.limit?.throwIfAborted()
      const tx = await forced(`transaction ${index} is not valid: `, () => decodeTransaction(raw))
      await forced(`failed to force-include tx: ${index}: `, () => this.add(tx))
    }
    // Even with a pool, the first deposit is among the forced transactions.
    await forced('', () => this.execution.checkL1Info())
  }

  /** A derived block has the refunds that its sequencer gave, or none. */
  private refundsWarming(): boolean {
    const { attributes, refundsWarming } = this.options
    const isLagoon = this.execution.env.block.rules.lagoon
    return refundsWarming && isLagoon && !attributes.noTxPool && !attributes.transactions.some(isPostExecTx)
  }

  /**
   * Adds pool transactions until the block is sealed: first the present ones, then new ones. If the block is sealed
   * during the first pass, that pass continues for a moment. So a block that is requested at once still gets the
   * transactions that the pool had at its start.
   */
  private async fill(txSource: TxSource): Promise<void> {
    const { signal } = this.stop
    await this.takeBest(txSource, () => this.isFirstWalkOver)
    while (!signal.aborted) {
      // Requested before the pass, so that no transaction added during it is missed.
      const added = txSource.added(signal).then(
        () => true,
        () => false,
      )
      await this.takeBest(txSource, () => signal.aborted)
      if (!(await added)) return
    }
  }

  private async takeBest(txSource: TxSource, isOver: () => boolean): Promise<void> {
    const { execution } = this
    const { baseFee } = execution.env.block
    const cursor = txSource.best(baseFee)
    const effectiveGasLimit = txSource.effectiveGasLimit ?? 0n
    const { gasLimit } = execution.env.block
    const withheldGas = effectiveGasLimit > 0n && effectiveGasLimit < gasLimit ? gasLimit - effectiveGasLimit : 0n
    for (;;) {
      const tx = cursor.peek()
      const gasLeft = execution.gasLeft - withheldGas
      if (tx === undefined || isOver() || gasLeft < MIN_TX_GAS) return
      if (tx.gasLimit > gasLeft || !execution.mayTake(tx)) cursor.skipSender()
      else if (this.modules.slow.isTooSlow(tx.hash)) cursor.skipSender()
      else if (!this.fitsDaSize(tx, txSource.maxDaSize?.() ?? {})) cursor.skipSender()
      else if (BigInt(tx.nonce) < execution.env.world.nonce(tx.from)) cursor.next()
      else if (tx.condition !== undefined && txSource.mayTake?.(tx, execution.env) === false) cursor.skipSender()
      else if (await this.tryAdd(tx)) cursor.next()
      else cursor.skipSender()
      await yieldToLoop()
    }
  }

  /** The limits that the batch submitter sets while L1 is congested. They apply to pool transactions only. */
  private fitsDaSize({ raw }: SignedTransaction, { transactionBytes, blockBytes }: DaSizeLimits): boolean {
    if (transactionBytes === undefined && blockBytes === undefined) return true
    const size = daSizeOf(raw)
    return (
      (transactionBytes === undefined || size <= transactionBytes) &&
      (blockBytes === undefined || this.daBytes + size <= blockBytes)
    )
  }

  /** Throws ChainError `invalid-transaction` if the transaction cannot be part of the block. */
  private async add(tx: Transaction): Promise<void> {
    await this.execution.add(tx)
    this.transactions.push(tx)
    if (isSigned(tx)) this.daBytes += daSizeOf(tx.raw)
  }

  private async tryAdd(tx: Transaction): Promise<boolean> {
    const { env } = this.execution
    const since = this.modules.clock.now()
    const { limit } = env.evm
    env.evm.limit = {
      throwIfAborted: () => {
        limit?.throwIfAborted()
        this.throwIfLate()
      },
    }
    try {
      await this.add(tx)
      return true
    } catch (error) {
      if (hasCode(error, 'invalid-transaction')) return false
      if (!(error instanceof BlockIsDue)) throw error
      abandonTransaction(env)
      this.noteSlow(tx, since)
      return false
    } finally {
      env.evm.limit = limit
    }
  }

  private throwIfLate(): void {
    if (this.stop.signal.aborted && this.isFirstWalkOver) throw new BlockIsDue()
  }

  private noteSlow({ hash }: Transaction, since: number): void {
    const { clock, logger, slow } = this.modules
    const now = clock.now()
    const tookMs = now - since
    slow.note(hash, tookMs / Math.max(1, now - this.fillingSince))
    const fields = { hash, tookMs, number: this.execution.env.block.number, givenUp: slow.isTooSlow(hash) }
    logger.warn('Left out a transaction that is too slow for its block', fields)
  }

  private async finish(): Promise<BuiltBlock> {
    const endGrace = this.modules.clock.setTimeout(() => {
      this.isFirstWalkOver = true
    }, FIRST_WALK_GRACE_MS)
    try {
      await this.filling
      await this.addRefunds()
      const result = this.execution.finish()
      const { options, extraData, transactions } = this
      const { parentBeaconBlockRoot } = options.attributes
      const header = headerOf(this.execution.env.block, result, {
        parentHash: options.parent.hash,
        parentBeaconBlockRoot,
        extraData,
        transactions,
      })
      const block = toBlock(header, transactions)
      const built: BuiltBlock = {
        block,
        envelope: envelopeOfHeader(
          header,
          transactions.map(({ raw }) => raw),
        ),
        receipts: toReceipts(block, result.receipts, this.modules.evm.config),
        blockValue: result.tips,
      }
      this.modules.onBuilt(built, result)
      return built
    } finally {
      endGrace()
    }
  }

  /** Adds the block's post-exec transaction if there are refunds. */
  private async addRefunds(): Promise<void> {
    const { madeRefunds, env } = this.execution
    if (madeRefunds.length === 0) return
    const payload = { version: SDM_VERSION, blockNumber: env.block.number, refunds: [...madeRefunds] }
    await this.add(decodeTransaction(encodePostExecTx(payload)))
  }
}

/** Runs a step that the block cannot do without. If the step is not valid, throws ChainError `build-failed`. */
async function forced<T>(what: string, step: () => T | Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof ChainError)) throw error
    throw new ChainError('build-failed', `${what}${describeError(error)}`, { cause: error })
  }
}
