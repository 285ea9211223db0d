import { DecodeError } from '../../lib/errors.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import { decodeTransaction, payloadToHeader } from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { beginExecution, type ExecutionResult } from '../block/blockExecution.ts'
import { checkExecution, checkHeader } from '../block/headerRules.ts'
import { ChainError, hasCode } from '../errors.ts'
import type { EvmModules } from '../evm/environment.ts'
import type { Block, BlockHeader, Transaction } from '../primitives/block.ts'
import type { WorldState } from '../state/worldState.ts'
import { toBlock } from './blockReader.ts'
import type { BuiltBlock } from './building.ts'
import type { PayloadStatus } from './forkchoice.ts'
import type { BlockStore } from './storage/blockStore.ts'
import { sealHeader } from './storage/headerCodec.ts'
import type { StatePruner } from './storage/statePruner.ts'
import type { ExecutedBlock } from './types.ts'

/** Blocks built here whose execution result is kept, so that the import need not execute them. */
const KEPT_BUILDS = 4
/** Rejected blocks whose hashes are kept (geth: invalidTipsets). */
const KEPT_INVALID = 512

export interface BlockImporterModules {
  blocks: Pick<BlockStore, 'header' | 'write'>
  head: () => Pick<BlockHeader, 'number'>
  evm: EvmModules
  /** A fresh state after the block. */
  worldAt: (header: BlockHeader) => WorldState
  pruner: Pick<StatePruner, 'nodesToWrite' | 'add'>
  /** Whether the state after the block is available. Executes blocks again if needed. */
  ensureState: (header: BlockHeader) => Promise<boolean>
  onExecuted?: (block: ExecutedBlock) => void
  logger: Logger
}

/** Executes payloads on their parents and stores valid blocks. */
export class BlockImporter {
  private readonly modules: BlockImporterModules
  private readonly built = new LruMap<Hex, { block: Block; result: ExecutionResult }>(KEPT_BUILDS)
  /** Hashes of rejected blocks and their descendants, with the last valid ancestor. */
  private readonly invalid = new LruMap<Hex, Hex>(KEPT_INVALID)
  /** The highest imported block. A block above it and above the head counts as new without a read of the database. */
  private highest = 0

  constructor(modules: BlockImporterModules) {
    this.modules = modules
  }

  keepBuilt({ block }: BuiltBlock, result: ExecutionResult): void {
    this.built.set(block.header.hash, { block, result })
  }

  /** The answer to a forkchoice that names a rejected block. Undefined for other blocks. */
  refusalOf(hash: Hex): { status: 'INVALID'; latestValidHash: Hex; validationError: string } | undefined {
    const latestValidHash = this.invalid.get(hash)
    if (latestValidHash === undefined || this.modules.blocks.header(hash) !== undefined) return undefined
    return { status: 'INVALID', latestValidHash, validationError: LINKS_TO_INVALID }
  }

