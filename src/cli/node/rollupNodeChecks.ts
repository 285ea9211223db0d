import { JsonRpcError } from '../../jsonRpc/types.ts'
import { UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { L1BlockRef, L2BlockRef, PayloadEnvelope, RollupConfig } from '../../rollup/protocol/index.ts'

export interface CheckedL1 {
  chainId(): Promise<bigint>
  blockInfoByNumber(number: number): Promise<L1BlockRef | undefined>
}

export interface CheckedEngine {
  chainId(): Promise<bigint>
  payloadByNumber(number: number): Promise<PayloadEnvelope | undefined>
  blockRefByLabel(label: 'latest'): Promise<Pick<L2BlockRef, 'number'> | undefined>
}

/** Checks that L1 is the chain of the rollup config (op-node's checks at the start, with its messages). */
export async function checkL1(l1: CheckedL1, config: RollupConfig, logger: Logger): Promise<void> {
  const chainId = await l1.chainId()
  if (chainId !== config.l1ChainId) {
    throw new UsageError(`incorrect L1 RPC chain id ${chainId}, expected ${config.l1ChainId}`)
  }
  const { hash, number } = config.genesis.l1
  const block = await l1.blockInfoByNumber(number).catch((error: unknown) => {
    if (!isPruned(error)) throw error
    return undefined
  })
  if (block === undefined) {
    logger.warn('L1 does not have the block at which the rollup starts', { number, hash })
  } else if (block.hash !== hash) {
    throw new UsageError(`incorrect L1 genesis block hash ${block.hash}, expected ${hash} (L1 block ${number})`)
  }
}

/**
 * Checks that the engine was initialised for this rollup. If the engine has pruned the first block, or has yet to sync it
 * (`syncsFirst`), its chain id suffices.
 */
export async function checkEngine(
  engine: CheckedEngine,
  config: RollupConfig,
  logger: Logger,
  { syncsFirst = false } = {},
): Promise<void> {
  const chainId = await engine.chainId()
  if (chainId !== config.l2ChainId) {
    throw new UsageError(`incorrect L2 RPC chain id ${chainId}, expected ${config.l2ChainId}`)
  }
  const { hash, number } = config.genesis.l2
  const block = await firstBlock(engine, number)
  if (block === 'pruned') {
    logger.warn('The engine has pruned the block at which the rollup starts. The node cannot check its hash', {
      number,
      hash,
    })
    return
  }
  if (block === undefined && syncsFirst) return
  if (block === undefined) throw new UsageError(`the L2 engine does not have block ${number}, where the rollup starts`)
  if (block.payload.blockHash !== hash) {
    throw new UsageError(
      `incorrect L2 genesis block hash ${block.payload.blockHash}, expected ${hash}: the engine was initialised with another genesis.json`,
    )
  }
}

/** op-reth's and geth's error code for a pruned block. */
const PRUNED_HISTORY = 4444

function isPruned(error: unknown): boolean {
  return error instanceof JsonRpcError && (error.rpcCode === PRUNED_HISTORY || /pruned/i.test(error.message))
}

async function firstBlock(engine: CheckedEngine, number: number): Promise<PayloadEnvelope | 'pruned' | undefined> {
  try {
    const block = await engine.payloadByNumber(number)
    if (block !== undefined) return block
  } catch (error) {
    if (isPruned(error)) return 'pruned'
    throw error
  }
  // An engine whose head is above the block must have had the block.
  const head = await engine.blockRefByLabel('latest')
  return head !== undefined && head.number > number ? 'pruned' : undefined
}
