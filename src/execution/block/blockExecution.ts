import { viewOf } from '../../lib/bytes.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import { MESSAGE_PASSER_ADDRESS } from '../../rollup/protocol/constants.ts'
import { orderedTrieRoot } from '../../rollup/protocol/payload/orderedTrie.ts'
import type { GasRefund } from '../../rollup/protocol/transaction/postExec.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import { emptyActivationFork } from '../config/chainConfig.ts'
import { ChainError } from '../errors.ts'
import { contextOf, createEnvironment, type EvmModules } from '../evm/environment.ts'
import type { Environment } from '../evm/runMessage.ts'
import type {
  Block,
  BlockHeader,
  DepositTransaction,
  PostExecTransaction,
  SignedTransaction,
  Transaction,
} from '../primitives/block.ts'
import type { StateChanges } from '../state/stateKeys.ts'
import type { WorldState } from '../state/worldState.ts'
import { daSizeOf } from '../tx/dataSize.ts'
import { type ExecutionReceipt, encodeConsensusReceipt, logsBloom, mergeBlooms } from '../tx/receiptCodec.ts'
import { type Warmed, WatchedTransaction } from './blockWarming.ts'
import {
  executeDeposit,
  executeSigned,
  type FeeSchedule,
  POST_EXEC_OUTCOME,
  type RefundOf,
  type TransactionOutcome,
} from './executeTransaction.ts'
import { createFeeSchedule } from './feeSchedule.ts'
import { type GasRefunds, readRefunds } from './postExecRules.ts'
import { type BlockStart, beginBlock } from './systemCalls.ts'

/**
 * Lengths of L1 info (specs: isthmus/l1-attributes, jovian/l1-attributes). op-geth's CalcDAFootprint decides by length.
 */
const ISTHMUS_L1_INFO_BYTES = 176
const JOVIAN_L1_INFO_BYTES = 178
const DA_FOOTPRINT_SCALAR_OFFSET = 176

/** State and receipts of an executed block, as its header shows them. */
export interface CommittedBlock {
  stateRoot: Hex
  receiptsRoot: Hex
  logsBloom: Hex
  /** Isthmus: storage root of L2ToL1MessagePasser. */
  withdrawalsRoot?: Hex
  changes: StateChanges
}

/** Hashes the state and the receipts. */
export function commitBlock({ world, block }: Environment, receipts: readonly ExecutionReceipt[]): CommittedBlock {
  const changes = world.commit()
  return {
    stateRoot: changes.root,
    receiptsRoot: orderedTrieRoot(receipts.map(encodeConsensusReceipt)),
    logsBloom: toHex(mergeBlooms(receipts)),
    ...(block.rules.isthmus ? { withdrawalsRoot: world.storageRoot(MESSAGE_PASSER_ADDRESS) } : {}),
    changes,
  }
}

/** Result of executing a block. It is compared with a header, or becomes one. */
export interface ExecutionResult extends CommittedBlock {
  gasUsed: bigint
  /** Jovian; 0 before. */
  daFootprint: bigint
  /** Wei to the fee recipient. */
  tips: bigint
  receipts: ExecutionReceipt[]
}

export class BlockExecution {
  readonly env: Environment
  private readonly config: ChainConfig
  private readonly receipts: ExecutionReceipt[] = []
  private fees: FeeSchedule | undefined
  private used = 0n
  /** Gas left for further transactions. It differs from limit − used by the gas that failed deposits keep reserved. */
  private pool: bigint
  /** Jovian: DA footprint so far, and the gas per estimated byte. */
  private footprint = 0n
  private daFootprintScalar: number | undefined
  private tips = 0n
  /** Jovian: length of the first deposit's data. */
  private l1InfoBytes: number | undefined
  /** The fork that this block activates, if the block may hold only deposits. */
  private emptyFork: string | undefined
  /** Refunds of the block's post-exec transaction. */
  private given: GasRefunds = new Map()
  /** Set if the block refunds warmed accesses. */
  private warmed: Warmed | undefined
  private readonly made: GasRefund[] = []
  /** A post-exec transaction is the last of its block. */
  private isEnded = false

  constructor(env: Environment, config: ChainConfig) {
    this.env = env
    this.config = config
    this.pool = env.block.gasLimit
  }

  /**
   * Throws ChainError `invalid-block`, and DecodeError for a malformed post-exec transaction.
   *
   * @param transactions encodings of all transactions known at the start; the last one may define refunds of the others
   */
  begin(start: BlockStart, transactions: readonly Uint8Array[]): Promise<void> {
    this.given = readRefunds(transactions, this.env.block)
    this.emptyFork = emptyActivationFork(this.config, this.env.block.timestamp, start.parent.timestamp)
    return beginBlock(this.env, this.config, start)
  }

  /**
   * From now on, transactions get refunds for accesses that the block warmed. Needs Lagoon and a block without given
   * refunds.
   */
  refundWarming(): void {
    this.warmed = new Map()
  }

  /** Refunds made by `refundWarming`, by rising index, for the block's post-exec transaction. */
  get madeRefunds(): readonly GasRefund[] {
    return this.made
  }

  /** Counted before refunds: refunds do not let more work into a block. */
  get gasLeft(): bigint {
    return this.pool
  }

  get transactionCount(): number {
    return this.receipts.length
  }

  /** Whether the block's fork and (Jovian) its DA footprint allow this transaction. */
  mayTake(tx: SignedTransaction): boolean {
    if (this.emptyFork !== undefined || this.isEnded) return false
    if (!this.env.block.rules.jovian) return true
    const scalar = this.daFootprintScalar
    return scalar !== undefined && this.footprint + BigInt(daSizeOf(tx.raw) * scalar) <= this.env.block.gasLimit
  }