  /** See Chain.importPayload. Calls must not overlap. */
  async importPayload(envelope: PayloadEnvelope): Promise<PayloadStatus> {
    const { blocks, head, ensureState, pruner, logger } = this.modules
    const { payload } = envelope
    const isNew = payload.blockNumber > Math.max(this.highest, head().number)
    const known = isNew ? undefined : blocks.header(payload.blockHash)
    // An earlier process may have left the block without its state.
    if (known !== undefined && (await ensureState(known))) return { status: 'VALID', latestValidHash: known.hash }
    const isBuiltHere = this.built.peek(payload.blockHash) !== undefined
    const decodingFrom = performance.now()
    let block: Block
    try {
      block = await this.blockOf(envelope)
    } catch (error) {
      if (error instanceof DecodeError || error instanceof ChainError) return invalidPayload(error.message, null)
      throw error
    }
    const decodingMs = performance.now() - decodingFrom
    const parent = blocks.header(payload.parentHash)
    if (parent === undefined) {
      const lastValid = this.invalid.get(payload.parentHash)
      if (lastValid === undefined) return { status: 'SYNCING', latestValidHash: null }
      this.invalid.set(payload.blockHash, lastValid)
      return invalidPayload(LINKS_TO_INVALID, lastValid)
    }
    if (!(await ensureState(parent))) return { status: 'SYNCING', latestValidHash: null }
    const executingFrom = performance.now()
    try {
      const result = await this.executeBlock(block, parent)
      const { codes } = result.changes
      await blocks.write(block, result.receipts, { codes, nodes: pruner.nodesToWrite(result.changes) })
      pruner.add(block.header, result.changes)
      this.highest = Math.max(this.highest, block.header.number)
    } catch (error) {
      if (!hasCode(error, 'invalid-block', 'invalid-transaction')) throw error
      logger.warn('Rejected an invalid block', { number: payload.blockNumber, hash: payload.blockHash, err: error })
      this.invalid.set(payload.blockHash, parent.hash)
      return invalidPayload(error.message, parent.hash)
    }
    this.built.delete(payload.blockHash)
    if (!isBuiltHere) {
      const durationMs = decodingMs + performance.now() - executingFrom
      this.modules.onExecuted?.({ gasUsed: payload.gasUsed, durationMs })
    }
    return { status: 'VALID', latestValidHash: payload.blockHash }
  }

  /** Throws DecodeError or ChainError if the payload cannot be a block. */
  private async blockOf(envelope: PayloadEnvelope): Promise<Block> {
    const header = headerOfPayload(envelope)
    // The hash covers the transactions, so a block built here is not decoded again.
    const known = this.built.get(header.hash)
    if (known !== undefined) return known.block
    return toBlock(header, await decodeTransactions(envelope.payload.transactions))
  }

  /** Throws ChainError if the block does not follow from its parent. */
  async executeBlock(block: Block, parent: BlockHeader): Promise<ExecutionResult> {
    const { header, transactions } = block
    const known = this.built.get(header.hash)
    if (known !== undefined) return known.result
    const { evm, worldAt } = this.modules
    checkHeader(header, parent, evm.config)
    const execution = await beginExecution(evm, worldAt(parent), block, parent)
    for (const [index, tx] of transactions.entries()) {
      await execution.env.evm.yieldToLoop()
      try {
        await execution.add(tx)
      } catch (error) {
        if (!(error instanceof ChainError)) throw error
        throw new ChainError('invalid-block', `could not apply tx ${index} [${tx.hash}]: ${error.message}`, {
          cause: error,
        })
      }
    }
    execution.checkL1Info()
    const result = execution.finish()
    checkExecution(header, result)
    return result
  }
}

/** geth's message. */
const LINKS_TO_INVALID = 'links to previously rejected block'

/** Throws DecodeError or ChainError if the payload cannot be a block. */
function headerOfPayload(envelope: PayloadEnvelope): BlockHeader {
  const { payload } = envelope
  if (payload.withdrawals !== undefined && payload.withdrawals.length > 0) {
    throw new ChainError('invalid-block', 'withdrawals must be empty on OP Stack chains')
  }
  const header = sealHeader(payloadToHeader(envelope))
  if (header.hash !== payload.blockHash) {
    throw new ChainError('invalid-block', `blockhash mismatch, want ${payload.blockHash}, got ${header.hash}`)
  }
  return header
}

/** Recovering senders takes long, so the loop yields to the event loop. */
async function decodeTransactions(encodings: readonly Uint8Array[]): Promise<Transaction[]> {
  const transactions: Transaction[] = []
  for (const [index, raw] of encodings.entries()) {
    await yieldToLoop()
    try {
      transactions.push(decodeTransaction(raw))
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      const type = toHex(raw.subarray(0, 1))
      throw new ChainError('invalid-block', `invalid transaction ${index} (${type}): ${error.message}`, {
        cause: error,
      })
    }
  }
  return transactions
}

function invalidPayload(validationError: string, latestValidHash: Hex | null): PayloadStatus {
  return { status: 'INVALID', latestValidHash, validationError }
}