  /**
   * Throws ChainError `invalid-transaction` if the transaction cannot be part of the block. The state is then
   * unchanged.
   */
  async add(tx: Transaction): Promise<TransactionOutcome> {
    if (tx.type === 0x7d) return this.addPostExec(tx)
    // Before Regolith, system transactions do not use the block's gas.
    const reserved = tx.type === 0x7e && tx.isSystemTx && !this.env.block.rules.regolith ? 0n : tx.gasLimit
    if (reserved > this.pool) {
      throw new ChainError('invalid-transaction', `gas limit reached: have ${this.pool}, want ${tx.gasLimit}`)
    }
    if (this.env.block.rules.jovian && tx.type === 0x7e && this.receipts.length === 0) this.noteL1Info(tx)
    const index = this.receipts.length
    const watched = this.warmed && new WatchedTransaction(this.warmed, this.env.evm.substate, index)
    const refundOf: RefundOf = (gasUsed) => watched?.refundOf(gasUsed) ?? this.given.get(index) ?? 0n
    const outcome = tx.type === 0x7e ? await executeDeposit(this.env, tx) : await this.addSigned(tx, refundOf)
    watched?.keep({ paysFees: tx.type !== 0x7e })
    if (watched !== undefined && outcome.gasRefund > 0n) {
      this.made.push({ index, gasRefund: outcome.gasRefund })
    }
    // The specs do not say whether a block's gas limit counts gas before or after refunds. op-reth counts it before
    // refunds.
    const evmGasUsed = outcome.gasUsed + outcome.gasRefund
    this.pool -= evmGasUsed < reserved ? evmGasUsed : reserved
    this.used += outcome.gasUsed
    this.tips += outcome.tip
    this.receipts.push(this.receiptOf(tx, outcome))
    return outcome
  }

  /**
   * Jovian: the first transaction must be a deposit with L1 info. Call it after the last transaction. Throws ChainError
   * `invalid-block`.
   */
  checkL1Info(): void {
    if (!this.env.block.rules.jovian) return
    if (this.l1InfoBytes === undefined) throw new ChainError('invalid-block', 'missing deposit transaction')
    if (this.l1InfoBytes === ISTHMUS_L1_INFO_BYTES || this.l1InfoBytes >= JOVIAN_L1_INFO_BYTES) return
    const text = `L1 info of ${this.l1InfoBytes} bytes has no DA footprint gas scalar`
    throw new ChainError('invalid-block', text)
  }

  /** Hashes the state. No transaction may be added afterwards. */
  finish(): ExecutionResult {
    const { env, receipts, used: gasUsed, footprint: daFootprint, tips } = this
    return { ...commitBlock(env, receipts), gasUsed, daFootprint, tips, receipts }
  }

  /** Its refunds were already applied to their transactions. */
  private addPostExec(tx: PostExecTransaction): TransactionOutcome {
    this.isEnded = true
    this.receipts.push(this.receiptOf(tx, POST_EXEC_OUTCOME))
    return POST_EXEC_OUTCOME
  }

  private async addSigned(tx: SignedTransaction, refundOf: RefundOf): Promise<TransactionOutcome> {
    if (this.emptyFork !== undefined) {
      const text = `unexpected non-deposit transactions in ${this.emptyFork} activation block`
      throw new ChainError('invalid-transaction', text)
    }
    const footprint = this.env.block.rules.jovian ? this.footprintOf(tx) : 0n
    const outcome = await executeSigned(this.env, tx, this.feeSchedule(), refundOf)
    this.footprint += footprint
    return outcome
  }

  private footprintOf(tx: SignedTransaction): bigint {
    const scalar = this.daFootprintScalar
    if (scalar === undefined) {
      const text = 'unexpected non-deposit transactions in Jovian activation block'
      throw new ChainError('invalid-transaction', this.receipts.length === 0 ? 'missing deposit transaction' : text)
    }
    return BigInt(daSizeOf(tx.raw) * scalar)
  }

  /** Reads the L1-info deposit. In the Jovian activation block it still has the earlier form without the scalar. */
  private noteL1Info(tx: DepositTransaction): void {
    this.l1InfoBytes = tx.data.length
    if (tx.data.length >= JOVIAN_L1_INFO_BYTES) {
      this.daFootprintScalar = viewOf(tx.data).getUint16(DA_FOOTPRINT_SCALAR_OFFSET)
    }
  }

  /** The parameters are those at the first transaction after the deposits. */
  private feeSchedule(): FeeSchedule {
    const { world, block } = this.env
    this.fees ??= createFeeSchedule(world, this.config, block.timestamp)
    return this.fees
  }

  private receiptOf(tx: Transaction, outcome: TransactionOutcome): ExecutionReceipt {
    const receipt: ExecutionReceipt = {
      type: tx.type,
      status: outcome.status,
      cumulativeGasUsed: this.used,
      logs: outcome.logs,
      logsBloom: logsBloom(outcome.logs),
    }
    if (outcome.depositNonce !== undefined) receipt.depositNonce = outcome.depositNonce
    if (tx.type === 0x7e && this.env.block.rules.canyon) receipt.depositReceiptVersion = 1
    return receipt
  }
}

/** Begins to execute a whole block on its parent's state. Throws like `begin`. */
export async function beginExecution(
  modules: EvmModules,
  world: WorldState,
  { header, transactions }: Pick<Block, 'header' | 'transactions'>,
  parent: BlockHeader,
  client?: AbortSignal,
): Promise<BlockExecution> {
  const env = createEnvironment(modules, world, contextOf(header), parent.hash, client)
  const execution = new BlockExecution(env, modules.config)
  await execution.begin(
    { parent, parentBeaconBlockRoot: header.parentBeaconBlockRoot },
    transactions.map(({ raw }) => raw),
  )
  return execution
}
